package words

// One id a line, so that several people can remove theirs.
const awaitedIDs = `
degraded_accepted
embedder_unreachable
refusals_cleared
sessions_gone
sessions_unreadable
`

package record

import "slices"

// OwnedFields are the names that a payload of ours has at its top level,
// whatever the layout. Everything else there that is not metadata belongs to
// another writer of the index.
func OwnedFields() []string {
	return []string{
		"record_key", "kind", "ref", "title", "content", "content_hash", "text_hash", "payload_hash",
		"embed_space", "workspace", "indexed_at", "run_id",
	}
}

// OwnedMetadata are the names of the metadata of a kind, which stand beside
// the top-level fields (flat) or in the object "metadata" (nested). A kind
// that is not ours has none: a name like ts in another kind's payload, or in a
// solved pair's, is somebody else's.
func OwnedMetadata(kind string) []string {
	switch kind {
	case KindMemory:
		return []string{
			"type", "subject", "detail", "rationale", "question_context", "tables", "concepts",
			"session_id", "decision_seq", "ts",
		}
	case KindSolved:
		return []string{"question", "sql", "tables", "session_id"}
	}
	return nil
}

// Ours reports whether a kind is one that this program plans and writes.
func Ours(kind string) bool { return kind == KindMemory || kind == KindSolved }

// TopLevel reports whether a name is always read at the top level of a
// payload, and never in its metadata.
func TopLevel(name string) bool { return slices.Contains(OwnedFields(), name) }

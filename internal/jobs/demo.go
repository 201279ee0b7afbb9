package jobs

import (
	"context"
	"fmt"

	"github.com/thtbatch/thtbatch/internal/publish"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

func demo() Job {
	return Job{
		Name: "demo", Usage: "run the nightly job on a tree, twice, then search what it made", Writes: true,
		Run: func(ctx context.Context, e *Env, _ []string) error { return e.runDemo(ctx) },
	}
}

// runDemo shows a first night, a night on which nothing changed, and what can
// be asked afterwards.
func (e *Env) runDemo(ctx context.Context) error {
	if e.JSON {
		return e.runBackfill(ctx, backfillOptions{})
	}
	first := "demo_first"
	if dir, err := state.OpenExisting(e.Settings.StateDir); err == nil {
		if before, _, err := dir.Runs(); err == nil && len(before) > 0 {
			first = "demo_more"
		}
	}
	question, solved := e.Words.Say("demo_question", nil), e.Words.Say("demo_solved_question", nil)
	statement := warehouse.DemoQuery()
	steps := []struct {
		title, shown string
		run          func() error
	}{
		{first, "backfill", func() error { return e.runBackfill(ctx, backfillOptions{}) }},
		{"demo_again", "backfill", func() error { return e.runBackfill(ctx, backfillOptions{}) }},
		{"demo_search", "search " + quoted(question), func() error {
			return e.runSearch(ctx, question, searchOptions{Top: 3})
		}},
		{"demo_solved", "solved-search " + quoted(solved), func() error { return e.runSolvedSearch(ctx, solved, 3) }},
		{"demo_query", "query " + quoted(statement), func() error { return e.runQuery(ctx, statement, false) }},
	}
	for i, step := range steps {
		if _, err := fmt.Fprintf(e.Stdout, "\n== %d. %s\n   $ thtbatch %s\n\n", i+1, e.Words.Say(step.title, nil), step.shown); err != nil {
			return err
		}
		if err := step.run(); err != nil {
			return err
		}
	}
	dir, err := state.OpenExisting(e.Settings.StateDir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "\n%s\n", e.Words.Say("demo_where", map[string]any{
		"path": e.publishDir(dir) + "/" + publish.Current, "artifacts": e.Settings.ArtifactsDir, "state": e.Settings.StateDir}))
	return err
}

// quoted is a text as it is typed in a shell.
func quoted(s string) string { return `"` + s + `"` }

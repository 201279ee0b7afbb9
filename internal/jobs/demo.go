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
	steps := []struct {
		title string
		run   func() error
	}{
		{first, func() error { return e.runBackfill(ctx, backfillOptions{}) }},
		{"demo_again", func() error { return e.runBackfill(ctx, backfillOptions{}) }},
		{"demo_search", func() error {
			return e.runSearch(ctx, e.Words.Say("demo_question", nil), searchOptions{Top: 3})
		}},
		{"demo_solved", func() error { return e.runSolvedSearch(ctx, e.Words.Say("demo_question", nil), 3) }},
		{"demo_query", func() error { return e.runQuery(ctx, warehouse.DemoQuery(), false) }},
	}
	for i, step := range steps {
		title := e.Words.Say(step.title, map[string]any{"question": e.Words.Say("demo_question", nil)})
		if _, err := fmt.Fprintf(e.Stdout, "\n== %d. %s\n\n", i+1, title); err != nil {
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

package jobs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/plan"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

func (e *Env) builder() (record.Builder, error) {
	template, err := record.ParseTemplate(e.Settings.ContentTemplate)
	if err != nil {
		return record.Builder{}, fault.New(fault.Usage, "config_bad_value", "key", "memory.content_template",
			"value", "…", "expected", "known fields in braces").Because(err)
	}
	return record.Builder{Workspace: e.Settings.Workspace, Layout: record.Layout(e.Settings.Index.Layout), Template: template}, nil
}

// derive computes what depends on what was scanned.
func (r *recorded) derive(ctx context.Context, b record.Builder, accept warehouse.Accept) error {
	return r.phase("derive", 0, func(*report.Stage) error {
		n, err := r.db.Derive(ctx, accept)
		if err != nil {
			return err
		}
		r.env.Log.Debug("derived", "sessions", n)
		return r.db.Hash(ctx, b, r.env.Settings.ContentTemplate)
	})
}

// plan reads what the index holds and compares. A store that was never written
// is not made for it, so that a dry run leaves none behind.
func (r *recorded) plan(ctx context.Context, embedder embed.Embedder, scope warehouse.Scope) (counts []plan.Count, err error) {
	err = r.phase("plan", 0, func(*report.Stage) error {
		refused, err := r.refusals()
		if err != nil {
			return err
		}
		retracted, err := r.dir.Retractions()
		if err != nil {
			return err
		}
		var keys []string
		for key := range retracted {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if err := r.db.BeginPlan(ctx, refused, keys); err != nil {
			return err
		}
		info, err := r.readIndex(ctx)
		if err != nil {
			return err
		}
		if err := r.db.Sources(ctx, scope); err != nil {
			return err
		}
		n, key, owner, err := r.db.Elsewhere(ctx, r.env.Settings.Workspace)
		if err != nil {
			return err
		}
		if n > 0 {
			return fault.New(fault.Guard, "other_workspace", "count", n, "key", key, "owner", owner, "workspace", r.env.Settings.Workspace)
		}
		counts, err = r.db.Plan(ctx, r.run.RunID, scope, warehouse.Target{
			Workspace: r.env.Settings.Workspace, Space: embedder.Space(), AdoptAs: r.env.Settings.Index.AdoptAs,
			SameDimensions: !info.Exists || info.Dimensions == embedder.Dimensions(),
		})
		return err
	})
	return counts, err
}

// refusals are what was refused before and is not to be tried again.
func (r *recorded) refusals() ([]warehouse.Refusal, error) {
	if r.retryFailed {
		return nil, nil
	}
	refusals, damage, err := r.dir.Refusals()
	if err != nil {
		return nil, err
	}
	for _, d := range damage {
		r.env.Log.Warn("a refusal cannot be read; that record is tried once more", "error", d)
	}
	out := make([]warehouse.Refusal, len(refusals))
	for i, f := range refusals {
		out[i] = warehouse.Refusal{Key: f.RecordKey, ContentHash: f.ContentHash, Space: f.EmbedSpace, Reason: f.Reason}
	}
	return out, nil
}

// readIndex takes what the index holds into the plan. An index that is a file
// and was never written is not made for it.
func (r *recorded) readIndex(ctx context.Context) (info load.Info, err error) {
	r.summary.Index = r.place()
	if !r.env.served() {
		if _, err := os.Stat(r.dir.Index()); errors.Is(err, fs.ErrNotExist) {
			return load.Info{}, nil
		}
	}
	store, err := r.openStore(ctx)
	if err != nil {
		return load.Info{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if info, err = store.Info(ctx); err != nil {
		return info, err
	}
	seen := r.db.NewSeen()
	err = store.Scan(ctx, func(points arrow.RecordBatch) error { return seen.Add(ctx, points) })
	return info, firstError(err, seen.Close(ctx))
}

// summarise takes the plan's numbers into the summary and the list of runs.
func (r *recorded) summarise(ctx context.Context, counts []plan.Count) error {
	for _, c := range counts {
		r.summary.Actions = append(r.summary.Actions, report.ActionCount{Kind: c.Kind, Action: string(c.Action), Count: c.Count})
		switch c.Action {
		case plan.Unchanged:
			r.run.Unchanged += c.Count
		case plan.Withheld:
			r.run.Withheld += c.Count
		}
	}
	withheld, err := r.db.Withheld(ctx)
	if err != nil {
		return err
	}
	for _, w := range withheld {
		r.summary.WithheldReasons = append(r.summary.WithheldReasons, report.ReasonCount(w))
	}
	return r.census(ctx)
}

// census takes the state of the corpus into the summary.
func (r *recorded) census(ctx context.Context) error {
	c, err := r.db.Census(ctx)
	if err != nil {
		return err
	}
	s := &r.summary
	s.Sessions.OK, s.Sessions.Degraded, s.Sessions.Invalid, s.Sessions.Gone = c.OK, c.Degraded, c.Invalid, c.Gone
	s.Decisions = c.Decisions
	registry, err := r.db.RegistryCounts(ctx)
	if err != nil {
		return err
	}
	s.Registry.Lines, s.Registry.Indexable, s.Registry.Skipped = registry.Lines, registry.Indexable, registry.Lines-registry.Indexable
	quarantine, err := r.db.Quarantine(ctx)
	if err != nil {
		return err
	}
	for _, q := range quarantine {
		s.Quarantine = append(s.Quarantine, report.ReasonCount(q))
	}
	candidates, err := r.db.CandidateCounts(ctx)
	if err != nil {
		return err
	}
	for _, c := range candidates {
		s.Candidates = append(s.Candidates, report.StatusCount{Status: c.Reason, Count: c.Count})
	}
	return nil
}

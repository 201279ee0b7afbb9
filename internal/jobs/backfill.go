package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

type backfillOptions struct {
	Session                                         string
	Only                                            string
	DryRun, AcceptGone, RetryFailed, Rescan, Strict bool
	AcceptModel                                     bool
	Accept                                          acceptFlag
	Wait                                            time.Duration
}

func (o backfillOptions) validate() error {
	if o.Only != "" && o.Only != onlyMemories && o.Only != onlySolved {
		return fault.New(fault.Usage, "flag_value", "flag", "--only", "value", o.Only, "expected", onlyMemories+" | "+onlySolved)
	}
	return nil
}

const (
	onlyMemories = "memories"
	onlySolved   = "solved"
)

func (o backfillOptions) scope() warehouse.Scope {
	kind := map[string]string{onlyMemories: record.KindMemory, onlySolved: record.KindSolved}[o.Only]
	return warehouse.Scope{Session: o.Session, Kind: kind}
}

func backfill() Job {
	var o backfillOptions
	return Job{
		Name: "backfill", Usage: "scan what changed, compute, plan, embed, load and publish", Writes: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "session", Usage: "only the session `ID`", Destination: &o.Session},
			&cli.StringFlag{Name: "only", Usage: "only `KIND`: memories or solved", Destination: &o.Only},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the plan and stop: nothing is embedded, loaded or published", Destination: &o.DryRun},
			&cli.GenericFlag{Name: "accept-degraded", Usage: "use degraded sessions, all or those named: --accept-degraded[=`ID`,...]", Value: &o.Accept},
			&cli.BoolFlag{Name: "accept-gone", Usage: "go on although many sessions, or all registry records, are gone", Destination: &o.AcceptGone},
			&cli.BoolFlag{Name: "accept-model", Usage: "go on with a model that changed behind its name", Destination: &o.AcceptModel},
			&cli.BoolFlag{Name: "retry-failed", Usage: "try again what was refused before", Destination: &o.RetryFailed},
			&cli.BoolFlag{Name: "rescan", Usage: "read every file, whatever its size and times say", Destination: &o.Rescan},
			&cli.BoolFlag{Name: "strict", Usage: "exit 3 when something was withheld or quarantined", Destination: &o.Strict},
			waitFlag(&o.Wait), collectionFlag(),
		},
		Run: func(ctx context.Context, e *Env, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return e.runBackfill(ctx, o)
		},
	}
}

// collectionFlag stands for a setting: the command line reads it as that.
func collectionFlag() cli.Flag {
	return &cli.StringFlag{Name: "collection", Usage: "use the index in the collection `NAME`"}
}

func waitFlag(wait *time.Duration) cli.Flag {
	return &cli.DurationFlag{Name: "wait", Usage: "wait this long for another run to end", Destination: wait}
}

func (e *Env) runBackfill(ctx context.Context, o backfillOptions) error {
	if err := e.checkFirst(ctx, o.Session); err != nil {
		return err
	}
	var summary *report.Summary // of a run that did all its work
	var planned []warehouse.PlanRow
	err := e.record(ctx, "backfill", o.Wait, func(ctx context.Context, r *recorded) error {
		r.summary.DryRun = o.DryRun
		r.retryFailed = o.RetryFailed
		outcome, err := r.backfill(ctx, o)
		if err != nil {
			return err
		}
		if o.DryRun {
			planned, err = r.plannedRows(ctx)
		} else {
			err = r.publish(ctx, false, outcome)
		}
		if err != nil {
			return err
		}
		summary = &r.summary
		return outcome
	})
	if summary == nil {
		return err
	}
	return firstError(err, e.show(*summary, planned, err))
}

// backfill is the night up to what is published. outcome is the verdict on
// what was found, when all the work was done.
func (r *recorded) backfill(ctx context.Context, o backfillOptions) (outcome, err error) {
	builder, err := r.env.builder()
	if err != nil {
		return nil, err
	}
	embedder, err := r.env.newEmbedder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeEmbedder(embedder)) }()
	if err := r.openWarehouse(ctx); err != nil {
		return nil, err
	}
	if err := r.scan(ctx, scanOptions{Session: o.Session, AcceptGone: o.AcceptGone, Rescan: o.Rescan}); err != nil {
		return nil, err
	}
	accept := warehouse.Accept{All: o.Accept.all, Sessions: append(slices.Clone(r.env.Settings.AcceptDegraded), o.Accept.ids...)}
	if err := r.derive(ctx, builder, accept); err != nil {
		return nil, err
	}
	counts, err := r.plan(ctx, embedder, o.scope())
	if err != nil {
		return nil, err
	}
	if err := r.summarise(ctx, counts); err != nil {
		return nil, err
	}
	if !o.DryRun {
		if o.RetryFailed {
			if err := r.forgetRefusals(ctx, o.scope()); err != nil {
				return nil, err
			}
		}
		err := r.apply(ctx, embedder, builder, o.AcceptModel)
		// What was written before an error is recorded all the same.
		settled := r.db.Settle(context.WithoutCancel(ctx), r.env.Settings.Workspace, r.env.Now())
		if err := firstError(err, settled); err != nil {
			return nil, err
		}
	}
	r.total()
	return r.verdict(o.Strict), nil
}

// forgetRefusals forgets what was refused: everything, or of a narrowed run what
// concerns the records that it plans.
func (r *recorded) forgetRefusals(ctx context.Context, scope warehouse.Scope) error {
	if scope.Complete() {
		return r.dir.ForgetRefusals(func(string) bool { return true })
	}
	planned := map[string]bool{}
	err := r.db.PlanRows(ctx, func(row warehouse.PlanRow) error {
		planned[row.Key] = true
		return nil
	})
	if err != nil {
		return err
	}
	return r.dir.ForgetRefusals(func(key string) bool { return planned[key] })
}

// total takes the numbers of the run into the summary.
func (r *recorded) total() {
	s, run := &r.summary, r.run
	s.Embedded, s.CacheHits, s.Inserted, s.Updated = run.Embedded, run.CacheHits, run.Inserted, run.Updated
	s.Repayloaded, s.Unchanged, s.Withheld, s.Failed = run.Repayloaded, run.Unchanged, run.Withheld, run.Failed
}

// verdict is nil for a run with nothing to report.
func (r *recorded) verdict(strict bool) error {
	if r.waiting > 0 {
		args := []any{"count", r.waiting}
		if failed := r.run.Failed - r.waiting; failed > 0 {
			args = append(args, "failed", failed)
		}
		return fault.New(fault.Partial, "embedder_waits", args...).Because(r.down)
	}
	if r.run.Failed > 0 {
		return fault.New(fault.Partial, "partial", "count", r.run.Failed)
	}
	if !strict {
		return nil
	}
	quarantined := 0
	for _, q := range r.summary.Quarantine {
		if q.Reason != tornTail {
			quarantined += q.Count
		}
	}
	if r.run.Withheld+quarantined > 0 {
		return fault.New(fault.Input, strictID, "withheld", r.run.Withheld, "quarantined", quarantined)
	}
	return nil
}

// tornTail is the reason of a line that is still being written.
const tornTail = "torn tail"

// plannedRows are the rows of the plan that are not unchanged.
func (r *recorded) plannedRows(ctx context.Context) ([]warehouse.PlanRow, error) {
	var rows []warehouse.PlanRow
	err := r.db.PlanRows(ctx, func(row warehouse.PlanRow) error {
		if row.Action != "unchanged" {
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// show writes the summary, and the plan of a dry run before it. A document has
// the error that the run ends with in it, since a second one does not follow. A
// person who asked for quiet sees of a night nothing but its warnings.
func (e *Env) show(s report.Summary, planned []warehouse.PlanRow, failed error) error {
	if code := int(fault.CodeOf(failed)); failed != nil && s.ExitCode != code {
		s.ExitCode, s.Status = code, string(state.Failed) // it went wrong after the run was closed
	}
	s.Error = report.NewError(failed)
	var rows []report.PlanRow
	if s.DryRun {
		rows = make([]report.PlanRow, len(planned))
	}
	for i, p := range planned {
		rows[i] = report.PlanRow(p)
	}
	if e.JSON {
		return report.JSON(e.Stdout, s, rows)
	}
	if err := report.Plan(e.Stdout, e.Words, rows); err != nil {
		return err
	}
	if e.Quiet {
		return report.Warnings(e.Stderr, e.Words, s)
	}
	return report.Text(e.Stdout, e.Words, s)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// acceptFlag is --accept-degraded: all of them, or the ids after the sign of
// equality.
type acceptFlag struct {
	all bool
	ids []string
}

// IsBoolFlag lets the flag stand without a value.
func (f *acceptFlag) IsBoolFlag() bool { return true }

// Set takes one value of the command line.
func (f *acceptFlag) Set(value string) error {
	switch value {
	case "true":
		f.all = true
	case "", "false":
		return fmt.Errorf("expected --accept-degraded, or --accept-degraded=ID with ids between commas")
	default:
		f.ids = append(f.ids, strings.FieldsFunc(value, func(r rune) bool { return r == ',' })...)
	}
	return nil
}

func (f *acceptFlag) String() string {
	text, err := json.Marshal(f.ids)
	if err != nil || f.all {
		return "all"
	}
	return string(text)
}

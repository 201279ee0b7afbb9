package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/plan"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

type solvedIndexOptions struct{ Wait time.Duration }

// upserted is what solved-index prints.
type upserted struct {
	Upserted int    `json:"upserted"`
	ID       string `json:"id"`
}

func solvedIndex() Job {
	var o solvedIndexOptions
	return Job{
		Name: "solved-index", Usage: "index the solved pair of one session, whatever its status", ArgsUsage: "SESSION", Args: 1, Writes: true,
		Flags: []cli.Flag{waitFlag(&o.Wait), collectionFlag()},
		Run: func(ctx context.Context, e *Env, args []string) error {
			return e.runSolvedIndex(ctx, args[0], o)
		},
	}
}

func (e *Env) runSolvedIndex(ctx context.Context, session string, o solvedIndexOptions) error {
	if err := e.checkFirst(ctx, session); err != nil {
		return err
	}
	written := 0
	err := e.record(ctx, "solved-index", o.Wait, func(ctx context.Context, r *recorded) (err error) {
		builder, err := e.builder()
		if err != nil {
			return err
		}
		embedder, err := e.newEmbedder()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeEmbedder(embedder)) }()
		if err := r.openWarehouse(ctx); err != nil {
			return err
		}
		if err := r.scan(ctx, scanOptions{Session: session}); err != nil {
			return err
		}
		if err := r.derive(ctx, builder, warehouse.Accept{Sessions: e.Settings.AcceptDegraded}); err != nil {
			return err
		}
		counts, err := r.plan(ctx, embedder, warehouse.Scope{Session: session, Kind: record.KindSolved, AnyStatus: true})
		if err != nil {
			return err
		}
		if err := r.summarise(ctx, counts); err != nil {
			return err
		}
		if err := pairFault(session, counts, r.summary.WithheldReasons); err != nil {
			return err
		}
		err = r.apply(ctx, embedder, builder, false)
		settled := r.db.Settle(context.WithoutCancel(ctx), e.Settings.Workspace, e.Now())
		if err := firstError(err, settled); err != nil {
			return err
		}
		if r.waiting > 0 {
			return r.down
		}
		if r.run.Failed > 0 {
			return fault.New(fault.Input, "no_solved_pair", "session", session, "reason", r.summary.Failures[0].Reason)
		}
		written = r.run.Inserted + r.run.Updated + r.run.Repayloaded
		return r.publish(ctx, false, nil)
	})
	if err != nil {
		return err
	}
	out := upserted{written, record.SolvedKey(session)}
	if e.JSON {
		return report.Document(e.Stdout, out)
	}
	if e.Quiet {
		return nil
	}
	id := "solved_indexed"
	if written == 0 {
		id = "solved_unchanged"
	}
	_, err = fmt.Fprintln(e.Stdout, e.Words.Say(id, map[string]any{"key": out.ID}))
	return err
}

// pairFault tells why a session has no solved pair to index.
func pairFault(session string, counts []plan.Count, reasons []report.ReasonCount) error {
	for _, c := range counts {
		switch c.Action {
		case plan.Withheld, plan.Foreign:
			return fault.New(fault.Input, "no_solved_pair", "session", session, "reason", reasons[0].Reason)
		case plan.Retracted:
			return fault.New(fault.Input, "no_solved_pair", "session", session, "reason", "a reviewer took it out of use")
		case plan.Orphan, plan.Twin:
		default:
			return nil
		}
	}
	return fault.New(fault.Input, "no_solved_pair", "session", session, "reason", "no approved SQL")
}

package jobs

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

type reportOptions struct{ Wait time.Duration }

func rebuild() Job {
	var o reportOptions
	return Job{
		Name: "report", Usage: "compute everything that is derived again, and publish all of it", Writes: true,
		Flags: []cli.Flag{waitFlag(&o.Wait)},
		Run:   func(ctx context.Context, e *Env, _ []string) error { return e.runReport(ctx, o) },
	}
}

// runReport reads no artifacts: it computes from what was parsed before.
func (e *Env) runReport(ctx context.Context, o reportOptions) error {
	if err := e.checkFirst(ctx); err != nil {
		return err
	}
	var summary *report.Summary
	err := e.record(ctx, "report", o.Wait, func(ctx context.Context, r *recorded) error {
		builder, err := e.builder()
		if err != nil {
			return err
		}
		if err := r.openWarehouse(ctx); err != nil {
			return err
		}
		if err := r.db.Forget(ctx); err != nil {
			return err
		}
		if err := r.derive(ctx, builder, warehouse.Accept{Sessions: e.Settings.AcceptDegraded}); err != nil {
			return err
		}
		if err := r.census(ctx); err != nil {
			return err
		}
		summary = &r.summary
		return r.publish(ctx, true, nil)
	})
	if err != nil {
		return err
	}
	return e.show(*summary, nil)
}

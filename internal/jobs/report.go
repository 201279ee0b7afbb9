package jobs

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
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
	if _, err := state.OpenExisting(e.Settings.StateDir); err != nil {
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
		// A warehouse that was deleted is filled by a scan, and what is published
		// is not replaced by nothing meanwhile.
		if scanned, err := r.db.RegistryStamp(ctx); err != nil {
			return err
		} else if scanned == nil {
			return fault.New(fault.Usage, "nothing_scanned", "path", r.dir.Warehouse())
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
		if err := r.publish(ctx, true, nil); err != nil {
			return err
		}
		summary = &r.summary
		return nil
	})
	if summary == nil {
		return err
	}
	return firstError(err, e.show(*summary, nil, err))
}

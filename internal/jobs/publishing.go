package jobs

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/publish"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// publishDir is where publications are.
func (e *Env) publishDir(dir *state.Dir) string {
	if e.Settings.PublishDir != "" {
		return e.Settings.PublishDir
	}
	return dir.Published()
}

// publish publishes the views, and the copy of the index that searches read.
// The run stands in the published runs as it will end: with the error that the
// job is about to return.
func (r *recorded) publish(ctx context.Context, all bool, outcome error) error {
	return r.phase("publish", 0, func(*report.Stage) error {
		if err := r.setRuns(ctx, outcome); err != nil {
			return err
		}
		result, err := publish.Publish(ctx, r.db, publish.Options{
			Dir: r.env.publishDir(r.dir), RunID: r.run.RunID, Keep: r.env.Settings.PublishKeep, All: all,
		})
		if err != nil {
			return notPublished(ctx, r.env.publishDir(r.dir), err)
		}
		r.summary.Published.Dir, r.summary.Published.Views, r.summary.Published.Unchanged = result.Dir, result.Views, result.Unchanged
		return r.publishIndex(ctx)
	})
}

// publishIndex copies an index that is a file; a server is read where it is.
func (r *recorded) publishIndex(ctx context.Context) error {
	if r.env.served() {
		return nil
	}
	current, err := local.Current(r.dir.Index(), r.dir.SearchCopy())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever written to the index
	}
	if err != nil || current {
		return err
	}
	if _, err := os.Stat(r.dir.Index()); err != nil {
		return err
	}
	err = local.Copy(ctx, r.dir.Index(), r.dir.SearchCopy())
	var said *duck.Error // only the index is opened by DuckDB
	if errors.As(err, &said) && ctx.Err() == nil {
		return fault.New(fault.Failed, "store_unreadable", "path", r.dir.Index()).Because(said)
	}
	return notPublished(ctx, r.dir.SearchCopy(), err)
}

// notPublished classifies why a publication could not be written.
func notPublished(ctx context.Context, path string, err error) error {
	var classified *fault.Error
	if err == nil || ctx.Err() != nil || errors.As(err, &classified) {
		return err
	}
	return fault.New(fault.Failed, "publish_failed", "path", path).Because(err)
}

func (r *recorded) setRuns(ctx context.Context, outcome error) error {
	runs, damage, err := r.dir.Runs()
	if err != nil {
		return err
	}
	for _, d := range damage {
		r.env.Log.Warn("a line of the list of runs cannot be read", "error", d)
	}
	r.close(outcome)
	rows := make([]warehouse.Run, 0, len(runs))
	for _, run := range runs {
		if run.RunID == r.run.RunID {
			run = r.run
		}
		rows = append(rows, warehouse.Run{
			RunID: run.RunID, Job: run.Job, StartedAt: run.StartedAt, FinishedAt: run.FinishedAt, Status: string(run.Status),
			ExitCode: run.ExitCode, Error: run.Error, SessionsRead: int64(run.SessionsRead), SessionsChanged: int64(run.SessionsChanged),
			Embedded: int64(run.Embedded), CacheHits: int64(run.CacheHits), Inserted: int64(run.Inserted), Updated: int64(run.Updated),
			Repayloaded: int64(run.Repayloaded), Unchanged: int64(run.Unchanged), Withheld: int64(run.Withheld), Failed: int64(run.Failed),
		})
	}
	return r.db.SetRuns(ctx, rows)
}

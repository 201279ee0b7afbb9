package jobs

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
)

func runs() Job {
	var last int
	return Job{
		Name: "runs", Usage: "show the runs, as of now",
		Flags: []cli.Flag{&cli.IntFlag{Name: "last", Usage: "show the last `N`; 0 shows all", Value: 20, Destination: &last}},
		Run: func(_ context.Context, e *Env, _ []string) error {
			if last < 0 {
				return fault.New(fault.Usage, "flag_value", "flag", "--last", "value", last, "expected", ">= 0")
			}
			return e.runRuns(last)
		},
	}
}

func (e *Env) runRuns(last int) error {
	dir, err := state.OpenExisting(e.Settings.StateDir)
	if err != nil {
		return err
	}
	all, damage, err := dir.Runs()
	if err != nil {
		return err
	}
	for _, d := range damage {
		e.Log.Warn("a line of the list of runs cannot be read", "error", d)
	}
	if last > 0 && len(all) > last {
		all = all[len(all)-last:]
	}
	if e.JSON {
		if all == nil {
			all = []state.Run{}
		}
		return report.Document(e.Stdout, all)
	}
	rows := make([]report.RunRow, len(all))
	for i, r := range all {
		rows[i] = report.RunRow{
			RunID: r.RunID, Job: r.Job, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Status: string(r.Status), ExitCode: r.ExitCode,
			SessionsRead: r.SessionsRead, SessionsChanged: r.SessionsChanged, Embedded: r.Embedded, Inserted: r.Inserted,
			Updated: r.Updated, Unchanged: r.Unchanged, Withheld: r.Withheld, Failed: r.Failed, Error: r.Error,
		}
	}
	return report.Runs(e.Stdout, e.Words, rows)
}

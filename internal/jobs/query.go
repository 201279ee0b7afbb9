package jobs

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/report"
)

func querySQL() Job {
	var asCSV bool
	return Job{
		Name: "query", Usage: "ask the published views in SQL", ArgsUsage: "SQL", Args: 1,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "csv", Usage: "write CSV", Destination: &asCSV}},
		Run: func(ctx context.Context, e *Env, args []string) error {
			if asCSV && e.JSON {
				return fault.New(fault.Usage, "flags_exclude", "flag", "--csv", "other", "--json")
			}
			return e.runQuery(ctx, args[0], asCSV)
		},
	}
}

func (e *Env) runQuery(ctx context.Context, statement string, asCSV bool) (err error) {
	published, _, err := e.published(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, published.Close()) }()
	var rows report.RowWriter
	switch {
	case e.JSON:
		rows = report.NewJSONRows(e.Stdout)
	case asCSV:
		rows = report.NewCSVRows(e.Stdout)
	default:
		rows = report.NewTableRows(e.Stdout)
	}
	if err := published.Query(ctx, statement, rows.Header, rows.Row); err != nil {
		return err
	}
	return rows.Close()
}

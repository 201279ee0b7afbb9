package report

import (
	"io"
	"time"

	"github.com/thtbatch/thtbatch/internal/words"
)

// RunRow is one run of the list, with what people look at.
type RunRow struct {
	RunID, Job                                                                              string
	StartedAt                                                                               time.Time
	FinishedAt                                                                              *time.Time
	Status                                                                                  string
	ExitCode                                                                                *int
	SessionsRead, SessionsChanged, Embedded, Inserted, Updated, Unchanged, Withheld, Failed int
	Error                                                                                   string
}

// Runs writes the list of runs as a table, in the order given.
func Runs(w io.Writer, p *words.Printer, runs []RunRow) error {
	if len(runs) == 0 {
		_, err := io.WriteString(w, p.Say("runs_none", nil)+"\n")
		return err
	}
	table := [][]string{{
		p.Say("runs_run", nil), p.Say("runs_job", nil), p.Say("runs_started", nil), p.Say("runs_took", nil),
		p.Say("runs_status", nil), p.Say("runs_changed", nil), p.Say("runs_embedded", nil), p.Say("runs_inserted", nil),
		p.Say("runs_updated", nil), p.Say("runs_withheld", nil), p.Say("runs_failed", nil), p.Say("runs_error", nil),
	}}
	for _, r := range runs {
		took := ""
		if r.FinishedAt != nil && r.Status != statusAbandoned {
			took = p.Duration(r.FinishedAt.Sub(r.StartedAt))
		}
		number := func(n int) string { return p.Count(int64(n)) }
		table = append(table, []string{
			words.Safe(r.RunID), words.Safe(r.Job), r.StartedAt.UTC().Format(time.DateTime + "Z"), took,
			p.Label("status", r.Status), number(r.SessionsChanged), number(r.Embedded), number(r.Inserted),
			number(r.Updated), number(r.Withheld), number(r.Failed), words.Safe(r.Error),
		})
	}
	right := []bool{3: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true, 11: false}
	return columns(w, table, widths(table), right)
}

// PlanRow is one row of a plan.
type PlanRow struct {
	Key    string `json:"record_key"`
	Kind   string `json:"kind"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// Plan writes the rows of a plan for a person, in the order given: action, key
// and reason. No rows are no text.
func Plan(w io.Writer, p *words.Printer, rows []PlanRow) error {
	table := make([][]string, len(rows))
	for i, r := range rows {
		table[i] = []string{p.Label("action", r.Action), words.Safe(r.Key), p.Reason(r.Reason)}
	}
	return columns(w, table, widths(table), []bool{2: false})
}

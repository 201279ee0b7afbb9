package report

import (
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/words"
)

// Runs writes the list of runs as a table, in the order given.
func Runs(w io.Writer, p *words.Printer, runs []state.Run) error {
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
		if r.FinishedAt != nil && r.Status != state.Abandoned {
			took = p.Duration(r.FinishedAt.Sub(r.StartedAt))
		}
		number := func(n int) string { return p.Count(int64(n)) }
		table = append(table, []string{
			words.Safe(r.RunID), words.Safe(r.Job), r.StartedAt.UTC().Format(time.DateTime + "Z"), took,
			p.Label("status", string(r.Status)), number(r.SessionsChanged), number(r.Embedded), number(r.Inserted),
			number(r.Updated), number(r.Withheld), number(r.Failed), words.Safe(r.Error),
		})
	}
	_, err := io.WriteString(w, columns(table, map[int]bool{3: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true}))
	return err
}

// RunsJSON writes the list of runs as an array of objects, with the columns of
// the view runs.
func RunsJSON(w io.Writer, runs []state.Run) error { return writeJSON(w, some(runs)) }

// columns lays a table out; the columns named in right are aligned there.
func columns(table [][]string, right map[int]bool) string {
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, cells := range table {
		var line strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell = pad + cell
			} else {
				cell += pad
			}
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

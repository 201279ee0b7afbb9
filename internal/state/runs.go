package state

import (
	"cmp"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// RunStatus is how a run ended, or that it has not.
type RunStatus string

// The values of runs.status.
const (
	Running     RunStatus = "running"
	Done        RunStatus = "done"
	Partial     RunStatus = "partial"
	Failed      RunStatus = "failed"
	Interrupted RunStatus = "interrupted"
	Abandoned   RunStatus = "abandoned"
)

// Run is one row of the view runs, column for column. Times are UTC. ExitCode
// is nil while it is not known: running, or abandoned. Error is a technical
// form without any text of a session.
type Run struct {
	RunID           string     `json:"run_id"`
	Job             string     `json:"job"`
	StartedAt       time.Time  `json:"started_at"`
	FinishedAt      *time.Time `json:"finished_at"`
	Status          RunStatus  `json:"status"`
	ExitCode        *int       `json:"exit_code"`
	Error           string     `json:"error"`
	SessionsRead    int        `json:"sessions_read"`
	SessionsChanged int        `json:"sessions_changed"`
	Embedded        int        `json:"embedded"`
	CacheHits       int        `json:"cache_hits"`
	Inserted        int        `json:"inserted"`
	Updated         int        `json:"updated"`
	Repayloaded     int        `json:"repayloaded"`
	Unchanged       int        `json:"unchanged"`
	Withheld        int        `json:"withheld"`
	Failed          int        `json:"failed"`
}

// NewRunID is an id that sorts by time and is not given twice, such as
// 20261130T220301Z-ab12cd.
func NewRunID(now time.Time) string {
	return now.UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:6])
}

// Begin records that a run starts, on disk when it returns. The caller holds
// the lock: whoever closes abandoned runs must not meet one that is under way.
func (d *Dir) Begin(r Run) error {
	r.Status, r.FinishedAt, r.ExitCode = Running, nil, nil
	return appendLines(d.RunsFile(), r)
}

// Finish records how a run ended. It appends: of several lines with one run_id
// the last counts.
func (d *Dir) Finish(r Run) error { return appendLines(d.RunsFile(), r) }

// Runs lists all runs by start, then id. Lines that cannot be read are
// returned as damage beside them; err is for a file that cannot be read at all.
func (d *Dir) Runs() (runs []Run, damage []*fault.Error, err error) {
	lines, damage, err := readLines(d.RunsFile(), rejectRun)
	if err != nil {
		return nil, nil, err
	}
	last := make(map[string]int, len(lines)/2+1)
	for _, r := range lines {
		r.StartedAt = r.StartedAt.UTC()
		if r.FinishedAt != nil {
			at := r.FinishedAt.UTC()
			r.FinishedAt = &at
		}
		if i, seen := last[r.RunID]; seen {
			runs[i] = r
			continue
		}
		last[r.RunID] = len(runs)
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.RunID, b.RunID))
	})
	return runs, damage, nil
}

// CloseAbandoned closes the runs that a killed process left open, removes the
// temporary files that it left behind, and returns the runs. The caller holds
// the lock, so that none of them can be under way, and has not begun its own
// run yet.
func (d *Dir) CloseAbandoned(now time.Time) ([]Run, error) {
	if err := removeDrafts(d.KnownFile()); err != nil {
		return nil, err
	}
	runs, _, err := d.Runs()
	if err != nil {
		return nil, err
	}
	var open []Run
	at := now.UTC()
	for _, r := range runs {
		if r.Status == Running {
			r.Status, r.FinishedAt = Abandoned, &at
			open = append(open, r)
		}
	}
	return open, appendLines(d.RunsFile(), open...)
}

func rejectRun(r *Run) string {
	switch {
	case r.RunID == "":
		return "no_run_id"
	case r.StartedAt.IsZero():
		return "no_started_at"
	}
	switch r.Status {
	case Running, Done, Partial, Failed, Interrupted, Abandoned:
		return ""
	}
	return "unknown_status"
}

// Package report shows what a job did: the closing summary and the list of
// runs, as text or JSON, query results as CSV, and progress while a job works.
// Values in, bytes out: it asks nothing and opens nothing.
package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/thtbatch/thtbatch/internal/plan"
)

// How a run ended, as the view runs has it.
const (
	statusDone      = "done"
	statusAbandoned = "abandoned"
)

// Summary is what a job did. It carries counts, keys, paths and reasons, and
// never a text of a session. Its JSON form is public and does not change with
// the language.
type Summary struct {
	RunID      string    `json:"run_id"`
	Job        string    `json:"job"`
	Status     string    `json:"status"` // as in the view runs
	ExitCode   int       `json:"exit_code"`
	DryRun     bool      `json:"dry_run"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	State      string    `json:"state"` // state directory

	Sessions   Sessions      `json:"sessions"`
	BytesRead  int64         `json:"bytes_read"`
	Decisions  int64         `json:"decisions"`
	Registry   Registry      `json:"registry"`
	Candidates []StatusCount `json:"candidates"`

	// Actions is the plan; the counts below are what was carried out of it.
	Actions     []ActionCount `json:"actions"`
	Embedded    int           `json:"embedded"`
	CacheHits   int           `json:"cache_hits"`
	Inserted    int           `json:"inserted"`
	Updated     int           `json:"updated"`
	Repayloaded int           `json:"repayloaded"`
	Unchanged   int           `json:"unchanged"`
	Withheld    int           `json:"withheld"`
	Failed      int           `json:"failed"`

	WithheldReasons []ReasonCount `json:"withheld_reasons"` // most frequent first
	Quarantine      []ReasonCount `json:"quarantine"`       // most frequent first
	Failures        []Failure     `json:"failures"`
	Warnings        []Message     `json:"warnings"`

	Index     string    `json:"index"` // where vectors are kept: a path or an address
	Published Published `json:"published"`
	Phases    []Phase   `json:"phases"`

	// Error is what the run failed with after its work was done; nil leaves the
	// name out.
	Error *Error `json:"error,omitempty"`
}

// Counts takes over what was counted while the plan was carried out, in the
// order of the columns of the view runs.
func (s *Summary) Counts(embedded, cacheHits, inserted, updated, repayloaded, unchanged, withheld, failed int) {
	s.Embedded, s.CacheHits = embedded, cacheHits
	s.Inserted, s.Updated, s.Repayloaded, s.Unchanged = inserted, updated, repayloaded, unchanged
	s.Withheld, s.Failed = withheld, failed
}

// Sessions counts sessions: what this run saw, and the states of all that are
// known.
type Sessions struct {
	Listed   int `json:"listed"`
	Read     int `json:"read"`
	Changed  int `json:"changed"`
	OK       int `json:"ok"`
	Degraded int `json:"degraded"`
	Invalid  int `json:"invalid"`
	Gone     int `json:"gone"`
}

// Registry counts readable registry lines.
type Registry struct {
	Lines     int `json:"lines"`
	Indexable int `json:"indexable"`
	Skipped   int `json:"skipped"`
}

// StatusCount is how many candidates have a status.
type StatusCount struct {
	Status string `json:"status"`
	Count  int    `json:"count"`
}

// ActionCount is how many records of a kind have an action in the plan.
type ActionCount struct {
	Kind   string `json:"kind"`
	Action string `json:"action"`
	Count  int    `json:"count"`
}

// ReasonCount is how often a reason was given.
type ReasonCount struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// Failure is one record that failed.
type Failure struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// Message is a sentence of the catalogue of package words.
type Message struct {
	ID   string         `json:"id"`
	Args map[string]any `json:"args"`
}

// Published is what was published. An empty Dir means that nothing was.
type Published struct {
	Dir       string   `json:"dir"`
	Views     []string `json:"views"` // written anew
	Unchanged bool     `json:"unchanged"`
}

// Phase is the time that one stage of the job took.
type Phase struct {
	Name string
	Wall time.Duration
	CPU  time.Duration
}

type phaseJSON struct {
	Name string  `json:"name"`
	Wall float64 `json:"wall_seconds"`
	CPU  float64 `json:"cpu_seconds"`
}

// MarshalJSON writes times as seconds, to the millisecond.
func (p Phase) MarshalJSON() ([]byte, error) {
	return json.Marshal(phaseJSON{Name: p.Name, Wall: seconds(p.Wall), CPU: seconds(p.CPU)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Phase) UnmarshalJSON(text []byte) error {
	var in phaseJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*p = Phase{Name: in.Name, Wall: duration(in.Wall), CPU: duration(in.CPU)}
	return nil
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

func duration(s float64) time.Duration {
	return time.Duration(math.Round(s*1000)) * time.Millisecond
}

// NothingNew says that the run ended well, and found, embedded, wrote and
// published nothing that was not there before: an unchanged night.
func (s Summary) NothingNew() bool {
	for _, a := range s.Actions {
		if a.Count > 0 && plan.Action(a.Action).Writes() {
			return false
		}
	}
	return s.Status == statusDone && s.ExitCode == 0 && !s.DryRun && s.Sessions.Changed == 0 &&
		s.Embedded+s.CacheHits+s.Inserted+s.Updated+s.Repayloaded+s.Failed == 0 &&
		len(s.Warnings)+len(s.Failures) == 0 && (s.Published.Unchanged || s.Published.Dir == "")
}

// JSON writes the summary as one document. The rows of a plan stand in it under
// "plan"; nil leaves the name out.
func JSON(w io.Writer, s Summary, planned []PlanRow) error {
	s.StartedAt, s.FinishedAt = s.StartedAt.UTC(), s.FinishedAt.UTC()
	s.Candidates, s.Actions = some(s.Candidates), some(s.Actions)
	s.WithheldReasons, s.Quarantine = some(s.WithheldReasons), some(s.Quarantine)
	s.Failures, s.Phases = some(s.Failures), some(s.Phases)
	s.Published.Views = some(s.Published.Views)
	warnings := make([]Message, len(s.Warnings))
	for i, m := range s.Warnings {
		if m.Args == nil {
			m.Args = map[string]any{}
		}
		warnings[i] = m
	}
	s.Warnings = warnings
	if planned == nil {
		return Document(w, s)
	}
	return Document(w, struct {
		Summary
		Plan []PlanRow `json:"plan"`
	}{s, planned})
}

// some makes a list that is empty and not null.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Document writes v as the one JSON document of a command.
func Document(w io.Writer, v any) error { return document(w, v, "  ") }

// Line is a Document on one line.
func Line(w io.Writer, v any) error { return document(w, v, "") }

func document(w io.Writer, v any, indent string) error {
	var document bytes.Buffer
	enc := json.NewEncoder(&document)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(visibleJSON(document.Bytes()))
	return err
}

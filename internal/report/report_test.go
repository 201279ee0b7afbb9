package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/thtbatch/thtbatch/internal/plan"
	"github.com/thtbatch/thtbatch/internal/words"
)

var update = flag.Bool("update", false, "write the golden files anew")

var start = time.Date(2026, 11, 30, 22, 3, 1, 0, time.UTC)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it anew):\n%s", path, got)
	}
}

// full has everything that a summary can have.
func full() Summary {
	s := Summary{
		RunID: "20261130T220301Z-ab12cd", Job: "backfill", Status: "partial", ExitCode: 7,
		StartedAt: start, FinishedAt: start.Add(192 * time.Second), State: "/srv/tht/state",
		Sessions:  Sessions{Listed: 98213, Read: 412, Changed: 96, OK: 97000, Degraded: 1201, Invalid: 12, Gone: 31},
		BytesRead: 5 << 20, Decisions: 962_113, Registry: Registry{Lines: 1240, Indexable: 1198, Skipped: 42},
		Candidates: []StatusCount{{"overflow", 77}, {"duplicate", 95}, {"declined", 340}, {"promoted", 1200}, {"proposed", 20_411}},
		Embedded:   90, CacheHits: 4, Inserted: 71, Updated: 14, Repayloaded: 6, Unchanged: 40_100, Withheld: 1300, Failed: 6,
		WithheldReasons: []ReasonCount{{"session is degraded", 1201}, {"refused before: zero vector", 60}, {"the type is not reusable", 30},
			{"the question is blank", 5}, {"subject and detail are blank", 4}},
		Quarantine: []ReasonCount{{"not valid JSON", 1100}, {"torn tail", 20}, {"seq: not an integer from 1 to 9223372036854775807", 3}},
		Warnings: []Message{
			{ID: "run_abandoned", Args: map[string]any{"job": "backfill", "run": "20261129T220301Z-zz99zz"}},
			{ID: "session_skipped", Args: map[string]any{"name": "alias", "reason": "the link leads nowhere"}},
		},
		Index:     "/srv/tht/state/index/local.duckdb",
		Published: Published{Dir: "/srv/tht/state/published/current", Views: []string{"decisions", "index_plan", "memories", "quarantine", "runs", "sessions"}},
		Phases: []Phase{{"list", 310 * time.Millisecond, 300 * time.Millisecond}, {"read", 31 * time.Second, 40 * time.Second},
			{"registry", 20 * time.Millisecond, 20 * time.Millisecond}, {"derive", 9700 * time.Millisecond, 14 * time.Second},
			{"embed", 70 * time.Second, 69 * time.Second}},
	}
	for i, action := range plan.Actions() {
		s.Actions = append(s.Actions, ActionCount{"memory", string(action), i + 1}, ActionCount{"solved_question", string(action), 1000 * i})
	}
	for i := range 6 {
		s.Failures = append(s.Failures, Failure{fmt.Sprintf("memory:mem-%04d", i), "vector_zero"})
	}
	for i := range 5 {
		s.Warnings = append(s.Warnings, Message{ID: "session_skipped", Args: map[string]any{"name": fmt.Sprint("x", i), "reason": "the name is not UTF-8"}})
	}
	return s
}

func unchanged() Summary {
	return Summary{
		RunID: "20261201T220301Z-ab12cd", Job: "backfill", Status: "done", StartedAt: start, FinishedAt: start.Add(1400 * time.Millisecond),
		Sessions: Sessions{Listed: 98213, OK: 98213}, Decisions: 962_113, Registry: Registry{Lines: 1240, Indexable: 1240},
		Actions:   []ActionCount{{"memory", "unchanged", 1240}, {"solved_question", "unchanged", 40_000}, {"memory", "withheld", 3}},
		Unchanged: 41_240, Withheld: 3, Quarantine: []ReasonCount{{"torn tail", 2}},
		Published: Published{Dir: "/srv/tht/state/published/current", Unchanged: true},
	}
}

func summaries() map[string]Summary {
	dry := full()
	dry.DryRun, dry.Status, dry.ExitCode = true, "done", 0
	dry.Failures, dry.Failed, dry.Warnings, dry.Published, dry.Embedded, dry.Inserted = nil, 0, nil, Published{}, 0, 0
	first := Summary{
		RunID: "20261130T220301Z-ab12cd", Job: "backfill", Status: "done", StartedAt: start, FinishedAt: start.Add(2 * time.Second),
		Sessions: Sessions{Listed: 40, Read: 40, Changed: 40, OK: 40}, Decisions: 412, Registry: Registry{Lines: 12, Indexable: 12},
		Candidates: []StatusCount{{"proposed", 9}}, Actions: []ActionCount{{"memory", "insert", 12}, {"solved_question", "insert", 21}},
		Embedded: 33, Inserted: 33, Index: "/s/index/local.duckdb",
		Published: Published{Dir: "/s/published/current", Views: []string{"decisions", "runs"}},
	}
	again := first
	again.Actions = []ActionCount{{"memory", "unchanged", 12}, {"solved_question", "unchanged", 21}}
	again.Embedded, again.Inserted, again.Unchanged = 0, 0, 33
	return map[string]Summary{"full": full(), "unchanged": unchanged(), "dry_run": dry, "first": first, "same_index": again, "empty": {Status: "failed"}}
}

func TestTextGolden(t *testing.T) {
	for name, s := range summaries() {
		for _, lang := range []words.Lang{words.English, words.Italian} {
			t.Run(name+"."+string(lang), func(t *testing.T) {
				var b bytes.Buffer
				if err := Text(&b, words.For(lang), s); err != nil {
					t.Fatal(err)
				}
				golden(t, name+"."+string(lang)+".txt", b.Bytes())
				for line := range strings.Lines(b.String()) {
					line = strings.TrimSuffix(line, "\n")
					if name != "unchanged" && utf8.RuneCountInString(line) > width || line == "" || strings.TrimRight(line, " ") != line {
						t.Errorf("a line of %d: %q", utf8.RuneCountInString(line), line)
					}
				}
				if n := bytes.Count(b.Bytes(), []byte("\n")); n > 30 {
					t.Errorf("%d lines", n)
				}
			})
		}
	}
}

func TestJSONGolden(t *testing.T) {
	for name, s := range summaries() {
		var b bytes.Buffer
		if err := JSON(&b, s, nil); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", b.Bytes())

		var back Summary
		dec := json.NewDecoder(bytes.NewReader(b.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&back); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := JSON(&again, back, nil); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: the JSON does not survive a round trip: %v", name, err)
		}
		if bytes.Contains(b.Bytes(), []byte("null")) {
			t.Errorf("%s: a list is null", name)
		}
		for _, key := range regexp.MustCompile(`"([^"]*)":`).FindAllSubmatch(b.Bytes(), -1) {
			if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).Match(key[1]) {
				t.Errorf("%s: name %q", name, key[1])
			}
		}
	}
}

func TestUnchangedNightIsOneLine(t *testing.T) {
	for _, lang := range []words.Lang{words.English, words.Italian} {
		var b bytes.Buffer
		if err := Text(&b, words.For(lang), unchanged()); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(b.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%s", b.String())
		}
	}
	for name, change := range map[string]func(*Summary){
		"a changed session": func(s *Summary) { s.Sessions.Changed = 1 },
		"an embedding":      func(s *Summary) { s.Embedded = 1 },
		"a write":           func(s *Summary) { s.Repayloaded = 1 },
		"a planned write":   func(s *Summary) { s.Actions = append(s.Actions, ActionCount{"memory", "adopt", 1}) },
		"a failure":         func(s *Summary) { s.Failed = 1 },
		"a warning":         func(s *Summary) { s.Warnings = []Message{{ID: "sessions_empty"}} },
		"a publication":     func(s *Summary) { s.Published.Unchanged = false },
		"a dry run":         func(s *Summary) { s.DryRun = true },
		"another status":    func(s *Summary) { s.Status = "interrupted" },
		"an exit code":      func(s *Summary) { s.ExitCode = 3 },
	} {
		s := unchanged()
		change(&s)
		if s.NothingNew() {
			t.Errorf("%s is nothing new", name)
		}
	}
}

// TestNoCodeReachesPeople holds the Italian text against every code that has
// words: none may be left.
func TestNoCodeReachesPeople(t *testing.T) {
	s := full()
	s.Warnings = s.Warnings[:2]
	var b bytes.Buffer
	if err := Text(&b, words.For(words.Italian), s); err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"insert", "adopt", "reembed", "update", "repayload", "unchanged", "withheld", "orphan", "twin",
		"retracted", "foreign", "promoted", "declined", "duplicate", "proposed", "overflow", "degraded", "invalid", "gone", "partial",
		"vector_zero", "not valid JSON", "torn tail", "session is", "refused before", "derive", "the link"} {
		if regexp.MustCompile(`\b` + code + `\b`).MatchString(b.String()) {
			t.Errorf("%q is left in\n%s", code, b.String())
		}
	}
}

func TestNamesCannotDriveTheTerminal(t *testing.T) {
	evil := "x\x1b[2J\r\n\u202e\xff"
	s := full()
	s.Job, s.RunID, s.Status, s.Index = evil, evil, evil, evil
	s.Published = Published{Dir: evil, Views: []string{evil}}
	s.Failures = []Failure{{evil, evil}}
	s.Warnings = []Message{{ID: evil}, {ID: "session_skipped", Args: map[string]any{"name": evil, "reason": evil}}}
	s.WithheldReasons, s.Quarantine = []ReasonCount{{evil, 1}}, []ReasonCount{{evil, 1}}
	s.Candidates = []StatusCount{{evil, 1}}
	s.Actions = []ActionCount{{evil, evil, 1}}
	s.Phases = []Phase{{evil, time.Minute, 0}}
	quiet := unchanged()
	quiet.Job, quiet.Published.Dir = evil, evil
	for _, s := range []Summary{s, quiet} {
		var b bytes.Buffer
		if err := Text(&b, words.For(words.English), s); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
				t.Errorf("%q", line)
			}
		}
	}
	var b bytes.Buffer
	end := start.Add(time.Minute)
	if err := Runs(&b, words.For(words.English), []RunRow{{RunID: evil, Job: evil, Error: evil, Status: evil, FinishedAt: &end}}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(strings.ReplaceAll(b.String(), "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%q", b.String())
	}
}

func TestRuns(t *testing.T) {
	end, code := start.Add(192*time.Second), 0
	runs := []RunRow{
		{RunID: "20261129T220301Z-zz99zz", Job: "backfill", StartedAt: start.Add(-24 * time.Hour), FinishedAt: &end, Status: "abandoned"},
		{RunID: "20261130T220301Z-ab12cd", Job: "backfill", StartedAt: start, FinishedAt: &end, Status: "done", ExitCode: &code,
			SessionsChanged: 12_345, Embedded: 9, Inserted: 7, Updated: 2, Withheld: 3},
		{RunID: "20261201T220301Z-cd34ef", Job: "report", StartedAt: start.Add(24 * time.Hour), Status: "failed", Failed: 1, Error: "state_write_failed /s"},
		{RunID: "20261202T220301Z-gh56ij", Job: "backfill", StartedAt: start.Add(48 * time.Hour), Status: "running"},
	}
	for _, lang := range []words.Lang{words.English, words.Italian} {
		var b bytes.Buffer
		p := words.For(lang)
		if err := errors.Join(Runs(&b, p, runs), Runs(&b, p, nil)); err != nil {
			t.Fatal(err)
		}
		golden(t, "runs."+string(lang)+".txt", b.Bytes())
	}
}

func TestPlan(t *testing.T) {
	rows := []PlanRow{
		{"memory:mem-0001", "memory", "insert", "not in the index"},
		{"solved:s-2026-01\x1b[2J", "solved_question", "withheld", "session is degraded"},
		{"memory:mem-0002", "memory", "reembed", "embedded in the space lexical-1"},
	}
	for _, lang := range []words.Lang{words.English, words.Italian} {
		var b bytes.Buffer
		if err := errors.Join(Plan(&b, words.For(lang), rows), Plan(&b, words.For(lang), nil)); err != nil {
			t.Fatal(err)
		}
		golden(t, "plan."+string(lang)+".txt", b.Bytes())
	}
	for _, planned := range [][]PlanRow{{}, rows} {
		var b bytes.Buffer
		if err := JSON(&b, unchanged(), planned); err != nil {
			t.Fatal(err)
		}
		var back struct {
			RunID string    `json:"run_id"`
			Plan  []PlanRow `json:"plan"`
		}
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || !reflect.DeepEqual(back.Plan, planned) || back.RunID != unchanged().RunID {
			t.Errorf("%v: %s", err, b.String())
		}
	}
}

func TestCounts(t *testing.T) {
	var s Summary
	s.Counts(1, 2, 3, 4, 5, 6, 7, 8)
	want := Summary{Embedded: 1, CacheHits: 2, Inserted: 3, Updated: 4, Repayloaded: 5, Unchanged: 6, Withheld: 7, Failed: 8}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v", s)
	}
}

package jobs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
)

func pathOf(err error) string {
	var classified *fault.Error
	if errors.As(err, &classified) {
		return classified.Path
	}
	return ""
}

func idOf(err error) string {
	var classified *fault.Error
	if errors.As(err, &classified) {
		return classified.ID
	}
	return ""
}

// ofAnyRun are the files that every run writes: opening the warehouse may move
// its log, and its content is asked of the views.
var ofAnyRun = []string{"runs.jsonl", "lock", "warehouse.duckdb"}

// vanish is what a share that is not mounted, or half of one, looks like.
var vanish = []struct {
	name, id string
	then     fault.Code // of the run after it was accepted
	do       func(t *testing.T, d *desk)
}{
	{"a quarter of the sessions", "sessions_vanished", fault.Done, func(t *testing.T, d *desk) {
		for i := range 5 {
			remove(t, d.artifact("sessions", sessionID(i)))
		}
	}},
	{"all sessions", "sessions_vanished", fault.Done, func(t *testing.T, d *desk) {
		remove(t, d.artifact("sessions"))
		if err := os.Mkdir(d.artifact("sessions"), 0o755); err != nil {
			t.Fatal(err)
		}
	}},
	{"the sessions directory", "sessions_vanished", fault.Usage, func(t *testing.T, d *desk) { remove(t, d.artifact("sessions")) }},
	{"the sessions directory, a file in its place", "sessions_vanished", fault.Usage, func(t *testing.T, d *desk) {
		remove(t, d.artifact("sessions"))
		write(t, d.artifact("sessions"), "")
	}},
	{"the artifacts directory", "sessions_vanished", fault.Usage, func(t *testing.T, d *desk) { remove(t, d.settings.ArtifactsDir) }},
	{"the registry", "registry_vanished", fault.Done, func(t *testing.T, d *desk) { remove(t, d.artifact("memory", "registry.jsonl")) }},
	{"what is in the registry", "registry_vanished", fault.Done, func(t *testing.T, d *desk) { write(t, d.artifact("memory", "registry.jsonl"), "") }},
	{"all but blank lines of the registry", "registry_vanished", fault.Done, func(t *testing.T, d *desk) { write(t, d.artifact("memory", "registry.jsonl"), "\n \n") }},
	{"the registry, a directory in its place", "registry_vanished", fault.Usage, func(t *testing.T, d *desk) {
		remove(t, d.artifact("memory", "registry.jsonl"))
		write(t, d.artifact("memory", "registry.jsonl", "inside"), "")
	}},
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestVanishedInputIsRefused(t *testing.T) {
	t.Parallel()
	base := cleanDesk(t, 20)
	base.session(t, "odd", solved("select 1"))
	base.ask(t, "odd", "???")
	base.age(t)
	base.run(t, fault.Partial, "backfill") // one refusal is remembered
	views, points := base.views(t), base.index(t)
	whole := filepath.Join(t.TempDir(), "whole")
	copyState(t, base.settings.ArtifactsDir, whole)
	for i, test := range vanish {
		t.Run(test.name, func(t *testing.T) {
			d := base.elsewhere(t)
			copyState(t, base.settings.StateDir, d.settings.StateDir)
			remove(t, d.settings.ArtifactsDir)
			copyState(t, whole, d.settings.ArtifactsDir)
			test.do(t, d)
			before := filesOf(t, d.settings.StateDir)
			tries := [][]string{nil, {"--rescan", "--retry-failed"}}
			if i == 0 {
				tries = append(tries, []string{"--dry-run"}, []string{"--only", "memories"}, []string{"--session", sessionID(9)})
			}
			for _, flags := range tries {
				out := d.run(t, fault.Guard, append([]string{"backfill"}, flags...)...)
				if idOf(out.err) != test.id || !strings.HasPrefix(pathOf(out.err), d.settings.ArtifactsDir) {
					t.Errorf("%v: %v", flags, out.err)
				}
			}
			sameFiles(t, "state", without(before, ofAnyRun...), without(filesOf(t, d.settings.StateDir), ofAnyRun...))
			d.run(t, fault.Done, "report") // the warehouse itself is as it was
			sameViews(t, "report", d.views(t), views)
			samePoints(t, "index", d.index(t), points)

			out := d.run(t, fault.Done, "backfill", "--accept-gone")
			samePoints(t, "accepted: nothing is deleted", d.index(t), points)
			if strings.HasPrefix(test.id, "registry") {
				if n := out.summary.actions()["orphan"]; n != 20 {
					t.Errorf("%d orphans", n)
				}
			}
			// What was accepted is known now. A place that cannot be read at all is a
			// wrong configuration from then on.
			d.run(t, test.then, "backfill")
		})
	}
}

// Up to a fifth of the sessions may go: their rows stay, and yield nothing.
func TestGoneSessionsKeepTheirRows(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 20)
	d.session(t, sessionID(0), sessionText{
		ledger: ledger("concept_clarified|reparto|unità", "concept_clarified|letto|posto", "memory_promoted||seq:1",
			"sql_approved|phase:7", "decision_withdrawn||seq:2", "decision_withdrawn||seq:99"), sql: "select 1"})
	d.age(t)
	d.backfill(t)
	decisions := "SELECT * FROM decisions WHERE session_id = 's-000'"
	before, points := d.query(t, decisions), d.index(t)
	if len(before) != 6 {
		t.Fatalf("%d decisions", len(before))
	}
	for i := range 4 {
		remove(t, d.artifact("sessions", sessionID(i)))
	}
	s := d.run(t, fault.Done, "backfill").summary
	if s.Sessions.Gone != 4 || s.actions()["orphan"] != 3 {
		t.Errorf("%d gone, %v", s.Sessions.Gone, s.actions())
	}
	samePoints(t, "gone", d.index(t), points)
	check := func(what string) {
		t.Helper()
		if got := d.query(t, decisions); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("%s: decisions of a gone session:\n%s", what, difference(got, before))
		}
		if got := d.query(t, "SELECT state, decisions, quarantined, question FROM sessions WHERE session_id = 's-000'"); fmt.Sprint(got) != `[{"decisions":6,"quarantined":0,"question":"How many s-000?","state":"gone"}]` {
			t.Errorf("%s: %v", what, got)
		}
		for _, view := range []string{"effective_decisions", "promotion_candidates", "solved_questions", "session_memories", "quarantine"} {
			if got := d.query(t, "SELECT * FROM "+view+" WHERE session_id = 's-000'"); len(got) != 0 {
				t.Errorf("%s: a gone session in %s: %v", what, view, got)
			}
		}
	}
	check("gone")
	d.settings.CandidatesCap = 3
	d.run(t, fault.Done, "backfill")
	check("gone, and everything derived again")
	d.run(t, fault.Done, "report")
	check("after a report")

	// Back again, it is as it was.
	d.session(t, sessionID(0), sessionText{ledger: ledger("concept_clarified|reparto|unità", "sql_approved|phase:7"), sql: "select 1"})
	d.run(t, fault.Done, "backfill")
	if got := d.query(t, "SELECT state FROM sessions WHERE session_id = 's-000'"); fmt.Sprint(got) != `[{"state":"ok"}]` {
		t.Errorf("back: %v", got)
	}
	if got := d.query(t, "SELECT decision_seq, status FROM promotion_candidates WHERE session_id = 's-000'"); len(got) != 1 {
		t.Errorf("back: candidates %v", got)
	}
}

// On a first run what is not there is a wrong configuration, and no state is
// made for it.
func TestFirstRunOnWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(t *testing.T, d *desk)
		id   string
	}{
		"no artifacts": {func(*testing.T, *desk) {}, "artifacts_missing"},
		"no sessions": {func(t *testing.T, d *desk) {
			if err := os.MkdirAll(d.settings.ArtifactsDir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "sessions_missing"},
		"a file": {func(t *testing.T, d *desk) { write(t, d.settings.ArtifactsDir, "") }, "artifacts_missing"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			test.make(t, d)
			for _, argv := range [][]string{{"backfill"}, {"backfill", "--dry-run"}, {"solved-index", "x"}} {
				out := d.run(t, fault.Usage, argv...)
				if idOf(out.err) != test.id || !strings.HasPrefix(pathOf(out.err), d.settings.ArtifactsDir) {
					t.Errorf("%v: %v", argv, out.err)
				}
			}
			if _, err := os.Stat(d.settings.StateDir); err == nil {
				t.Error("a state directory was made")
			}
		})
	}
	t.Run("no registry, no session", func(t *testing.T) {
		d := newDesk(t)
		if err := os.MkdirAll(d.artifact("sessions"), 0o755); err != nil {
			t.Fatal(err)
		}
		s := d.run(t, fault.Done, "backfill").summary
		var warned []string
		for _, w := range s.Warnings {
			warned = append(warned, w.ID)
		}
		if !strings.Contains(fmt.Sprint(warned), "registry_missing") {
			t.Errorf("warnings: %v", warned)
		}
	})
}

// A session is looked up among those that the scan found, never on disk.
func TestUnknownSessionIsRefused(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 3)
	d.session(t, "../outside", solved("select 1"))
	d.run(t, fault.Done, "backfill")
	before := filesOf(t, d.settings.StateDir)
	for _, id := range []string{"../outside", "nobody", "../sessions/" + sessionID(0), ".", sessionID(0) + "/", filepath.Join(d.artifact("sessions"), sessionID(0))} {
		for _, argv := range [][]string{{"backfill", "--session", id}, {"solved-index", id}, {"candidates", "--session", id}, {"search", "--session", id, "concept"}} {
			if out := d.run(t, fault.Input, argv...); idOf(out.err) != "session_not_found" {
				t.Errorf("%v: %v", argv, out.err)
			}
		}
	}
	sameFiles(t, "state", without(before, ofAnyRun...), without(filesOf(t, d.settings.StateDir), ofAnyRun...))
}

package jobs_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/state"
)

// ask writes the manifest of a session with another question.
func (d *desk) ask(t *testing.T, id, question string) {
	t.Helper()
	write(t, d.artifact("sessions", id, "manifest.yaml"), fmt.Sprintf("id: %q\nquestion: %q\nstatus: finalized\n", id, question))
}

func (d *desk) holds(t *testing.T, key string) bool {
	t.Helper()
	_, there := d.index(t)[record.PointID(key)]
	return there
}

// One question that has nothing to embed fails alone, once; then it is withheld
// until something changes or somebody asks for it.
func TestRefusedRecordIsWithheldUntilItChanges(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 6)
	d.settings.Index.Batch = 3
	d.session(t, "odd", solved("select 1"))
	d.ask(t, "odd", "???")
	d.settings.QuarantineExcerpt = "full" // of no importance here

	out := d.run(t, fault.Partial, "backfill")
	s := out.summary
	if s.Failed != 1 || s.Inserted != 12 || s.Embedded != 12 || s.Withheld != 0 {
		t.Errorf("first: failed %d, inserted %d, embedded %d, withheld %d", s.Failed, s.Inserted, s.Embedded, s.Withheld)
	}
	if len(s.Failures) != 1 || s.Failures[0].Key != "solved:odd" || s.Failures[0].Reason == "" {
		t.Errorf("failures: %+v", s.Failures)
	}
	if got := d.query(t, "SELECT status, exit_code, failed, inserted FROM runs"); fmt.Sprint(got) != `[{"exit_code":7,"failed":1,"inserted":12,"status":"partial"}]` {
		t.Errorf("runs: %v", got)
	}

	s = d.run(t, fault.Done, "backfill").summary
	if s.Failed != 0 || s.Withheld != 1 || s.Embedded != 0 || d.planOf(t, s)["solved:odd"] != "withheld" {
		t.Errorf("second: failed %d, withheld %d, embedded %d", s.Failed, s.Withheld, s.Embedded)
	}
	s = d.run(t, fault.Done, "backfill", "--retry-failed", "--dry-run").summary
	if got := rowsOf(t, s); got["solved:odd"] != "insert" {
		t.Errorf("dry run of a retry: %v", got)
	}
	d.run(t, fault.Done, "backfill") // the dry run has forgotten nothing
	d.run(t, fault.Done, "backfill", "--retry-failed", "--session", "s-000")
	d.run(t, fault.Done, "backfill") // nor has the retry of another session
	s = d.run(t, fault.Partial, "backfill", "--retry-failed").summary
	if s.Failed != 1 || s.Unchanged != 12 {
		t.Errorf("retry: failed %d, unchanged %d", s.Failed, s.Unchanged)
	}
	d.run(t, fault.Done, "backfill")

	d.session(t, "odd", sessionText{ledger: ledger("sql_approved"), sql: "select 2"})
	d.ask(t, "odd", "???")
	d.run(t, fault.Partial, "backfill") // other content: tried once more
	d.ask(t, "odd", "How many wards?")
	s = d.run(t, fault.Done, "backfill").summary
	if s.Inserted != 1 || !d.holds(t, "solved:odd") {
		t.Errorf("asked anew: inserted %d", s.Inserted)
	}
	d.ask(t, "odd", "!!!")
	d.run(t, fault.Partial, "backfill")
	if !d.holds(t, "solved:odd") {
		t.Error("what an earlier run indexed was not left")
	}
}

// solved-index says what is wrong with the one pair that it was asked for.
func TestSolvedIndexOfOneSession(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 2)
	d.session(t, "odd", solved("select 1"))
	d.ask(t, "odd", "???")
	d.session(t, "open", sessionText{manifest: "id: open\nquestion: How many open?\nstatus: open\n", ledger: ledger("sql_approved"), sql: "select 1"})
	d.session(t, "unapproved", sessionText{ledger: ledger("concept_clarified|a|b"), sql: "select 1"})
	d.session(t, "bad", degraded(solved("select 1")))
	d.session(t, "empty", sessionText{ledger: ledger("concept_clarified|a|b")})
	for _, id := range []string{"odd", "odd", "unapproved", "bad", "empty"} {
		if out := d.run(t, fault.Input, "solved-index", id); idOf(out.err) != "no_solved_pair" {
			t.Errorf("%s: %v", id, out.err)
		}
	}
	for i, want := range []string{"1", "0"} {
		out := d.run(t, fault.Done, "solved-index", "open")
		if got := out.stdout; got != "{\n  \"upserted\": "+want+",\n  \"id\": \"solved:open\"\n}\n" {
			t.Errorf("call %d: %s", i, got)
		}
	}
	if points := d.index(t); len(points) != 1 {
		t.Errorf("%d points", len(points))
	}
	// A full run leaves what was asked for, and takes it for no orphan.
	s := d.run(t, fault.Done, "backfill").summary
	if got := d.planOf(t, s)["solved:open"]; got != "withheld" || !d.holds(t, "solved:open") {
		t.Errorf("solved:open is %s", got)
	}
}

func TestStrictTellsWhatWasHeldBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(t *testing.T, d *desk)
		want fault.Code
	}{
		"clean": {func(*testing.T, *desk) {}, fault.Done},
		"torn tail": {func(t *testing.T, d *desk) {
			path := d.artifact("sessions", sessionID(0), "review_decisions.jsonl")
			write(t, path, read(t, path)+`{"seq": 2, "ts": "20`)
			path = d.artifact("memory", "registry.jsonl")
			write(t, path, read(t, path)+`{"id": "mem-9`)
		}, fault.Done},
		"quarantined": {func(t *testing.T, d *desk) {
			// A marker of nothing degrades nothing.
			d.session(t, sessionID(0), sessionText{ledger: ledger("sql_approved", "memory_promoted||seq:9"), sql: "select 1"})
		}, fault.Input},
		"withheld":  {func(t *testing.T, d *desk) { d.session(t, "no-sql", sessionText{ledger: ledger("sql_approved")}) }, fault.Input},
		"degraded":  {func(t *testing.T, d *desk) { d.session(t, sessionID(0), degraded(solved("select 1"))) }, fault.Input},
		"a failure": {func(t *testing.T, d *desk) { d.ask(t, sessionID(0), "???") }, fault.Partial},
	} {
		t.Run(name, func(t *testing.T) {
			d := cleanDesk(t, 3)
			test.make(t, d)
			s := d.run(t, test.want, "backfill", "--strict").summary
			if s.Inserted == 0 || s.Published.Dir == "" {
				t.Errorf("the work was not done: inserted %d, published %+v", s.Inserted, s.Published)
			}
			status := map[fault.Code]state.RunStatus{fault.Done: state.Done, fault.Input: state.Done, fault.Partial: state.Partial}[test.want]
			want := fmt.Sprintf(`[{"exit_code":%d,"status":"%s"}]`, test.want, status)
			if got := d.query(t, "SELECT status, exit_code FROM runs"); fmt.Sprint(got) != want {
				t.Errorf("runs: %v", got)
			}
			if s.ExitCode != int(test.want) {
				t.Errorf("the summary says exit %d", s.ExitCode)
			}
		})
	}
}

// What a person accepted of degraded sessions is used for as long as it is
// accepted; what was indexed then is left.
func TestAcceptedSessionsAreUsed(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 2)
	for _, id := range []string{"bad-1", "bad-2", "bad-3"} {
		d.session(t, id, degraded(sessionText{ledger: ledger("concept_clarified|"+id+"|x", "sql_approved"), sql: "select 1"}))
	}
	d.age(t)
	usable := func() rows { return d.query(t, "SELECT session_id FROM sessions WHERE usable AND state = 'degraded'") }
	offered := func() rows { return d.query(t, "SELECT DISTINCT session_id FROM promotion_candidates") }
	ids := func(names ...string) (out rows) {
		out = rows{}
		for _, name := range names {
			out = append(out, fmt.Sprintf(`{"session_id":"%s"}`, name))
		}
		return out
	}
	points := 4
	for i, test := range []struct {
		flags   []string
		setting []string
		usable  []string
		points  int
	}{
		{nil, nil, nil, 4},
		{[]string{"--accept-degraded=bad-2"}, nil, []string{"bad-2"}, 5},
		{nil, nil, nil, 5},
		{nil, []string{"bad-3", "nobody"}, []string{"bad-3"}, 6},
		{[]string{"--accept-degraded=bad-1,bad-2"}, []string{"bad-3"}, []string{"bad-1", "bad-2", "bad-3"}, 7},
		{nil, nil, nil, 7},
		{[]string{"--accept-degraded"}, nil, []string{"bad-1", "bad-2", "bad-3"}, 7},
		{nil, nil, nil, 7},
	} {
		d.settings.AcceptDegraded = test.setting
		s := d.run(t, fault.Done, append([]string{"backfill"}, test.flags...)...).summary
		if s.Sessions.Read != 0 && i > 0 {
			t.Errorf("run %d read %d sessions", i, s.Sessions.Read)
		}
		if got := usable(); !slices.Equal(got, ids(test.usable...)) {
			t.Errorf("run %d: usable %v", i, got)
		}
		if got := offered(); !slices.Equal(got, ids(test.usable...)) {
			t.Errorf("run %d: candidates of %v", i, got)
		}
		if got := len(d.index(t)); got != test.points || s.Inserted != test.points-points && i > 0 {
			t.Errorf("run %d: %d points, inserted %d", i, got, s.Inserted)
		}
		if got := s.actions()["withheld"]; got != 3-len(test.usable) {
			t.Errorf("run %d: %d withheld", i, got)
		}
		points = test.points
	}
}

// One session is read, computed, planned and written, and no other.
func TestOneSessionAlone(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 5)
	d.run(t, fault.Done, "backfill")
	before := d.index(t)
	for i := range 3 {
		d.session(t, sessionID(i), sessionText{ledger: ledger("concept_clarified|a|b", "sql_approved"), sql: "select 'changed'"})
	}
	d.session(t, "new", solved("select 9"))
	remove(t, d.artifact("sessions", sessionID(4)))
	d.age(t)
	s := d.run(t, fault.Done, "backfill", "--session", sessionID(1)).summary
	if s.Sessions.Read != 1 || s.Updated != 1 || s.Embedded != 0 || s.Inserted != 0 {
		t.Errorf("read %d, updated %d, embedded %d, inserted %d", s.Sessions.Read, s.Updated, s.Embedded, s.Inserted)
	}
	if got := d.query(t, "SELECT session_id FROM promotion_candidates"); fmt.Sprint(got) != `[{"session_id":"s-001"}]` {
		t.Errorf("candidates of %v", got)
	}
	if got := d.query(t, "SELECT session_id FROM sessions WHERE state <> 'ok' OR session_id = 'new'"); len(got) != 0 {
		t.Errorf("other sessions changed: %v", got)
	}
	after := d.index(t)
	id := record.PointID("solved:" + sessionID(1))
	if after[id].text("sql") != "select 'changed'" || after[id].Vector != before[id].Vector {
		t.Errorf("the pair is %v", after[id].Payload)
	}
	delete(after, id)
	delete(before, id)
	samePoints(t, "the others", after, before)

	s = d.run(t, fault.Done, "backfill").summary
	if s.Sessions.Gone != 1 || s.Updated != 2 || s.Inserted != 1 || s.actions()["orphan"] != 1 {
		t.Errorf("all: gone %d, updated %d, inserted %d, %v", s.Sessions.Gone, s.Updated, s.Inserted, s.actions())
	}
}

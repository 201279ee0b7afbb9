package jobs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// searchDesk has forty Memory and forty pairs that are as near to "ward beds"
// as their numbers are low.
func searchDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.settings.Embed.Dimensions = 2048 // no two words meet
	var lines []string
	filler := ""
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"id": "mem-%04d", "type": "concept_clarified", "subject": "ward beds", "detail": "ward beds%s"}`, i+1, filler))
		d.session(t, sessionID(i), solved(fmt.Sprintf("select %d", i)))
		d.ask(t, sessionID(i), "ward beds"+filler)
		filler += fmt.Sprintf(" filler%c%c", 'a'+i/26, 'a'+i%26)
	}
	d.registry(t, lines...)
	return d
}

func memoryIDs(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, memoryID(i))
	}
	return out
}

func sessionIDs(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, sessionID(i))
	}
	return out
}

// A search asks the index for more until it has what was asked for: what is
// nearest is not indexable, retracted or decided.
func TestSearchAsksForMore(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	d.run(t, fault.Done, "backfill")
	if got := d.search(t, "search", "--top", "5", "ward beds"); !slices.Equal(got, memoryIDs(0, 5)) {
		t.Fatalf("nearest: %v", got)
	}
	all := memoryIDs(0, 40)
	if got := d.search(t, "search", "--top", "100", "ward beds"); !slices.Equal(got, all) {
		t.Fatalf("all: %v", got)
	}

	// The first ten lose their place in the registry, five ways.
	var lines []string
	lines = append(lines, memory(memoryID(0), "table_promoted", "ward beds", ""), memory(memoryID(1), "concept_clarified", " ", ""))
	for i := 5; i < 40; i++ {
		lines = append(lines, concept(memoryID(i), "ward beds"))
	}
	d.registry(t, lines...)
	d.retract(t, "retract", "memory:"+memoryID(5), "memory:"+memoryID(6), "memory:"+memoryID(7), "memory:"+memoryID(20))
	d.retract(t, "restore", "memory:"+memoryID(20))
	d.session(t, "deciding", sessionText{ledger: ledger("memory_rejected||see mem-0009", "concept_clarified|a|b|as in mem-0010",
		"memory_rejected|mem-0011", "decision_withdrawn||seq:3", "concept_clarified|c|d", "memory_rejected||xmem-0012 mem-0013")})
	d.run(t, fault.Done, "backfill", "--only", "solved") // the points stay as they are
	if got := d.search(t, "search", "--top", "4", "ward beds"); !slices.Equal(got, memoryIDs(8, 12)) {
		t.Errorf("not indexable and retracted: %v", got)
	}
	// mem-0009 and mem-0010 are decided, mem-0011 no longer is, mem-0013 is.
	want := []string{"mem-0011", "mem-0012", "mem-0014", "mem-0015"}
	if got := d.search(t, "search", "--session", "deciding", "--top", "4", "ward beds"); !slices.Equal(got, want) {
		t.Errorf("decided in a session: %v", got)
	}
	if got := d.search(t, "search", "--top", "100", "ward beds"); len(got) != 32 {
		t.Errorf("all that is left: %d", len(got))
	}
	d.retract(t, "restore", "memory:"+memoryID(5))
	if got := d.search(t, "search", "--top", "1", "ward beds"); !slices.Equal(got, memoryIDs(5, 6)) {
		t.Errorf("restored: %v", got)
	}
}

// A pair whose approval is known to hold no longer is not shown, though nobody
// deletes it; one of which nobody can know stays.
func TestSolvedSearchAsksForMore(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	d.run(t, fault.Done, "backfill")
	if got := d.search(t, "solved-search", "ward beds"); !slices.Equal(got, sessionIDs(0, 3)) {
		t.Fatalf("nearest: %v", got)
	}
	change := func(i int, s sessionText) {
		t.Helper()
		manifest := read(t, d.artifact("sessions", sessionID(i), "manifest.yaml"))
		s.manifest = manifest
		d.session(t, sessionID(i), s)
	}
	change(0, sessionText{ledger: ledger("sql_approved", "decision_withdrawn||seq:1"), sql: "select 0"})
	change(1, sessionText{ledger: ledger("sql_approved", "phase_reopened|phase:7"), sql: "select 1"})
	change(2, sessionText{ledger: ledger("sql_approved", "phase_reopened|phase:4"), sql: "select 2"})
	change(3, sessionText{ledger: ledger("concept_clarified|a|b")})                                                   // neither approved nor written
	change(4, degraded(sessionText{ledger: ledger("sql_approved", "decision_withdrawn||seq:1"), sql: "select 4"}))    // nobody can know
	change(5, sessionText{ledger: ledger("sql_approved", "phase_reopened|phase:2", "sql_approved"), sql: "select 5"}) // approved again
	change(6, sessionText{ledger: ledger("sql_approved", "phase_reopened|phase:8"), sql: "select 6"})                 // of no concern
	change(7, sessionText{ledger: ledger("sql_approved")})                                                            // the approval holds
	remove(t, d.artifact("sessions", sessionID(8)))                                                                   // gone: nobody can know
	d.retract(t, "retract", "solved:"+sessionID(9))
	for i := 10; i < 35; i++ {
		change(i, sessionText{ledger: ledger("concept_clarified|a|b"), sql: "select 1"})
	}
	d.run(t, fault.Done, "backfill")
	want := append(sessionIDs(4, 9), sessionIDs(35, 39)...)
	if got := d.search(t, "solved-search", "--top", "9", "ward beds"); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if got := len(d.index(t)); got != 80 {
		t.Errorf("the index holds %d points", got)
	}
}

// readers are the commands that work while a job runs.
func (d *desk) readers(t *testing.T) {
	t.Helper()
	if got := d.search(t, "search", "--top", "2", "ward beds"); !slices.Equal(got, memoryIDs(0, 2)) {
		t.Errorf("search: %v", got)
	}
	if got := d.search(t, "solved-search", "--top", "2", "ward beds"); !slices.Equal(got, sessionIDs(0, 2)) {
		t.Errorf("solved-search: %v", got)
	}
	d.run(t, fault.Done, "candidates", "--session", sessionID(0))
	d.run(t, fault.Done, "query", "SELECT count(*) FROM decisions")
	d.run(t, fault.Done, "doctor")
	var all []state.Run
	if err := json.Unmarshal([]byte(d.run(t, fault.Done, "runs").stdout), &all); err != nil {
		t.Fatal(err)
	}
}

// Readers need neither the lock nor a file that a job has open.
func TestReadersWorkWhileEverythingIsHeld(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	d.run(t, fault.Done, "backfill")
	dir, err := state.Open(d.settings.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := dir.Lock(t.Context(), state.Holder{RunID: "somebody", Job: "backfill", PID: os.Getpid()}, 0)
	if err != nil {
		t.Fatal(err)
	}
	store, err := local.Open(t.Context(), duck.Options{Path: dir.Index(), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	db, err := warehouse.Open(t.Context(), duck.Options{Path: dir.Warehouse(), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	d.readers(t)
	for _, argv := range [][]string{{"backfill"}, {"backfill", "--dry-run"}, {"report"}, {"solved-index", sessionID(0)}} {
		if out := d.run(t, fault.Locked, argv...); idOf(out.err) != "locked" {
			t.Errorf("%v: %v", argv, out.err)
		}
	}
	for _, closing := range []func() error{db.Close, store.Close, lock.Unlock} {
		if err := closing(); err != nil {
			t.Error(err)
		}
	}
	d.run(t, fault.Done, "backfill")
}

// The same beside a real job, stopped in the middle of a batch: it holds the
// lock and both files, and has written part of its work.
func TestReadersWorkWhileAJobRuns(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	d.settings.Index.Batch = 4
	d.run(t, fault.Done, "backfill")
	views := d.views(t)
	d.settings.ContentTemplate = []string{"{subject}", "{detail}"} // all Memory is embedded anew
	rehearsal := d.elsewhere(t)
	copyState(t, d.settings.StateDir, rehearsal.settings.StateDir)
	calls, _ := rehearsal.rehearse(t, "backfill")
	c := d.start(t, order{Argv: []string{"backfill"}, StopAt: calls - 25})
	c.awaitStop(t)
	d.readers(t)
	sameViews(t, "while a job runs", d.views(t), views)
	if out := d.run(t, fault.Locked, "backfill"); idOf(out.err) != "locked" {
		t.Errorf("%v", out.err)
	}
	c.signal(t, os.Kill)
	c.wait(t)
	d.run(t, fault.Done, "backfill")
	samePoints(t, "after it", d.index(t), rehearsal.index(t))
	if n := d.endedRuns(t, state.Abandoned); n != 1 {
		t.Errorf("%d runs are abandoned", n)
	}
}

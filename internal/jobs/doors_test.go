package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/record"
)

// Only clarified concepts are reusable. Six doors ask, and each would hold if
// all the others stood open.

// notReusable are all other types, and what looks like the one.
func notReusable() []string {
	return []string{
		"table_promoted", "table_excluded", "column_promoted", "memory_rejected", "question_rewritten", "cte_approved",
		"sql_approved", "datamart_requested", "datamart_declined", "a_new_type", "Concept_Clarified", "concept_clarified ", "concept_clarifie",
	}
}

// Door 1: candidates are computed of clarified concepts alone, and a registry
// record of another type promotes none.
func TestDoorOfCandidates(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	decisions := []string{"concept_clarified|reparto|unità"}
	var promoted, lines []string
	for i, kind := range notReusable() {
		decisions = append(decisions, kind+"|"+kind+" subject|a detail")
		promoted = append(promoted, fmt.Sprintf("memory_promoted||seq:%d", i+2))
	}
	lines = append(lines, `{"id": "mem-0001", "type": "table_promoted", "session_id": "one", "decision_seq": 1, "subject": "x"}`)
	d.session(t, "one", sessionText{ledger: ledger(append(decisions, promoted...)...)})
	d.registry(t, lines...)
	d.run(t, fault.Done, "backfill")
	want := rows{`{"decision_seq":1,"status":"proposed","type":"concept_clarified"}`}
	if got := d.query(t, "SELECT decision_seq, type, status FROM promotion_candidates"); !slices.Equal(got, want) {
		t.Errorf("candidates:\n%s", difference(got, want))
	}
}

// Door 2: a registry record of another type has a row that says why it is not
// indexable, and nothing else anywhere.
func TestDoorOfTheRegistry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.session(t, "one", sessionText{ledger: ledger("concept_clarified|a|b|as in mem-0001", "concept_clarified|c|d|as in mem-0002")})
	lines := []string{concept("mem-0001", "reparto")}
	for i, kind := range append(notReusable(), "") {
		lines = append(lines, memory(fmt.Sprintf("mem-%04d", i+2), kind, "a subject", "a detail"))
	}
	d.registry(t, lines...)
	before := read(t, d.artifact("memory", "registry.jsonl"))
	d.run(t, fault.Done, "backfill")
	if got := d.query(t, "SELECT count(*) AS n FROM memories WHERE NOT indexable AND skip_reason IS NOT NULL AND content IS NULL AND content_hash IS NULL"); fmt.Sprint(got) != fmt.Sprintf(`[{"n":%d}]`, len(lines)-1) {
		t.Errorf("not indexable: %v of %d", got, len(lines)-1)
	}
	points := d.index(t)
	if _, there := points[record.PointID("memory:mem-0001")]; len(points) != 1 || !there {
		t.Errorf("%d points", len(points))
	}
	want := rows{`{"reuses_memory_id":"mem-0001"}`, `{"reuses_memory_id":null}`}
	if got := d.query(t, "SELECT reuses_memory_id FROM promotion_candidates"); !slices.Equal(got, want) {
		t.Errorf("reused: %v", got)
	}
	if read(t, d.artifact("memory", "registry.jsonl")) != before {
		t.Error("the registry was written")
	}
}

// Door 3: no record is built of another type.
func TestDoorOfTheRecord(t *testing.T) {
	t.Parallel()
	b := prepare(t, newDesk(t)).builder(t)
	for _, kind := range append(notReusable(), "") {
		if _, err := b.Memory(record.Memory{ID: "mem-0001", Type: kind, Subject: "a", Detail: "b"}); err == nil {
			t.Errorf("a record of type %q was built", kind)
		}
	}
	if _, err := b.Memory(record.Memory{ID: "mem-0001", Type: record.ReusableType, Subject: "a", Detail: "b"}); err != nil {
		t.Error(err)
	}
}

// Door 4: no store takes Memory of another type, in either layout.
func TestDoorOfTheStore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := prepare(t, d)
	p.put("", p.memory(t, "mem-0001", "reparto"), nil)
	p.write(t)
	before := d.index(t)
	store, err := local.Open(t.Context(), duck.Options{Path: d.state("index", "local.duckdb"), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range append(notReusable(), "") {
		for _, changed := range []map[string]any{
			{"type": kind},
			{"metadata": map[string]any{"type": kind}},
			{"type": nil, "metadata": map[string]any{"type": kind}},
		} {
			p.writes = nil
			p.put("", p.memory(t, "mem-0002", "letto"), changed)
			err := store.Write(t.Context(), p.writes)
			var refused *load.RefusedError
			if !errors.As(err, &refused) || refused.Items[0].Reason != load.ReasonType {
				t.Errorf("%v: %v", changed, err)
			}
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	samePoints(t, "refused", d.index(t), before)
}

// Door 5: no search returns what another type became, whether the index says so
// or only the registry.
func TestDoorOfTheSearch(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.session(t, "one", solved("select 1"))
	d.registry(t, concept("mem-0001", "reparto"), concept("mem-0002", "reparto"), memory("mem-0003", "table_promoted", "reparto", "x"))
	p := prepare(t, d)
	// The index takes for a concept what the registry knows as a table, and for a
	// table what the registry has as a concept; and knows one that nobody does.
	p.put("", p.memory(t, "mem-0003", "reparto"), nil)
	p.put("", p.memory(t, "mem-0077", "reparto"), nil)
	p.write(t)
	d.run(t, fault.Done, "backfill")
	for _, path := range []string{"local.duckdb", "search.duckdb"} {
		withFile(t, d.state("index", path), false, func(ctx context.Context, db *duck.DB) error {
			return db.Exec(ctx, legacy("memory:mem-0002", "table_promoted"))
		})
	}
	if got := d.search(t, "search", "--top", "10", "reparto"); !slices.Equal(got, []string{"mem-0001"}) {
		t.Errorf("found %v", got)
	}
}

// Door 6: what a summary shows of a session is Memory of clarified concepts.
func TestDoorOfTheReport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	decisions := []string{"concept_clarified|reparto|unità", "concept_clarified|letto|posto"}
	markers := []string{"memory_promoted||seq:1", "memory_promotion_declined||seq:2"}
	for i, kind := range notReusable() {
		decisions = append(decisions, kind+"|"+kind+" subject|a detail")
		markers = append(markers, fmt.Sprintf("%s||seq:%d", []string{"memory_promoted", "memory_promotion_declined"}[i%2], i+3))
	}
	d.session(t, "one", sessionText{ledger: ledger(append(decisions, markers...)...)})
	d.registry(t, `{"id": "mem-0001", "type": "concept_clarified", "session_id": "one", "decision_seq": 1, "subject": "reparto"}`,
		`{"id": "mem-0002", "type": "table_promoted", "session_id": "one", "decision_seq": 2, "subject": "letto"}`)
	d.run(t, fault.Done, "backfill")
	want := rows{
		`{"decision_seq":1,"memory_id":"mem-0001","outcome":"approved","position":1}`,
		`{"decision_seq":2,"memory_id":null,"outcome":"declined","position":2}`,
	}
	if got := d.query(t, "SELECT position, outcome, decision_seq, memory_id FROM session_memories"); !slices.Equal(got, want) {
		t.Errorf("shown:\n%s", difference(got, want))
	}
}

//go:build duckdb_arrow

package warehouse

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/extract"
)

// line is a decision of a random ledger, and what it names as its writer meant
// it: -1 is nothing that can be named.
type line struct {
	seq                   int64
	kind, subject, detail string
	phase                 int // 0: that of the type
	target, reopens       int64
}

const withdrawal, reopening = "decision_withdrawn", "phase_reopened"

// randomLedger has distinct, unordered seqs, many withdrawals of withdrawals,
// and control records that name themselves, later lines or nothing.
func randomLedger(r *rand.Rand) []line {
	n := 1 + r.IntN(12)
	seqs := r.Perm(n + r.IntN(4))[:n]
	out := make([]line, n)
	types := []string{"concept_clarified", "table_promoted", "question_rewritten", "sql_approved", "memory_promoted", "never heard of"}
	for i := range out {
		l := line{seq: int64(seqs[i]) + 1, kind: types[r.IntN(len(types))], target: -1, reopens: -1}
		if r.IntN(3) == 0 {
			l.phase = 1 + r.IntN(8)
		}
		switch r.IntN(5) {
		case 0, 1:
			l.kind = withdrawal
			target := int64(r.IntN(n + 3))
			if r.IntN(2) == 0 { // more chains: one of the lines, mostly of a lower seq
				target = int64(seqs[r.IntN(n)]) + 1
			}
			l.detail, l.target = fmt.Sprintf("undo seq:%d.", target), target
			switch r.IntN(12) {
			case 0:
				l.subject, l.detail = l.detail, "no number"
			case 1:
				l.subject = "seq:1"
			case 2:
				l.detail, l.target = fmt.Sprintf("undo seq:%dx", target), -1
			case 3:
				l.detail, l.target = fmt.Sprintf("seq:92233720368547758080 seq:%d", target), -1
			}
		case 2:
			if r.IntN(2) == 0 {
				break
			}
			l.kind = reopening
			l.reopens = int64(r.IntN(10))
			l.subject = fmt.Sprintf("phase:%d", l.reopens)
			if r.IntN(6) == 0 {
				l.subject, l.detail = "", l.subject
			}
			if l.reopens < 1 || l.reopens > 8 {
				l.reopens = -1
			}
		}
		out[i] = l
	}
	return out
}

// evaluation is the definition, word for word and without care for time.
type evaluation struct {
	lines     map[int64]line
	inclusive bool
}

func (e evaluation) valid(l line) bool {
	if l.kind == withdrawal {
		_, there := e.lines[l.target]
		return there && l.target < l.seq
	}
	return l.reopens > 0
}

func (e evaluation) inForce(l line) bool {
	if (l.kind != withdrawal && l.kind != reopening) || !e.valid(l) {
		return false
	}
	for _, w := range e.lines {
		if w.kind == withdrawal && w.seq > l.seq && w.target == l.seq && e.inForce(w) {
			return false
		}
	}
	return true
}

func (e evaluation) phase(l line) int {
	if l.phase != 0 {
		return l.phase
	}
	if phase, ok := testRules().Phases[l.kind]; ok {
		return phase
	}
	return 1
}

// reason is why a decision is not effective, and the lowest seq that gives it.
func (e evaluation) reason(l line) (reason string, by int64) {
	for _, c := range e.lines {
		if c.seq <= l.seq || !e.inForce(c) {
			continue
		}
		var gives string
		switch {
		case c.kind == withdrawal && c.target == l.seq:
			gives = "withdrawn"
		case c.kind == reopening && (int(c.reopens) < e.phase(l) || e.inclusive && int(c.reopens) == e.phase(l)):
			gives = "stale"
		default:
			continue
		}
		if reason == "" || (gives == "withdrawn" && reason == "stale") || (gives == reason && c.seq < by) {
			reason, by = gives, c.seq
		}
	}
	return reason, by
}

// TestChainsAsDefined holds the statements against the definition on random
// ledgers, all in one warehouse and so in one pass.
func TestChainsAsDefined(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("THT_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("THT_TEST_SEED=%d", seed)
	const sessions = 10_000 // for each of the two scopes
	for _, inclusive := range []bool{false, true} {
		r := rand.New(rand.NewPCG(seed, 0))
		db := openTest(t)
		rules := testRules()
		rules.ReopenInclusive = inclusive
		if _, err := db.SetRules(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		all := make([]evaluation, sessions)
		for i := range all {
			all[i] = evaluation{lines: map[int64]line{}, inclusive: inclusive}
			for _, l := range randomLedger(r) {
				all[i].lines[l.seq] = l
			}
		}
		storeLedgers(t, db, all)
		if n, err := db.Derive(t.Context(), Accept{}); err != nil || n != sessions {
			t.Fatalf("%d derived, %v", n, err)
		}
		checkLedgers(t, db, all)
	}
}

func storeLedgers(t *testing.T, db *DB, all []evaluation) {
	t.Helper()
	lines := array.NewRecordBuilder(memory.DefaultAllocator, extract.LineSchema())
	defer lines.Release()
	manifests := array.NewRecordBuilder(memory.DefaultAllocator, extract.ManifestSchema())
	defer manifests.Release()
	var batch Batch
	for i, e := range all {
		key := int64(i) + 1
		batch.New = append(batch.New, Session{Key: key, ID: strconv.Itoa(i)})
		for c, b := range manifests.Fields() {
			if ints, ok := b.(*array.Int64Builder); ok && c < 2 {
				ints.Append(key)
			} else {
				b.AppendNull()
			}
		}
		for _, l := range e.lines {
			appendLine(lines, key, l)
		}
	}
	batch.Lines, batch.Manifests = lines.NewRecordBatch(), manifests.NewRecordBatch()
	defer batch.Lines.Release()
	defer batch.Manifests.Release()
	if err := db.Store(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func appendLine(b *array.RecordBuilder, key int64, l line) {
	for i, v := range []int64{key, 1, l.seq, 0, l.seq, 0} {
		b.Field(i).(*array.Int64Builder).Append(v)
	}
	b.Field(6).(*array.TimestampBuilder).Append(0)
	for i, v := range []string{l.kind, l.subject, l.detail, ""} {
		b.Field(7 + i).(*array.StringBuilder).Append(v)
	}
	if l.phase == 0 {
		b.Field(11).AppendNull()
	} else {
		b.Field(11).(*array.Int8Builder).Append(int8(l.phase))
	}
	b.Field(12).AppendNull()
}

func checkLedgers(t *testing.T, db *DB, all []evaluation) {
	t.Helper()
	checked, ineffective, controls := 0, 0, 0
	err := db.duck.ReadArrow(t.Context(), func(b arrow.RecordBatch) error {
		c := columnsOf(b)
		for row := range int(b.NumRows()) {
			e, seq := all[c.int("session", row)], c.int("seq", row)
			l := e.lines[seq]
			control := l.kind == withdrawal || l.kind == reopening
			var wantReason string
			var wantBy int64
			if !control {
				wantReason, wantBy = e.reason(l)
			}
			effective, reason, by := c.bool("effective", row), c.text("reason", row), c.int("by_seq", row)
			if c.bool("is_control", row) != control || effective != (!control && wantReason == "") || reason != wantReason || by != wantBy {
				return fmt.Errorf("seq %d is %q by %d, want %q by %d, in %+v", seq, reason, by, wantReason, wantBy, e.lines)
			}
			checked++
			if control {
				controls++
			}
			if wantReason != "" {
				ineffective++
			}
		}
		return nil
	}, `SELECT session_id::BIGINT AS session, seq, is_control, coalesce(is_effective, false) AS effective,
	    coalesce(ineffective_reason, '') AS reason, coalesce(ineffective_by_seq, 0) AS by_seq FROM decisions`)
	if err != nil {
		t.Fatal(err)
	}
	if total := len(all); checked < 4*total || ineffective < total/2 || controls < total {
		t.Errorf("%d decisions, %d of them ineffective, %d controls: the ledgers show too little", checked, ineffective, controls)
	}
	degraded := map[int]bool{}
	for i, e := range all {
		for _, l := range e.lines {
			degraded[i] = degraded[i] || (l.kind == withdrawal || l.kind == reopening) && !e.valid(l)
		}
	}
	var n int
	if err := db.duck.Value(t.Context(), &n, "SELECT count(*) FROM sessions WHERE state = 'degraded'"); err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, is := range degraded {
		if is {
			want++
		}
	}
	if n != want {
		t.Errorf("%d sessions are degraded, want %d", n, want)
	}
}

// A ledger of nothing but withdrawals of withdrawals takes no time that anyone
// notices.
func TestALongChainIsSettled(t *testing.T) {
	db := openTest(t)
	const n = 10_000
	e := evaluation{lines: map[int64]line{1: {seq: 1, kind: "x"}}}
	for seq := int64(2); seq <= n; seq++ {
		e.lines[seq] = line{seq: seq, kind: withdrawal, detail: "seq:" + strconv.FormatInt(seq-1, 10)}
	}
	storeLedgers(t, db, []evaluation{e})
	if _, err := db.Derive(t.Context(), Accept{}); err != nil {
		t.Fatal(err)
	}
	var by int64
	err := db.duck.Value(t.Context(), &by, "SELECT coalesce(min(ineffective_by_seq), 0) FROM decisions")
	if err != nil || by != 2 { // the last is in force, the one before it is not, and so on: 2 is
		t.Errorf("withdrawn by %d, %v", by, err)
	}
}

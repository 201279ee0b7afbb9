package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFirstWord(t *testing.T) {
	for text, want := range map[string]string{
		"seq:3":                 "3",
		"see (seq:12), seq:4":   "12",
		"xseq:3 seq:4":          "4",
		"_seq:3 seq:4":          "4",
		"èseq:3 seq:4":          "4",
		"٣seq:3 seq:4":          "4", // a digit, though not an ASCII one
		"seq:3è seq:4":          "4",
		"seq:3_ seq:4":          "4",
		"seq:3seq:4":            "",
		"seq:seq:4":             "4",
		"-seq:3-":               "3",
		"SEQ:3":                 "",
		"seq: 3":                "",
		"":                      "",
		"seq:99999999999999999": "99999999999999999",
	} {
		if got := firstWord("seq:", text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestWording(t *testing.T) {
	if a, b := wording("  Citt\u00e0\u00a0 X\n"), wording("citta\u0300 x"); a != b {
		t.Errorf("%q and %q say the same", a, b)
	}
	if a, b := wording("a\u200bb"), wording("a b"); a == b {
		t.Error("a zero-width space is not white space")
	}
}

// ledger is written as one line a decision: type | subject | detail | rationale
// and "@K" at the end for a phase. The seq is the line's number.
func sessionOf(t *testing.T, text string) *session {
	t.Helper()
	short := map[string]string{"c": reusable, "w": withdrawalType, "r": reopeningType, "p": promotedType, "d": declinedType,
		"t": "table_promoted", "x": "table_excluded", "q": "question_rewritten", "s": "sql_approved"}
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		line, phase, hasPhase := strings.Cut(line, "@")
		f := append(strings.Split(line, "|"), "", "", "")
		o := map[string]any{"seq": i + 1, "ts": "2026-02-01", "type": short[f[0]], "subject": f[1], "detail": f[2], "rationale": f[3]}
		if hasPhase {
			o["phase"] = phase
		}
		encoded, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", encoded)
	}
	s := &session{id: "s", manifest: manifest{id: "s", question: "Quante?", status: "finalized"}, sql: sqlText{exists: true, good: true, text: "select 1"}}
	s.readLedger([]byte(b.String()))
	s.judge(false)
	s.checkReferences()
	return s
}

func TestEffective(t *testing.T) {
	for _, c := range []struct{ name, ledger, want string }{
		{"withdrawn", "c|a\nw||seq:1", "withdrawn 2, -"},
		{"of the detail before the subject", "c|a\nc|b\nw|seq:1|seq:2", "ok, withdrawn 3, -"},
		{"of the subject when the detail names none", "c|a\nw|seq:1|xseq:9", "withdrawn 2, -"},
		{"no other is looked for", "c|a\nw|seq:1|seq:9 seq:1", "ok, -"},
		{"a withdrawal of what comes later", "w||seq:2\nc|a", "-, ok"},
		{"withdrawn withdrawal", "c|a\nw||seq:1\nw||seq:2", "ok, -, -"},
		{"three in a row", "c|a\nw||seq:1\nw||seq:2\nw||seq:3", "withdrawn 2, -, -, -"},
		{"the lowest that is in force", "c|a\nw||seq:1\nw||seq:1\nw||seq:1\nw||seq:2", "withdrawn 3, -, -, -, -"},
		{"stale below the phase alone", "t|a\nq||x\nr|phase:4", "ok, stale 3, -"},
		{"of the subject before the detail", "s\nr|phase:9|phase:3", "ok, -"},
		{"of the detail when the subject names none", "s\nr|F3|phase:3", "stale 2, -"},
		{"withdrawn before stale", "s\nr|phase:1\nw||seq:1", "withdrawn 3, -, -"},
		{"a withdrawal is never stale", "c|a\nw||seq:1@8\nr|phase:1", "withdrawn 2, -, -"},
		{"withdrawn reopening", "s\nr|phase:1\nw||seq:2", "ok, -, -"},
		{"stale by the lowest", "s\nr|phase:7\nr|phase:6\nr|phase:1", "stale 3, -, -, -"},
		{"a phase of its own", "s||@3\nr|phase:3\nr|phase:2", "stale 3, -, -"},
	} {
		var got []string
		for _, d := range sessionOf(t, c.ledger).decisions {
			switch {
			case d.control():
				got = append(got, "-")
			case d.effective():
				got = append(got, "ok")
			default:
				got = append(got, fmt.Sprintf("%s %d", d.reason, d.bySeq))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	one := int64(1)
	registry := []registryRecord{
		{id: "mem-0001", session: "s", seq: &one, kind: "table_promoted"},
		{id: "mem-0002", session: "other", seq: &one, kind: reusable, indexable: true},
		{id: "mem-0003", kind: reusable},
	}
	for _, c := range []struct{ name, ledger, want string }{
		{"a legacy record promotes nothing", "c|a", "proposed 1"},
		{"the latest marker counts", "c|a\np||seq:1\nd||seq:1", "declined"},
		{"a marker that is withdrawn does not", "c|a\np||seq:1\nd||seq:1\nw||seq:3", "promoted"},
		{"a marker that is stale does not", "c|a\np||seq:1\nr|phase:7", "proposed 1"},
		{"the first seq of a marker counts", "c|a\nc|b\np||seq:9 seq:1", "proposed 1, proposed 2"},
		{"the subject of a marker does not", "c|a\np|seq:1|", "proposed 1"},
		{"a later one that is promoted", "c|a\nc|A\np||seq:2", "duplicate 2, promoted"},
		{"the lowest of both", "c|a\nc|A\nc|a\np||seq:3", "duplicate 3, duplicate 1, promoted"},
		{"a withdrawn one is no original", "c|a\nc|a\nw||seq:1", "proposed 1"},
		{"subject and detail apart", "c|a b|c\nc|a|b c", "proposed 1, proposed 2"},
		{"six", "c|1\nc|2\nc|3\nc|4\nc|5\nc|6\nc|1", "proposed 1, proposed 2, proposed 3, proposed 4, proposed 5, overflow 6, duplicate 1"},
		{"blank", "c| |\u00a0\nc||x", "proposed 1"},
		{"cites an indexable record", "c|a||as mem-0002", "proposed 1 mem-0002"},
		{"the first id alone", "c|a||mem-0003 mem-0002", "proposed 1"},
	} {
		var got []string
		for _, r := range sessionOf(t, c.ledger).candidates(registry, 5) {
			text := r.Status
			for _, n := range []*int64{r.Rank, r.DuplicateOf} {
				if n != nil {
					text += fmt.Sprintf(" %d", *n)
				}
			}
			if r.Reuses != nil {
				text += " " + *r.Reuses
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

func TestSolved(t *testing.T) {
	for _, c := range []struct{ name, ledger, want string }{
		{"tables sorted, once", "t|b\nt|a\nt|b\ns", "true [a b]"},
		{"taken in again", "t|a\nx|a\nt|a\ns", "true [a]"},
		{"excluded before", "x|a\nt|a\ns", "true [a]"},
		{"exact text", "t|a\nx|A\ns", "true [a]"},
		{"an exclusion that is withdrawn", "t|a\nx|a\nw||seq:2\ns", "true [a]"},
		{"reopened after the approval", "s\nr|phase:7", "false []"},
		{"8 is beyond", "s\nr|phase:8", "true []"},
		{"approved once more", "s\nr|phase:7\ns", "true []"},
		{"the last approval withdrawn", "s\nr|phase:7\ns\nw||seq:3", "false []"},
		{"degraded", "s\nw||seq:9", "false []"},
	} {
		row, _ := sessionOf(t, c.ledger).solved(Options{Statuses: []string{"finalized"}})
		if got := fmt.Sprintf("%v %v", row.Indexable, row.Tables); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSessionMemories(t *testing.T) {
	for _, c := range []struct{ name, ledger, want string }{
		{"approved first", "c|a\nc|b\nd||seq:1\np||seq:2", "1 approved b, 2 declined a"},
		{"effective or not", "c|a\np||seq:1\nw||seq:1", "1 approved a"},
		{"tables hidden, without gaps", "c| Fact_a \nc|dim_b c\nc|T\nt|t\nd||seq:1\nd||seq:2\np||seq:3", "1 declined dim_b c"},
		{"a name in any script", "c|dim_città\nd||seq:1", ""},
		{"a table that is withdrawn hides nothing", "c|T\nt|t\np||seq:1\nw||seq:2", "1 approved T"},
		{"another type", "t|a\np||seq:1", ""},
	} {
		var got []string
		for _, r := range sessionOf(t, c.ledger).memories() {
			got = append(got, fmt.Sprintf("%d %s %s", r.Position, r.Outcome, r.Subject))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

func TestIndexable(t *testing.T) {
	line := func(fields string) string { return "{" + fields + "}\n" }
	data := line(`"id":"mem-1","type":"table_promoted","subject":"a"`) +
		line(`"id":"mem-1","type":"concept_clarified","subject":"second line of this id"`) +
		line(`"id":"mem-2","type":"concept_clarified","subject":" ","session_id":"s","decision_seq":1`) +
		line(`"id":"mem-3","type":"concept_clarified","detail":"the blank one did not take it","session_id":"s","decision_seq":"1"`) +
		line(`"id":"mem-4","type":"concept_clarified","detail":"taken","session_id":"s","decision_seq":1.0`) +
		line(`"id":"mem-5","type":"concept_clarified","detail":"no session","decision_seq":1`) +
		line(`"id":"mem-6","type":"concept_clarified","detail":"no session","session_id":"","decision_seq":1`) +
		line(`"id":"mem-7a","type":"concept_clarified","detail":"x"`) +
		line(`"id":8`) + line(`"id":"mem-9","tables":[1]`) + line(`"id":"mem-9","decision_seq":0`)
	var records []registryRecord
	bad := 0
	for _, l := range readLines([]byte(data)) {
		if r, ok := readRecord(l.object); ok {
			records = append(records, r)
		} else {
			bad++
		}
	}
	markIndexable(records)
	got := ""
	for _, r := range records {
		got += fmt.Sprintf("%t ", r.indexable)
	}
	if want := "false false false true false true true false "; got != want || bad != 3 {
		t.Errorf("got %s with %d bad lines, want %s with 3", got, bad, want)
	}
}

package extract

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// good is a ledger line with a field of its own in front.
func good(seq int, more string) string {
	if more != "" {
		more += ","
	}
	return fmt.Sprintf(`{%s"seq":%d,"ts":"2026-02-01T10:00:00Z","type":"concept_clarified","subject":"s%d"}`, more, seq, seq)
}

func parsed(t *testing.T, text string) (decision, string) {
	t.Helper()
	var r ledgerReader
	var d decision
	r.record.start([]byte(text))
	reason := r.parse(line{number: 1, text: []byte(text), ended: true}, &d)
	return d, reason
}

func TestSeq(t *testing.T) {
	for _, c := range []struct {
		seq  string
		want int64 // 0: the rule is broken
	}{
		{`1`, 1}, {`3.0`, 3}, {`3e0`, 3}, {`30e-1`, 3}, {`0.3E1`, 3}, {`300.00e-2`, 3}, {`12E+2`, 1200},
		{`"3"`, 3}, {`"0003"`, 3}, {`"\u0033"`, 3},
		{`9223372036854775807`, 9223372036854775807}, {`9223372036854775807.000`, 9223372036854775807},
		{`"9223372036854775807"`, 9223372036854775807}, {`9007199254740993`, 9007199254740993},
		{`9007199254740993.0`, 9007199254740993}, {`0.9223372036854775807e19`, 9223372036854775807},
		{`9223372036854775808`, 0}, {`"9223372036854775808"`, 0}, {`99999999999999999999`, 0},
		{`1e19`, 0}, {`1e999999999999999999999`, 0}, {`1e-999999999999999999999`, 0},
		{`0`, 0}, {`-0`, 0}, {`0e5`, 0}, {`-1`, 0}, {`2.5`, 0}, {`3.0000000000000000000001`, 0},
		{`"3.0"`, 0}, {`"+3"`, 0}, {`" 3"`, 0}, {`""`, 0}, {`"three"`, 0}, {`"٣"`, 0}, {`"0"`, 0},
		{`true`, 0}, {`[3]`, 0}, {`{"seq":3}`, 0},
	} {
		d, reason := parsed(t, `{"seq":`+c.seq+`,"ts":0,"type":"t"}`)
		if c.want == 0 && reason != reasonSeq || c.want != 0 && (reason != "" || d.seq != c.want) {
			t.Errorf("seq %s: read %d, reason %q, want %d", c.seq, d.seq, reason, c.want)
		}
	}
}

func TestPhase(t *testing.T) {
	for _, c := range []struct {
		phase string
		want  int8 // 0: none, -1: the rule is broken
	}{
		{`null`, 0}, {`1`, 1}, {`8`, 8}, {`4.0`, 4}, {`4e0`, 4}, {`"4"`, 4}, {`"F4"`, 4}, {`"\u00464"`, 4},
		{`0`, -1}, {`9`, -1}, {`-4`, -1}, {`4.5`, -1}, {`260`, -1}, {`"0"`, -1}, {`"9"`, -1}, {`"F9"`, -1},
		{`"f4"`, -1}, {`"F"`, -1}, {`"FF4"`, -1}, {`"4.0"`, -1}, {`"04"`, -1}, {`" 4"`, -1}, {`""`, -1},
		{`true`, -1}, {`[4]`, -1}, {`{}`, -1},
	} {
		d, reason := parsed(t, `{"seq":1,"ts":0,"type":"t","phase":`+c.phase+`}`)
		if c.want < 0 && reason != reasonPhase || c.want >= 0 && (reason != "" || d.phase != c.want) {
			t.Errorf("phase %s: read %d, reason %q, want %d", c.phase, d.phase, reason, c.want)
		}
	}
}

func TestLineReasons(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"seq":1,"ts":0,"type":"t"}`, ""},
		{`  {"seq":1,"ts":0,"type":"t"}` + "\t ", ""},
		{`{"seq":1,"ts":0,"type":"t","subject":null,"detail":null,"rationale":null,"phase":null}`, ""},
		{`{"seq":1,"ts":0,"type":"a type nobody knows"}`, ""},
		{`{"seq":1,"ts":0,"type":" "}`, ""},
		{`{}`, reasonSeqMissing},
		{`{"Seq":1,"ts":0,"type":"t"}`, reasonSeqMissing},
		{`{"seq":null,"ts":0,"type":"t"}`, reasonSeqMissing},
		{`{"seq":1,"type":"t"}`, reasonTSMissing},
		{`{"seq":1,"ts":null,"type":"t"}`, reasonTSMissing},
		{`{"seq":1,"ts":0}`, "type: missing"},
		{`{"seq":1,"ts":0,"type":null}`, "type: missing"},
		{`{"seq":1,"ts":0,"type":""}`, reasonTypeEmpty},
		{`{"seq":1,"ts":0,"type":7}`, reasonType},
		{`{"seq":1,"ts":"yesterday","type":"t"}`, reasonTS},
		{`{"seq":1,"ts":"","type":"t"}`, reasonTS},
		{`{"seq":1,"ts":true,"type":"t"}`, reasonTS},
		{`{"seq":1,"ts":"1769940000","type":"t"}`, reasonTS},
		{`{"seq":1,"ts":0,"type":"t","subject":7}`, "subject: not a string"},
		{`{"seq":1,"ts":0,"type":"t","detail":["a"]}`, "detail: not a string"},
		{`{"seq":1,"ts":0,"type":"t","rationale":false}`, "rationale: not a string"},
		{`[]`, reasonObject}, {`7`, reasonObject}, {`"a"`, reasonObject}, {`null`, reasonObject}, {`true`, reasonObject},
		{`{"seq":1,"ts":NaN,"type":"t"}`, reasonJSON},
		{`{"seq":1,"ts":Infinity,"type":"t"}`, reasonJSON},
		{`{"seq":1,"ts":0,"type":"t"} {}`, reasonJSON},
		{`{"seq":1,"ts":0,"type":"t"}7`, reasonJSON},
		{`{"seq":01,"ts":0,"type":"t"}`, reasonJSON},
		{`{"seq":1.,"ts":0,"type":"t"}`, reasonJSON},
		{`{"seq":+1,"ts":0,"type":"t"}`, reasonJSON},
		{`{"seq":1,"ts":0,"type":"t",}`, reasonJSON},
		{`{'seq':1}`, reasonJSON},
		{`{"seq":1,"ts":0,"type":"a` + "\t" + `b"}`, reasonJSON},
		{`{"seq":1,"ts":0,"type":"a` + "\x00" + `b"}`, reasonJSON},
		{`{"seq":1,"ts":0,"type":"\x"}`, reasonJSON},
		{`{"seq":1,"ts":0,"type":"\u12g4"}`, reasonJSON},
		{"\uFEFF" + `{"seq":1,"ts":0,"type":"t"}`, reasonJSON}, // a second one: only a file has one
		{`{"seq":1,"ts":0,"type":"` + "\xff" + `"}`, reasonUTF8},
		{`{"seq":1,"ts":0,"type":"` + "\xed\xa0\x80" + `"}`, reasonUTF8}, // a surrogate in UTF-8
	} {
		if _, got := parsed(t, c.line); got != c.want {
			t.Errorf("%s: reason %q, want %q", c.line, got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, ``}, {`plain`, `plain`}, {`perché sì`, `perché sì`}, {`a\nb\t\"c\"\\\/\b\f\r`, "a\nb\t\"c\"\\/\b\f\r"},
		{`\u0041\u00e9\u20AC`, `Aé€`}, {`\ud83d\ude00`, `😀`}, {`\u0000`, "\x00"},
		{`\ud800`, "\uFFFD"}, {`\udc00`, "\uFFFD"}, {`\ud800x`, "\uFFFDx"}, {`\ud800\u0041`, "\uFFFDA"},
		{`\ud800\ud83d\ude00`, "\uFFFD😀"}, {`\ude00\ud83d`, "\uFFFD\uFFFD"}, {`\ud800\n`, "\uFFFD\n"},
		{`\\ud800`, `\ud800`},
	} {
		d, reason := parsed(t, `{"seq":1,"ts":0,"type":"t","subject":"`+c.body+`"}`)
		if reason != "" || string(d.subject) != c.want {
			t.Errorf("%s: read %q, reason %q, want %q", c.body, d.subject, reason, c.want)
		}
	}
}

func TestRepeatedKeyTheLastCounts(t *testing.T) {
	d, reason := parsed(t, `{"seq":"x","ts":0,"type":"a","subject":7,"subject":"first","type":"b","s\u0065q":5,"subject":"last"}`)
	if reason != "" || d.seq != 5 || string(d.typ) != "b" || string(d.subject) != "last" || d.extra != nil {
		t.Errorf("read %+v, reason %q", d, reason)
	}
	if _, reason := parsed(t, `{"seq":5,"ts":0,"type":"a","seq":null}`); reason != reasonSeqMissing {
		t.Errorf("a null that comes last: reason %q", reason)
	}
}

func TestExtra(t *testing.T) {
	many, want := "", "{"
	for i := range 3 * manyKeys {
		many += fmt.Sprintf(`"k%d":%d,`, i, i)
		want += fmt.Sprintf(`"k%d":%d,`, i, i)
	}
	many += `"k1":"again"`
	want = strings.Replace(strings.TrimSuffix(want, ",")+"}", `"k1":1,`, `"k1":"again",`, 1)
	for _, c := range []struct{ members, want string }{
		{`"a":{"name":"anna","tags":[1, 2,{"k":null}]}`, `{"a":{"name":"anna","tags":[1, 2,{"k":null}]}}`},
		{`"n":1.50e+3,"big":123456789012345678901234567890`, `{"n":1.50e+3,"big":123456789012345678901234567890}`},
		{`"b":1,"a":2,"b":3`, `{"b":3,"a":2}`},
		{`"a":1,"\u0061":2`, `{"a":2}`},
		{`"\ud800":1,"\udfff":2`, `{"\ufffd":2}`},
		{`"a":"\ud800\ud83d\ude00\\ud800"`, `{"a":"\ufffd\ud83d\ude00\\ud800"}`},
		{`"a":["\udc00",{"\ud800":"\ud800\u0041"}]`, `{"a":["\ufffd",{"\ufffd":"\ufffd\u0041"}]}`},
		{`"SEQ":1,"Type":"x","":null`, `{"SEQ":1,"Type":"x","":null}`},
		{`"a":true,"b":false,"c":[],"d":{}`, `{"a":true,"b":false,"c":[],"d":{}}`},
		{many, want},
	} {
		d, reason := parsed(t, `{"seq":1,"ts":0,"type":"t",`+c.members+`}`)
		if reason != "" || string(d.extra) != c.want {
			t.Errorf("%s:\nread %s, reason %q\nwant %s", c.members, d.extra, reason, c.want)
		}
		if !json.Valid(d.extra) {
			t.Errorf("%s: not valid JSON: %s", c.members, d.extra)
		}
	}
}

func TestNesting(t *testing.T) {
	line := func(depth int) string {
		return `{"seq":1,"ts":0,"type":"t","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
	}
	for _, c := range []struct{ line, want string }{
		{line(maxDepth - 1), ""},
		{line(maxDepth), reasonDepth},
		{line(1_000_000), reasonDepth},
		{strings.Repeat(`{"a":`, 1_000_000) + "1" + strings.Repeat("}", 1_000_000), reasonDepth},
		{strings.Repeat("[", 1_000_000), reasonJSON},
		{strings.Repeat(`{"a":`, 1_000_000), reasonJSON},
		{`{"a":[1}`, reasonJSON}, {`{"a":{"b":1]}`, reasonJSON}, {`{"a":[1,]}`, reasonJSON}, {`{"a":[,1]}`, reasonJSON},
		{`{"a":{"b"}}`, reasonJSON}, {`{"a":{"b":1,}}`, reasonJSON}, {`{"a":[1 2]}`, reasonJSON},
	} {
		if _, got := parsed(t, c.line); got != c.want {
			t.Errorf("%.40s: reason %q, want %q", c.line, got, c.want)
		}
	}
}

func TestLedgerFile(t *testing.T) {
	type bad struct {
		line, offset int64
		reason       string
		degrades     bool
	}
	for _, c := range []struct {
		name, content string
		lines         int64
		seqs          []any // of the readable lines
		offsets       []any
		bad           []bad
	}{
		{"no byte", "", 0, nil, nil, nil},
		{"a byte order mark alone", "\uFEFF", 0, nil, nil, nil},
		{"blank lines", "\n  \t\r\n\u00a0\u2003\n" + good(1, "") + "\n\n", 5, []any{int64(1)}, []any{int64(12)}, nil},
		{"byte order mark, CRLF", "\uFEFF" + good(1, "") + "\r\n" + good(2, "") + "\r\n", 2, []any{int64(1), int64(2)},
			[]any{int64(0), int64(len(good(1, "")) + 5)}, nil},
		{"no newline at the end", good(1, "") + "\n" + good(2, ""), 2, []any{int64(1), int64(2)}, []any{int64(0), int64(len(good(1, "")) + 1)}, nil},
		{"torn tail", good(1, "") + "\n" + good(2, "")[:20], 2, []any{int64(1)}, []any{int64(0)},
			[]bad{{2, int64(len(good(1, "")) + 1), reasonTorn, false}}},
		{"torn in a letter", good(1, "") + "\n" + `{"a":"` + "\xc3", 2, []any{int64(1)}, []any{int64(0)},
			[]bad{{2, int64(len(good(1, "")) + 1), reasonTorn, false}}},
		{"zeros at the end", good(1, "") + "\n\x00\x00\x00", 2, []any{int64(1)}, []any{int64(0)},
			[]bad{{2, int64(len(good(1, "")) + 1), reasonTorn, false}}},
		{"blank tail", good(1, "") + "\n  ", 2, []any{int64(1)}, []any{int64(0)}, nil},
		{"valid tail that breaks a rule", `{"seq":1}`, 1, nil, nil, []bad{{1, 0, reasonTSMissing, true}}},
		{"valid tail that is no object", `12`, 1, nil, nil, []bad{{1, 0, reasonObject, true}}},
		{"torn line with a newline", good(2, "")[:20] + "\n", 1, nil, nil, []bad{{1, 0, reasonJSON, true}}},
		{"bad line between", good(1, "") + "\nrubbish\n" + good(3, "") + "\n", 3, []any{int64(1), int64(3)},
			[]any{int64(0), int64(len(good(1, "")) + 9)}, []bad{{2, int64(len(good(1, "")) + 1), reasonJSON, true}}},
		{"not UTF-8 in one line", good(1, "") + "\n\"\xff\"\n" + good(3, "") + "\n", 3, []any{int64(1), int64(3)},
			[]any{int64(0), int64(len(good(1, "")) + 5)}, []bad{{2, int64(len(good(1, "")) + 1), reasonUTF8, true}}},
		{"a CR is no line end", good(1, "") + "\r" + good(2, "") + "\n", 1, nil, nil, []bad{{1, 0, reasonJSON, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ledgerOf(t, c.content, Options{ScanID: 7})
			if len(got.ledgers) != 1 || got.ledgers[0]["lines"] != c.lines || got.ledgers[0]["fault"] != nil || got.ledgers[0]["scan_id"] != int64(7) {
				t.Errorf("ledger: %v", got.ledgers)
			}
			if seqs := pick(got.lines, "seq"); len(seqs) != len(c.seqs) || len(seqs) > 0 && !reflect.DeepEqual(seqs, c.seqs) {
				t.Errorf("seqs %v, want %v", seqs, c.seqs)
			}
			if offsets := pick(got.lines, "byte_offset"); len(offsets) > 0 && !reflect.DeepEqual(offsets, c.offsets) {
				t.Errorf("offsets %v, want %v", offsets, c.offsets)
			}
			if len(got.faults) != len(c.bad) {
				t.Fatalf("faults %v, want %v", got.faults, c.bad)
			}
			for i, want := range c.bad {
				f := got.faults[i]
				if f["line"] != want.line || f["byte_offset"] != want.offset || f["reason"] != want.reason || f["degrades"] != want.degrades ||
					f["file"] != "ledger" || f["session_key"] != int64(1) || f["excerpt"] == nil {
					t.Errorf("fault %v, want %v", f, want)
				}
			}
		})
	}
}

func TestDecisionRow(t *testing.T) {
	first := `{"seq":"4","ts":"2026-02-01 10:00:00,1234567+02:00","type":"x","subject":"è\n","phase":"F3","by":{"a":1}}` + "\n"
	got := ledgerOf(t, first+
		good(9, `"rationale":null,"detail":"d"`)+"\n", Options{ScanID: 3})
	want := []row{
		{"session_key": int64(1), "scan_id": int64(3), "line": int64(1), "byte_offset": int64(0), "seq": int64(4), "repeat_no": int64(0),
			"ts": micros(2026, 2, 1, 8, 0, 0, 123456), "type": "x", "subject": "è\n", "detail": "", "rationale": "", "phase": int8(3), "extra": `{"by":{"a":1}}`},
		{"session_key": int64(1), "scan_id": int64(3), "line": int64(2), "byte_offset": int64(len(first)), "seq": int64(9), "repeat_no": int64(0),
			"ts": micros(2026, 2, 1, 10, 0, 0, 0), "type": "concept_clarified", "subject": "s9", "detail": "d", "rationale": "", "phase": nil, "extra": nil},
	}
	if !reflect.DeepEqual(got.lines, want) {
		t.Errorf("read\n%v\nwant\n%v", got.lines, want)
	}
}

func TestRepeatNumbers(t *testing.T) {
	var content strings.Builder
	for _, seq := range []int{1, 2, 5, 2, 3, 5, 2, 1, 9} {
		content.WriteString(good(seq, "") + "\n")
	}
	content.WriteString("{bad\n" + good(2, "") + "\n")
	got := pick(ledgerOf(t, content.String(), Options{}).lines, "repeat_no")
	want := []any{int64(0), int64(0), int64(0), int64(1), int64(0), int64(1), int64(2), int64(1), int64(0), int64(3)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("repeat_no %v, want %v", got, want)
	}
}

package extract

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// lineSeeds are lines that earlier rules stumbled over or might.
func lineSeeds(f *testing.F) {
	for _, s := range []string{
		`{"seq":1,"ts":"2026-02-01T10:00:00Z","type":"concept_clarified","subject":"s","detail":"d","rationale":"r","phase":1}`,
		`{"seq":"2","ts":1769940000.123456789,"type":"x","phase":"F3","extra":{"a":[1,2,{"b":null}]},"seq":3}`,
		`{"seq":3.0,"ts":"20260201","type":"\ud83d\ude00\ud800","by":"\udc00","by":1e400}`,
		`{"id":"mem-0001","ts":null,"session_id":"s","decision_seq":4,"tables":["a","b"],"concepts":[],"origin":{}}`,
		`{"id":"x","tables":[ "a" , "\u0000" ],"concepts":null}`,
		"\uFEFF{}\r\n\n \t\n[]\n{}{}\n{\"a\":NaN}\n{\"a", "\x00\x00", "\xff\n\"\xc3", `{"a":{"a":{"a":[[[]]]}}}`, strings.Repeat("[", 20000), `"\`, `{"\u`, `{"a":-`,
	} {
		f.Add([]byte(s))
	}
}

func FuzzLedger(f *testing.F) {
	lineSeeds(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		var r ledgerReader
		var d decision
		r.record.start(content)
		for l := range lines(content) {
			if l.blank() {
				continue
			}
			checkOffset(t, content, l)
			reason := r.parse(l, &d)
			checkShape(t, &r.record, l, reason)
			checkExcerpt(t, l)
			if reason == "" {
				checkDecision(t, l, &d)
			}
		}
	})
}

func checkOffset(t *testing.T, content []byte, l line) {
	text := bytes.TrimPrefix(content[l.offset:], []byte(byteOrderMark))
	if l.offset > 0 {
		text = content[l.offset:]
	}
	if !bytes.HasPrefix(text, l.text) || l.number != int64(bytes.Count(content[:l.offset], []byte("\n")))+1 {
		t.Fatalf("line %d is not at byte %d", l.number, l.offset)
	}
}

// checkShape holds the splitter against the standard library.
func checkShape(t *testing.T, r *recordReader, l line, reason string) {
	valid := utf8.Valid(l.text) && json.Valid(l.text)
	if r.splitter.deepest >= maxDepth {
		return // where the standard library soon stops
	}
	isObject := valid && bytes.TrimLeft(l.text, " \t\r")[0] == '{'
	want := reason
	switch {
	case !valid && !l.ended:
		want = reasonTorn
	case !utf8.Valid(l.text):
		want = reasonUTF8
	case !valid:
		want = reasonJSON
	case !isObject:
		want = reasonObject
	default:
		for _, no := range []string{reasonTorn, reasonUTF8, reasonJSON, reasonObject} {
			if reason == no {
				t.Fatalf("%q is an object: %s", l.text, reason)
			}
		}
	}
	if reason != want {
		t.Fatalf("%q: reason %q, want %q", l.text, reason, want)
	}
}

// checkDecision holds the values against the standard library's, which too lets
// the last of a repeated key count and makes lone surrogates U+FFFD.
func checkDecision(t *testing.T, l line, d *decision) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(l.text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"type": d.typ, "subject": d.subject, "detail": d.detail, "rationale": d.rationale} {
		var want string
		if raw, ok := fields[name]; ok {
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
		}
		if string(got) != want || !utf8.Valid(got) {
			t.Fatalf("%s: read %q, want %q", name, got, want)
		}
	}
	if d.seq < 1 || d.phase < 0 || d.phase > 8 || d.ts < firstMicro || d.ts > lastMicro || len(d.typ) == 0 {
		t.Fatalf("out of range: %+v", d)
	}
	for _, name := range []string{"seq", "ts", "type", "subject", "detail", "rationale", "phase"} {
		delete(fields, name)
	}
	checkExtra(t, d.extra, fields)
}

func checkExtra(t *testing.T, extra []byte, want map[string]json.RawMessage) {
	if extra == nil {
		if len(want) != 0 {
			t.Fatalf("extra is missing: %v", want)
		}
		return
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(extra, &got); err != nil {
		t.Fatalf("extra %s: %v", extra, err)
	}
	if len(got) != len(want) {
		t.Fatalf("extra %s, want %v", extra, want)
	}
	for name, raw := range want {
		if !bytes.Equal(got[name], appendMended(nil, raw)) {
			t.Fatalf("extra %q: %s, want %s", name, got[name], raw)
		}
	}
}

func checkExcerpt(t *testing.T, l line) {
	for _, full := range []bool{false, true} {
		if e := excerpt(l.text, full); utf8.RuneCountInString(e) > excerptLength || !utf8.ValidString(e) {
			t.Fatalf("excerpt %q", e)
		}
	}
}

func FuzzRegistry(f *testing.F) {
	lineSeeds(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		var r registryReader
		var m memoryLine
		r.record.start(content)
		for l := range lines(content) {
			if l.blank() {
				continue
			}
			reason := r.parse(l, &m)
			checkShape(t, &r.record, l, reason)
			if reason != "" {
				continue
			}
			var want struct{ Tables, Concepts []string }
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(l.text, &fields); err != nil {
				t.Fatal(err)
			}
			checkList(t, m.tables, fields["tables"], want.Tables)
			checkList(t, m.concepts, fields["concepts"], want.Concepts)
			for _, text := range m.texts {
				if !utf8.Valid(text) {
					t.Fatalf("%q is not UTF-8", text)
				}
			}
			for _, name := range append([]string{"ts", "decision_seq", "tables", "concepts"}, textNames()...) {
				delete(fields, name)
			}
			checkExtra(t, m.extra, fields)
		}
	})
}

func textNames() []string {
	names := memoryTextNames()
	return names[:]
}

func checkList(t *testing.T, got [][]byte, raw json.RawMessage, want []string) {
	if raw != nil {
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("read %q, want %q", got, want)
	}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Fatalf("read %q, want %q", got, want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	for _, s := range []string{
		"id: s\nquestion: \"How?\"\nstatus: open\n", "id: 007\nquestion: no\ncreated_at: 2026-01-01\n", "a: &a [*a]\nid: *a\n", "? [a]\n: b\n",
		"question: |+\n  a\n\n", "question: >\n a\n  b\n", "id: \"\\u00e9\\ud800\"\n", "---\n...\n---\n", "\uFEFFid: s", "id: a\u0085b\u2028", "{id: s, x: {y: [z]}}",
		"id: !!binary aGk=\nquestion: !!null x\nstatus: ! null", "<<: {id: s}\n", "- \n- - -", "id: a: b", "id: a #b", "\t", "%TAG ! x\n---\nid: s", "id: \"a\\\n  b\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<16 {
			return
		}
		m := readManifest(content)
		m.check("s")
		if utf8.Valid(content) {
			sameAsYAML(t, string(content))
		}
		if m.reason == "" && (m.values[manifestID] != "s" || !m.read) {
			t.Fatalf("%q: good, and its id is %q", content, m.values[manifestID])
		}
		for _, v := range m.values {
			if !utf8.ValidString(v) {
				t.Fatalf("%q: %q is not UTF-8", content, v)
			}
		}
	})
}

package extract

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestManifestTexts(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{ // of the key question
		{`question: How many?`, "How many?"},
		{`question: no`, "no"}, {`question: yes`, "yes"}, {`question: true`, "true"}, {`question: 007`, "007"},
		{`question: 0x1F`, "0x1F"}, {`question: 1_000`, "1_000"}, {`question: .inf`, ".inf"}, {`question: 2026-01-01`, "2026-01-01"},
		{`question: 12:30:00`, "12:30:00"}, {`question: !!int "3"`, "3"}, {`question: !!str null`, "null"}, {`question: !!binary aGk=`, "aGk="},
		{`question: null`, ""}, {`question: Null`, ""}, {`question: NULL`, ""}, {`question: ~`, ""}, {`question:`, ""}, {`question: # why`, ""},
		{`question: !!null null`, ""}, {`question: nULL`, "nULL"}, {`question: None`, "None"}, {`question: nil`, "nil"},
		{`question: "null"`, "null"}, {`question: 'null'`, "null"}, {`question: "~"`, "~"}, {`question: ""`, ""}, {"question: |\n  null", "null"},
		{`question: "a\nb\u00e9\"\\"`, "a\nbé\"\\"}, {`question: 'it''s'`, "it's"}, {`question: "  spaces  "`, "  spaces  "},
		{"question: |\n  one\n  two\n", "one\ntwo\n"}, {"question: |-\n  one\n  two\n", "one\ntwo"}, {"question: |+\n  one\n\n", "one\n\n"},
		{"question: >\n  one\n  two\n", "one two\n"}, {"question: one\n  two\n", "one two"}, {"question: |\r\n  one\r\n  two\r\n", "one\ntwo\n"},
		{"database: &q How?\nquestion: *q", "How?"}, {`"question": How?`, "How?"}, {"? question\n: How?", "How?"}, {`{question: How, x: [1]}`, "How"},
		{"---\nquestion: How?\n...\n", "How?"}, {"\uFEFFquestion: How?", "How?"}, {"%YAML 1.1\n---\nquestion: How?", "How?"},
		{"question: How? # a comment", "How?"}, {"question: a#b", "a#b"}, {"question: perché: no", "-"}, {"question: a: b", "-"},
		{"other: {a: [1, 2]}\nquestion: How?\n1: x\n[a]: b\n", "How?"}, {"Question: x\nquestion: How?", "How?"},
		{"other: 1\nother: 2\nquestion: How?", "How?"},
	} {
		m := readManifest([]byte("id: s\n" + c.yaml))
		if strings.Contains("{%-?\xef", c.yaml[:1]) {
			m = readManifest([]byte(c.yaml))
		}
		if c.want == "-" {
			if m.reason == "" {
				t.Errorf("%q was read as %q", c.yaml, m.values[manifestQuestion])
			}
			continue
		}
		if got := m.values[manifestQuestion]; m.reason != "" || got != c.want {
			t.Errorf("%q: read %q, reason %q, want %q", c.yaml, got, m.reason, c.want)
		}
	}
}

func TestManifestReasons(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += strings.ReplaceAll("N: &N [*P, *P, *P, *P, *P, *P, *P, *P, *P]\n", "N", string(c))
		bomb = strings.ReplaceAll(bomb, "P", string(c-1))
	}
	for _, c := range []struct{ name, yaml, want string }{
		{"good", "id: s", ""},
		{"empty", "", "empty"}, {"blank", "\n\n", "empty"}, {"a comment", "# nothing", "empty"},
		{"a text", "hello", "not a mapping"}, {"a list", "- id: s", "not a mapping"}, {"null", "~", "not a mapping"},
		{"two documents", "id: s\n---\nid: t\n", "more than one document"}, {"an empty second one", "id: s\n---\n", "more than one document"},
		{"a broken second one", "id: s\n---\n[", "not valid YAML: line 3"},
		{"not UTF-8", "id: \xff", "not UTF-8"}, {"UTF-16", "\xff\xfei\x00d\x00", "not UTF-8"},
		{"a tab", "id: s\n\tquestion: x", "not valid YAML: line 2"}, {"a control", "id: s\nquestion: \x01", "not valid YAML"},
		{"an open quote", "id: s\nquestion: \"Rossi", "not valid YAML: line 2"}, {"an unknown alias", "id: *Rossi", "not valid YAML"},
		{"a surrogate", `question: "\ud83d\ude00"`, "not valid YAML"}, {"an escape of JSON alone", `question: "\/"`, "not valid YAML"},
		{"a list for a text", "id: s\nquestion: [a]", "question: not a scalar"}, {"a mapping for a text", "id: s\nstatus: {a: b}", "status: not a scalar"},
		{"an alias to a list", "x: &x [a]\nid: s\nschema: *x", "schema: not a scalar"},
		{"a key twice", "id: s\nid: s", "id: given twice"}, {"a quoted key twice", "id: s\nquestion: a\n\"question\": b", "question: given twice"},
		{"no id", "question: x", "id: missing"}, {"a null id", "id: null", "id: missing"},
		{"another id", "id: t", "id: not the name of the directory"}, {"another spelling", "id: S", "id: not the name of the directory"},
		{"an alias bomb", bomb + "id: s", ""},
		{"an alias in itself", "x: &x [*x]\nid: s", ""},
		{"deep", "id: s\nx: " + strings.Repeat("[", 100_000), "not valid YAML"},
		{"deep blocks", "id: s\nx: " + strings.Repeat("- ", 100_000), "not valid YAML"},
		{"large", "id: s\nx: " + strings.Repeat("a", maxManifest), "larger than 4 MiB"},
	} {
		start := time.Now()
		m := readManifest([]byte(c.yaml))
		m.check("s")
		if m.reason != c.want && !(c.want == "not valid YAML" && strings.HasPrefix(m.reason, c.want)) {
			t.Errorf("%s: reason %q, want %q", c.name, m.reason, c.want)
		}
		if strings.Contains(m.reason, "Rossi") {
			t.Errorf("%s: the reason quotes the text: %s", c.name, m.reason)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: took %s", c.name, took)
		}
	}
}

// What can be read of an invalid manifest is kept.
func TestInvalidManifestKeepsItsTexts(t *testing.T) {
	m := readManifest([]byte("id: other\nquestion: How?\nstatus: [a]\nschema: public"))
	if !m.read || m.values[manifestQuestion] != "How?" || m.values[manifestSchema] != "public" || m.values[manifestStatus] != "" {
		t.Errorf("read %q", m.values)
	}
}

func TestManifestRow(t *testing.T) {
	r := newTree(t)
	r.write("a", r.Manifest, "id: a\ncreated_at: 2026-02-01 08:00:00\nquestion: How?\nstatus: open\nupdated_at: \"1769940000.5\"\nupdated_by: null\n")
	r.write("b", r.Manifest, "id: [")
	r.write("c", r.Manifest, "id: x\ncreated_at: yesterday\nupdated_at: 20260201\n")
	r.dir("d")
	got := r.scan(r.list(), Options{ScanID: 5})
	want := map[int64]row{
		1: {"id": "a", "created_at": "2026-02-01 08:00:00", "question": "How?", "database": "", "schema": "", "status": "open",
			"updated_at": "1769940000.5", "updated_by": "", "created_utc": micros(2026, 2, 1, 8, 0, 0, 0), "updated_utc": int64(1769940000_500000)},
		2: {"fault": "not valid YAML: line 1"},
		3: {"fault": "id: not the name of the directory", "id": "x", "created_at": "yesterday", "question": "", "database": "", "schema": "",
			"status": "", "updated_at": "20260201", "updated_by": "", "updated_utc": micros(2026, 2, 1, 0, 0, 0, 0)},
		4: {"fault": reasonNoManifest},
	}
	if len(got.manifests) != len(want) {
		t.Fatalf("rows %v", got.manifests)
	}
	for _, m := range got.manifests {
		key := m["session_key"].(int64)
		for _, field := range ManifestSchema().Fields()[2:] {
			if m[field.Name] != want[key][field.Name] {
				t.Errorf("session %d, %s: %v, want %v", key, field.Name, m[field.Name], want[key][field.Name])
			}
		}
	}
	if len(got.faults) != 3 {
		t.Errorf("faults %v", got.faults)
	}
	for _, f := range got.faults {
		if f["file"] != "manifest" || f["line"] != nil || f["byte_offset"] != nil || f["excerpt"] != nil || f["degrades"] != true || f["scan_id"] != int64(5) {
			t.Errorf("fault %v", f)
		}
	}
}

// The fast way reads what the YAML parser reads, or gives up.
func TestFlatManifestAgreesWithYAML(t *testing.T) {
	if !sameAsYAML(t, benchManifest("s")) || !sameAsYAML(t, "id: 007\nquestion: perché no?\nschema: null\n") {
		t.Error("the fast way was not taken")
	}
	hostile := rapid.OneOf(
		rapid.StringMatching(`[ -~]{0,12}`),
		rapid.StringMatching(`"([ -~à-ü]|\\["\\/bfnrtu0ax]){0,8}"`),
		rapid.StringMatching(`[a-zA-Z0-9é][a-z0-9 :#,.?!'"&*%@{}\[\]|>~-]{0,12}`),
		rapid.SampledFrom([]string{"null", "Null", "NULL", "~", "no", "<<", "|", ">", "-", "?", ":", "a:b", "a :b", "a: b", "a #b", "a#b",
			"a\u0085b", "a\u2028b", "\u00a0", "\uFEFF"}),
		rapid.String(),
	)
	value := rapid.OneOf(rapid.StringMatching(`[a-z0-9]{1,8}`), rapid.StringMatching(`"[ -!#-\[\]-~]{0,8}"`), hostile)
	key := rapid.OneOf(rapid.SampledFrom([]string{"id", "question", "status", "other", "null", "y"}), rapid.StringMatching(`[a-z_]{1,4}`),
		rapid.StringMatching(`[a-z_ -?"]{0,4}`))
	colon := rapid.SampledFrom([]string{": ", ": ", ": ", ": ", ": ", ":", ":  ", " : "})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			text.WriteString(key.Draw(t, "key") + colon.Draw(t, "colon") + value.Draw(t, "value") + "\n")
		}
		sameAsYAML(t, text.String())
	})
}

type failer interface {
	Fatalf(format string, args ...any)
}

func sameAsYAML(t failer, text string) (taken bool) {
	flat, ok := flatManifest([]byte(text))
	if !ok {
		return false
	}
	if slow := yamlManifest([]byte(text)); slow != flat {
		t.Fatalf("%q:\nfast %+v\nYAML %+v", text, flat, slow)
	}
	return true
}

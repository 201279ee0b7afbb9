package record_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/record"
)

func builder(t *testing.T, layout record.Layout, lines ...string) record.Builder {
	t.Helper()
	if lines == nil {
		lines = record.DefaultTemplate()
	}
	template, err := record.ParseTemplate(lines)
	if err != nil {
		t.Fatal(err)
	}
	return record.Builder{Workspace: "w", Layout: layout, Template: template}
}

func fullMemory() record.Memory {
	seq, ts := int64(9223372036854775807), time.Date(2026, 1, 2, 4, 4, 5, 6000, time.FixedZone("", 3600))
	return record.Memory{
		ID: "mem-0001", Type: "concept_clarified", Subject: "Età media <25>", Detail: "in \"anni\"\\\nline two",
		Rationale: "perché\u2028serve", QuestionContext: "qual è l'età?", Tables: []string{"t", "u"},
		Concepts: []string{"età", "media"}, SessionID: "s/1", DecisionSeq: &seq, TS: &ts,
	}
}

// The hashes were computed apart from this program, with Python's hashlib and
// json, from the rules alone.
func TestHashesOfMemory(t *testing.T) {
	const content = "2d7deea81a7ab9eea6e3fa640f07069b3895676c5250a08e3275e9df84cc452b"
	for layout, payload := range map[record.Layout]string{
		record.Flat:   "3a108e17c27e780ffbb589d3d3c510de0697c3bd9e03c011909c9bf958c1c2ed",
		record.Nested: "ccc61a6129202bc96b911e39e61aceed48b87a103e58826625460577c388e3df",
	} {
		r, err := builder(t, layout).Memory(fullMemory())
		if err != nil {
			t.Fatal(err)
		}
		if r.ContentHash != content || r.TextHash != content || r.PayloadHash != payload {
			t.Errorf("%s: %s %s %s", layout, r.ContentHash, r.TextHash, r.PayloadHash)
		}
		if r.Key != "memory:mem-0001" || r.Kind != "memory" || r.Ref != "mem-0001" || r.Title != "Età media <25>" {
			t.Errorf("%+v", r)
		}
	}
	bare := builder(t, record.Flat)
	bare.Workspace = ""
	r, err := bare.Memory(record.Memory{ID: "mem-7", Type: "concept_clarified", Subject: "x"})
	if err != nil || r.Content != "concept_clarified: x" ||
		r.ContentHash != "4bf3e73385dffb07d07654d6cdadabd2439f907248429984df6b1e114683d29e" ||
		r.PayloadHash != "4fb45785cc739bef90a4c163ea5b5821144b1b857be40a13abb8f1fbe0f60e34" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestHashesOfASolvedPair(t *testing.T) {
	pair := record.Solved{SessionID: "a b", Question: "Quanti ricoveri?\x00\x01\x1f\b\f\t\r\n\x7f", SQL: "SELECT 1\nFROM \"t\" -- é", Tables: []string{"b", "a"}}
	for layout, payload := range map[record.Layout]string{
		record.Flat:   "0847b5a8fed65173e0a23b29ab361dbd199b64e5f4e83b60edff54f7e322f4e4",
		record.Nested: "317eb09d9fdb4c314f486caeca76167338da33405e7036d16ebeeeb4aa5fb70e",
	} {
		r, err := builder(t, layout).Solved(pair)
		if err != nil {
			t.Fatal(err)
		}
		if r.ContentHash != "977e2aed95894aba99373b9808285c8314df66a0642ebe1429537e8857750e5d" ||
			r.TextHash != "d94e202c7700f3813b69d2a24816d64f72eae3c9abdcf17c93c67ade68d11adf" || r.PayloadHash != payload {
			t.Errorf("%s: %s %s %s", layout, r.ContentHash, r.TextHash, r.PayloadHash)
		}
		if r.Key != "solved:a b" || r.Kind != "solved_question" || r.Ref != "a b" || r.Content != pair.Question {
			t.Errorf("%+v", r)
		}
	}
	if record.Hash("") != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Error("hash of nothing")
	}
}

// As Python's uuid.uuid5(uuid.NAMESPACE_URL, "tht:" + key).
func TestPointID(t *testing.T) {
	for key, want := range map[string]string{
		"memory:mem-0001": "ce6ab6d8-99f1-5c0c-a0a9-db26307301de",
		"solved:a b":      "3c5df587-9229-5e57-a6f4-60c74fb1b25f",
		"solved:è":        "2cb45a2f-b7b5-5216-86cb-7d81e17ae921",
	} {
		if got := record.PointID(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

func TestOnlyReusableTypesBecomeRecords(t *testing.T) {
	for decisionType, want := range map[string]bool{
		"concept_clarified": true, "": false, "table_promoted": false, "table_excluded": false, "Concept_clarified": false,
		" concept_clarified": false, "concept_clarified\n": false, "memory_promoted": false,
	} {
		m := fullMemory()
		m.Type = decisionType
		_, err := builder(t, record.Flat).Memory(m)
		if record.Reusable(decisionType) != want || (err == nil) != want {
			t.Errorf("%q: %t, %v", decisionType, record.Reusable(decisionType), err)
		}
		if err != nil && (strings.Contains(err.Error(), m.Subject) || !strings.Contains(err.Error(), "memory:mem-0001")) {
			t.Errorf("%q: %v", decisionType, err)
		}
	}
}

func TestTitlesEndAfter120CodePoints(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, strings.Repeat("è", 119): 119, strings.Repeat("è", 120): 120, strings.Repeat("\U0001f986", 121): 120, strings.Repeat("e\u0300", 61): 120,
	} {
		r, err := builder(t, record.Flat).Solved(record.Solved{Question: text})
		if err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(r.Title); n != want || !strings.HasPrefix(text, r.Title) || r.Content != text {
			t.Errorf("%d code points of %d", n, utf8.RuneCountInString(text))
		}
	}
}

func TestTemplate(t *testing.T) {
	m := fullMemory()
	m.Tables = nil
	for _, test := range []struct {
		lines []string
		m     record.Memory
		want  string
	}{
		{nil, m, "concept_clarified: Età media <25>\nin \"anni\"\\\nline two\nperché\u2028serve\nqual è l'età?\nconcepts: età, media"},
		{nil, record.Memory{Type: "t"}, "t: "},
		{nil, record.Memory{Type: "t", Detail: " "}, "t: \n "}, // blank is not empty
		{nil, record.Memory{Type: "t", Tables: []string{""}}, "t: \ntables: "},
		{[]string{"{subject}", "tables: {tables}."}, m, "Età media <25>"},
		{[]string{"{tables}{concepts}"}, m, ""}, // a line that names a list which is empty
		{[]string{"[{subject}|{detail}]"}, record.Memory{Subject: "{detail}", Detail: "d"}, "[{detail}|d]"},
		{[]string{"no names", "", "{subject}"}, record.Memory{Subject: "s"}, "no names\ns"},
		{[]string{"{Subject} { subject } {subject"}, record.Memory{Subject: "s"}, "{Subject} { subject } {subject"},
		{[]string{"{rationale}{question_context}"}, record.Memory{}, ""},
	} {
		template := record.DefaultTemplate()
		if test.lines != nil {
			template = test.lines
		}
		parsed, err := record.ParseTemplate(template)
		if err != nil {
			t.Errorf("%q: %v", template, err)
			continue
		}
		if got := parsed.Content(test.m); got != test.want {
			t.Errorf("%q:\n is   %q\n want %q", template, got, test.want)
		}
	}
	for _, lines := range [][]string{nil, {}, {"{subject}", "{other}"}, {"{id}"}, {"{session_id}"}} {
		if _, err := record.ParseTemplate(lines); err == nil {
			t.Errorf("%q is a template", lines)
		}
	}
	if _, err := record.ParseTemplate([]string{"{subject}", "{other}"}); err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "other") {
		t.Errorf("%v", err)
	}
}

func TestPayload(t *testing.T) {
	at := time.Date(2026, 1, 2, 4, 0, 0, 5, time.FixedZone("", 3600))
	for _, layout := range []record.Layout{record.Flat, record.Nested} {
		r, err := builder(t, layout).Memory(fullMemory())
		if err != nil {
			t.Fatal(err)
		}
		p := r.Payload("space", "run", at)
		if p["indexed_at"] != "2026-01-02T03:00:00.000000005Z" || p["embed_space"] != "space" || p["run_id"] != "run" || p["payload_hash"] != r.PayloadHash || p["workspace"] != "w" {
			t.Errorf("%s: %v", layout, p)
		}
		metadata := p
		if nested, ok := p["metadata"].(map[string]any); ok != (layout == record.Nested) {
			t.Fatalf("%s: metadata is %T", layout, p["metadata"])
		} else if ok {
			metadata = nested
		}
		if metadata["decision_seq"] != int64(9223372036854775807) || metadata["ts"] != "2026-01-02T03:04:05.000006Z" || metadata["type"] != "concept_clarified" {
			t.Errorf("%s: %v", layout, metadata)
		}
		// What a run adds does not change the hash.
		again, err := builder(t, layout).Memory(fullMemory())
		if err != nil || again.PayloadHash != r.PayloadHash {
			t.Errorf("%s: %s, then %s, %v", layout, r.PayloadHash, again.PayloadHash, err)
		}
	}
}

// Each field that belongs to a record changes its payload hash; the content
// hash changes exactly when the content does.
func TestEveryFieldCounts(t *testing.T) {
	changes := []func(*record.Memory){
		func(m *record.Memory) { m.Subject += "x" }, func(m *record.Memory) { m.Detail += "x" }, func(m *record.Memory) { m.Rationale += "x" },
		func(m *record.Memory) { m.QuestionContext += "x" }, func(m *record.Memory) { m.Tables = append(m.Tables, "x") },
		func(m *record.Memory) { m.Concepts = append(m.Concepts, "x") }, func(m *record.Memory) { m.SessionID += "x" },
		func(m *record.Memory) { m.DecisionSeq = nil }, func(m *record.Memory) { m.TS = nil }, func(m *record.Memory) { m.ID += "1" },
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := fullMemory()
		text := rapid.StringN(0, 200, -1)
		m.Subject, m.Detail, m.Rationale = text.Draw(rt, "subject"), text.Draw(rt, "detail"), text.Draw(rt, "rationale")
		layout := rapid.SampledFrom([]record.Layout{record.Flat, record.Nested}).Draw(rt, "layout")
		b := builder(t, layout)
		before, err := b.Memory(m)
		if err != nil {
			rt.Fatal(err)
		}
		rapid.SampledFrom(changes).Draw(rt, "change")(&m)
		after, err := b.Memory(m)
		if err != nil {
			rt.Fatal(err)
		}
		if before.PayloadHash == after.PayloadHash {
			rt.Fatalf("a change that no hash shows: %+v", m)
		}
		if (before.Content == after.Content) != (before.ContentHash == after.ContentHash) || after.TextHash != after.ContentHash {
			rt.Fatalf("content and its hash disagree: %+v", m)
		}
		if after.Size() < len(after.Content)+len(after.Title) {
			rt.Fatalf("%d bytes", after.Size())
		}
	})
	other := builder(t, record.Flat)
	one, _ := other.Memory(fullMemory())
	other.Workspace = "other"
	two, _ := other.Memory(fullMemory())
	if one.PayloadHash == two.PayloadHash || one.ContentHash != two.ContentHash {
		t.Error("the workspace is a part of the payload and not of the content")
	}
}

// A corrected query is written although the question, and so the vector, stays.
func TestSolvedHashCoversTheSQL(t *testing.T) {
	b := builder(t, record.Flat)
	one, _ := b.Solved(record.Solved{SessionID: "s", Question: "q", SQL: "SELECT 1"})
	two, _ := b.Solved(record.Solved{SessionID: "s", Question: "q", SQL: "SELECT 2"})
	if one.ContentHash == two.ContentHash || one.TextHash != two.TextHash || one.PayloadHash == two.PayloadHash {
		t.Errorf("%+v\n%+v", one, two)
	}
	// A line feed that moves from one to the other is no change of the hash of the
	// content, as the rule has it; the payload tells them apart.
	three, _ := b.Solved(record.Solved{SessionID: "s", Question: "q\n1", SQL: "2"})
	four, _ := b.Solved(record.Solved{SessionID: "s", Question: "q", SQL: "1\n2"})
	if three.ContentHash != four.ContentHash || three.PayloadHash == four.PayloadHash || three.TextHash == four.TextHash {
		t.Errorf("%+v\n%+v", three, four)
	}
}

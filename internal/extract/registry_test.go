package extract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"
)

type registryRows struct {
	memories, faults []row
	calls            int
	RegistryResult
}

func registryOf(t testing.TB, path string, known *Stamp, o Options) registryRows {
	t.Helper()
	var out registryRows
	result, err := ReadRegistry(context.Background(), path, known, o, func(memories, faults arrow.RecordBatch) error {
		out.calls++
		out.memories = append(out.memories, rowsOf(memories)...)
		out.faults = append(out.faults, rowsOf(faults)...)
		return nil
	})
	must(t, err)
	out.RegistryResult = result
	return out
}

func registryFile(t testing.TB, content string) string {
	path := filepath.Join(t.TempDir(), "registry.jsonl")
	must(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func TestMemoryRow(t *testing.T) {
	first := `{"id":"mem-0001","ts":"2026-02-01T09:00:00Z","session_id":"s","decision_seq":"4","type":"concept_clarified","subject":"è","detail":"a\nb",` +
		`"rationale":"r","question_context":"q","tables":["t1", "t\u0032"],"concepts":[ ],"origin":{"tool":"old"},"n":1.0}`
	got := registryOf(t, registryFile(t, "\uFEFF"+first+"\r\n\n"+`{"id":""}`+"\n"+`{"id":"x","ts":null,"session_id":null,"decision_seq":null,`+
		`"type":null,"subject":null,"detail":null,"rationale":null,"question_context":null,"tables":null,"concepts":["\ud800",""]}`), nil, Options{})
	empty := row{"ts": nil, "session_id": "", "decision_seq": nil, "type": "", "subject": "", "detail": "", "rationale": "", "question_context": "",
		"tables": []string{}, "concepts": []string{}, "extra": nil}
	with := func(more row) row {
		out := row{}
		for _, r := range []row{empty, more} {
			for k, v := range r {
				out[k] = v
			}
		}
		return out
	}
	third := int64(len(first) + 6)
	want := []row{
		{"line": int64(1), "byte_offset": int64(0), "id": "mem-0001", "ts": micros(2026, 2, 1, 9, 0, 0, 0), "session_id": "s", "decision_seq": int64(4),
			"type": "concept_clarified", "subject": "è", "detail": "a\nb", "rationale": "r", "question_context": "q", "tables": []string{"t1", "t2"},
			"concepts": []string{}, "extra": `{"origin":{"tool":"old"},"n":1.0}`},
		with(row{"line": int64(3), "byte_offset": third, "id": ""}),
		with(row{"line": int64(4), "byte_offset": third + 10, "id": "x", "concepts": []string{"\uFFFD", ""}}),
	}
	if !reflect.DeepEqual(got.memories, want) {
		t.Errorf("read\n%v\nwant\n%v", got.memories, want)
	}
	if got.Lines != 4 || got.Records != 3 || got.Bad != 0 || len(got.faults) != 0 || got.Unchanged {
		t.Errorf("result %+v, faults %v", got.RegistryResult, got.faults)
	}
}

func TestMemoryReasons(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"id":"mem-1"}`, ""}, {`{"id":"anything"}`, ""}, {`{"id":"mem-1","type":"a type nobody knows","ts":1769940000}`, ""},
		{`{}`, "id: missing"}, {`{"id":null}`, "id: missing"}, {`{"ID":"mem-1"}`, "id: missing"}, {`{"id":7}`, "id: not a string"},
		{`{"id":"a","ts":"soon"}`, reasonTS}, {`{"id":"a","ts":[]}`, reasonTS}, {`{"id":"a","ts":""}`, reasonTS},
		{`{"id":"a","decision_seq":0}`, "decision_" + reasonSeq}, {`{"id":"a","decision_seq":"x"}`, "decision_" + reasonSeq}, {`{"id":"a","decision_seq":3.0}`, ""},
		{`{"id":"a","session_id":7}`, "session_id: not a string"}, {`{"id":"a","type":[]}`, "type: not a string"},
		{`{"id":"a","subject":{}}`, "subject: not a string"}, {`{"id":"a","detail":true}`, "detail: not a string"},
		{`{"id":"a","rationale":1}`, "rationale: not a string"}, {`{"id":"a","question_context":1}`, "question_context: not a string"},
		{`{"id":"a","tables":"t"}`, "tables: not a list of strings"}, {`{"id":"a","tables":[1]}`, "tables: not a list of strings"},
		{`{"id":"a","tables":["t",null]}`, "tables: not a list of strings"}, {`{"id":"a","tables":["t",["u"]]}`, "tables: not a list of strings"},
		{`{"id":"a","concepts":{"a":"b"}}`, "concepts: not a list of strings"}, {`{"id":"a","concepts":["a" , "b" ]}`, ""},
		{`{"id":"a","id":7}`, "id: not a string"}, {`{"id":7,"id":"a"}`, ""},
		{`[{"id":"a"}]`, reasonObject}, {`{broken`, reasonJSON}, {`{"id":"a"}{"id":"b"}`, reasonJSON}, {"\"\xff\"", reasonUTF8},
	} {
		got := registryOf(t, registryFile(t, c.line+"\n"+`{"id":"after"}`+"\n"), nil, Options{ScanID: 4})
		if c.want == "" {
			if len(got.memories) != 2 || got.Bad != 0 {
				t.Errorf("%s: %v", c.line, got.faults)
			}
			continue
		}
		want := []row{{"session_key": nil, "file": "registry", "scan_id": int64(4), "line": int64(1), "byte_offset": int64(0), "reason": c.want,
			"excerpt": excerpt([]byte(c.line), false), "degrades": true}}
		if !reflect.DeepEqual(got.faults, want) || got.Bad != 1 || got.Records != 1 {
			t.Errorf("%s: faults %v, want %v", c.line, got.faults, want)
		}
	}
	got := registryOf(t, registryFile(t, `{"id":"a"}`+"\n{broken"), nil, Options{})
	if len(got.faults) != 1 || got.faults[0]["reason"] != reasonTorn || got.faults[0]["degrades"] != false || got.faults[0]["line"] != int64(2) {
		t.Errorf("a torn tail: %v", got.faults)
	}
}

func TestRegistryStamps(t *testing.T) {
	path := registryFile(t, `{"id":"a"}`+"\n")
	first := registryOf(t, path, nil, Options{})
	if first.Unchanged || first.calls != 1 {
		t.Fatalf("first: %+v", first)
	}
	racy := registryOf(t, path, &first.Stamp, Options{Now: later})
	if !racy.Unchanged || racy.calls != 0 || racy.Stamp == first.Stamp {
		t.Errorf("read again within the window: %+v", racy)
	}
	settled := registryOf(t, path, &racy.Stamp, Options{})
	if !settled.Unchanged || settled.calls != 0 || settled.Stamp != racy.Stamp {
		t.Errorf("settled: %+v", settled)
	}
	if again := registryOf(t, path, &racy.Stamp, Options{Rescan: true}); again.Unchanged || again.calls != 1 {
		t.Errorf("rescan: %+v", again)
	}
	must(t, os.Chtimes(path, time.Now(), time.Now().Add(-time.Hour)))
	if touched := registryOf(t, path, &racy.Stamp, Options{}); !touched.Unchanged || touched.Stamp == racy.Stamp {
		t.Errorf("touched: %+v", touched)
	}
	must(t, os.WriteFile(path, []byte(`{"id":"b"}`+"\n"), 0o644))
	if changed := registryOf(t, path, &racy.Stamp, Options{}); changed.Unchanged || changed.memories[0]["id"] != "b" {
		t.Errorf("changed: %+v", changed)
	}
	must(t, os.WriteFile(path, nil, 0o644))
	if empty := registryOf(t, path, &racy.Stamp, Options{}); empty.Unchanged || empty.calls != 0 || empty.Stamp.Size != 0 {
		t.Errorf("emptied: %+v", empty)
	}
}

func TestRegistryErrors(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	emit := func(_, _ arrow.RecordBatch) error { return nil }
	for _, path := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "none", "none")} {
		if _, err := ReadRegistry(ctx, path, nil, Options{}, emit); !errors.Is(err, ErrNoRegistry) || !strings.Contains(err.Error(), path) {
			t.Errorf("missing: %v", err)
		}
	}
	fifo := filepath.Join(dir, "fifo")
	must(t, unix.Mkfifo(fifo, 0o644))
	for _, path := range []string{dir, fifo} {
		if _, err := ReadRegistry(ctx, path, nil, Options{}, emit); err == nil || errors.Is(err, ErrNoRegistry) {
			t.Errorf("no regular file: %v", err)
		}
	}
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(registryFile(t, `{"id":"a"}`), link))
	if got := registryOf(t, link, nil, Options{}); got.Records != 1 {
		t.Errorf("through a link: %+v", got)
	}
	broken := errors.New("broken")
	if _, err := ReadRegistry(ctx, link, nil, Options{}, func(_, _ arrow.RecordBatch) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("emit's error: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	long := registryFile(t, strings.Repeat("\n", 2*linesBetweenCtx)+`{"id":"a"}`)
	if _, err := ReadRegistry(stopped, long, nil, Options{}, emit); !errors.Is(err, context.Canceled) {
		t.Errorf("a dead context: %v", err)
	}
}

func TestRegistryBatches(t *testing.T) {
	var content strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&content, `{"id":"mem-%04d","concepts":["c%d"]}`+"\n", i, i)
	}
	got := registryOf(t, registryFile(t, content.String()), nil, Options{BatchBytes: 1000})
	if got.calls < 20 || len(got.memories) != 1000 || got.Records != 1000 {
		t.Errorf("%d calls, %d rows", got.calls, len(got.memories))
	}
	for i, m := range got.memories {
		if m["line"] != int64(i+1) || !reflect.DeepEqual(m["concepts"], []string{fmt.Sprintf("c%d", i)}) {
			t.Fatalf("row %d: %v", i, m)
		}
	}
}

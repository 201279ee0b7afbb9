//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// publishTest exports a warehouse as a publication does, and opens it.
func publishTest(t *testing.T, db *DB) *Published {
	t.Helper()
	dir := t.TempDir()
	if err := db.ExportDatabase(t.Context(), filepath.Join(dir, PublishedFile)); err != nil {
		t.Fatal(err)
	}
	// The runs are newer than the file, as on a night on which nothing else changed.
	if err := db.SetRuns(t.Context(), []Run{{RunID: "r1"}, {RunID: "r2"}}); err != nil {
		t.Fatal(err)
	}
	if err := db.ExportParquet(t.Context(), "runs", filepath.Join(dir, ParquetFile("runs"))); err != nil {
		t.Fatal(err)
	}
	p, err := OpenPublished(t.Context(), dir, duck.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// twoSessions has a session with all that a reader asks for, and a degraded one.
func twoSessions(t *testing.T) *DB {
	t.Helper()
	db := openTest(t)
	give(t, db, "parsed.session", parseCSV(t, "session_key,session_id\n1,a\n2,bad\n"))
	give(t, db, "parsed.manifest", parseCSV(t, "session_key\n1\n2\n"))
	give(t, db, "parsed.fault", parseCSV(t, "session_key,file,line,reason,degrades\n2,ledger,3,no object,true\n"))
	give(t, db, "parsed.memory_line", parseCSV(t, `line,id,ts,session_id,decision_seq,type,subject,tables
1,mem-0001,2026-01-02,a,1,concept_clarified,stay,"[t, u]"
2,mem-0002,,"",,table_promoted,x,[]
`))
	give(t, db, "parsed.ledger_line", parseCSV(t, `session_key,seq,type,subject,detail,rationale
1,1,concept_clarified,stay,d1,r1
1,2,concept_clarified,ward,d2,like mem-0001
1,3,memory_rejected,mem-0009,"",""
1,4,concept_clarified,bed,"",""
1,5,sql_approved,"","",""
1,6,phase_reopened,phase:7,"",""
2,1,concept_clarified,stay,"",""
2,2,sql_approved,"","",""
2,3,phase_reopened,phase:7,"",""
`))
	if err := db.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Derive(t.Context(), Accept{}); err != nil || n != 2 {
		t.Fatalf("%d derived, %v", n, err)
	}
	return db
}

func TestPublishedAnswersTheSearches(t *testing.T) {
	ctx := t.Context()
	p := publishTest(t, twoSessions(t))

	memories, err := p.Memories(ctx, []string{"mem-0001", "mem-0002", "mem-0404"})
	if err != nil || len(memories) != 1 {
		t.Fatalf("%v %v", memories, err)
	}
	m := memories["mem-0001"]
	if m.Subject != "stay" || !slices.Equal(m.Tables, []string{"t", "u"}) || *m.DecisionSeq != 1 || m.TS.Year() != 2026 {
		t.Errorf("%+v", m)
	}
	decided, err := p.Decided(ctx, "a")
	if err != nil || len(decided) != 2 || !decided["mem-0001"] || !decided["mem-0009"] {
		t.Errorf("decided %v %v", decided, err)
	}
	if decided, err = p.Decided(ctx, "unknown"); err != nil || len(decided) != 0 {
		t.Errorf("decided %v %v", decided, err)
	}
	// Of a degraded session nobody can know whether an approval holds.
	lost, err := p.ApprovalLost(ctx, []string{"a", "bad", "unknown"})
	if err != nil || len(lost) != 1 || !lost["a"] {
		t.Errorf("lost %v %v", lost, err)
	}
	candidates, err := p.Candidates(ctx, "a")
	if err != nil || len(candidates) != 3 {
		t.Fatalf("%v %v", candidates, err)
	}
	for i, want := range []struct {
		seq    int64
		status string
		rank   int64
		reuses string
	}{{2, "proposed", 1, "mem-0001"}, {4, "proposed", 2, ""}, {1, "promoted", 0, ""}} {
		c := candidates[i]
		if *c.DecisionSeq != want.seq || c.Status != want.status || c.Rank != want.rank || c.ReusesMemoryID != want.reuses || c.SessionID != "a" {
			t.Errorf("candidate %d: %+v, want %+v", i, c, want)
		}
	}
	if candidates, err = p.Candidates(ctx, "bad"); err != nil || len(candidates) != 0 {
		t.Errorf("candidates of a degraded session %v %v", candidates, err)
	}
	for id, want := range map[string]*SessionState{"a": {"ok", "", true}, "bad": {"degraded", "line 3: no object", false}, "unknown": nil} {
		got, err := p.Session(ctx, id)
		if err != nil || (got == nil) != (want == nil) || (got != nil && *got != *want) {
			t.Errorf("%s: %v %v", id, got, err)
		}
	}
}

func noRows(values []any) error    { return nil }
func noNames(names []string) error { return nil }

func TestPublishedQueryReadsTheViewsAndNothingElse(t *testing.T) {
	p := publishTest(t, twoSessions(t))
	for _, v := range Views() {
		if err := p.Query(t.Context(), "SELECT * FROM "+v.Name, noNames, noRows); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
	var runs []any
	if err := p.Query(t.Context(), "SELECT run_id FROM runs ORDER BY 1", noNames, func(row []any) error { runs = append(runs, row...); return nil }); err != nil ||
		!slices.Equal(runs, []any{"r1", "r2"}) {
		t.Errorf("runs are %v, %v", runs, err)
	}
	for statement, id := range map[string]string{
		"DROP TABLE sessions":                            "query_refused",
		"DELETE FROM sessions; SELECT 1":                 "query_refused",
		"INSERT INTO runs (run_id) VALUES ('x')":         "query_refused",
		"SELECT * FROM read_text('/etc/passwd')":         "query_refused",
		"SELECT * FROM '/etc/passwd'":                    "query_refused",
		"COPY sessions TO '/tmp/never'":                  "query_refused",
		"SET lock_configuration = false":                 "query_refused",
		"":                                               "query_refused",
		"SELECT nothing":                                 "query_failed",
		"SELECT * FROM parsed.ledger_line":               "query_failed",
		"SELEC 1":                                        "query_failed",
		"SELECT CAST(subject AS INTEGER) FROM decisions": "query_failed",
		"SELECT error(subject) FROM decisions":           "query_failed",
	} {
		err := p.Query(t.Context(), statement, noNames, noRows)
		var classified *fault.Error
		if !errors.As(err, &classified) || classified.ID != id || classified.Code != fault.Usage {
			t.Errorf("%q: %v, want %s", statement, err, id)
			continue
		}
		// Neither the statement nor a text of a session is in what may be logged.
		if text := err.Error(); strings.Contains(text, "stay") || (statement != "" && strings.Contains(text, statement)) {
			t.Errorf("%q: the error quotes it: %s", statement, text)
		}
	}
}

func TestPublishedQueryEndsWithItsContext(t *testing.T) {
	p := publishTest(t, openTest(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- p.Query(ctx, "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 7", noNames, noRows)
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// An error of whoever takes the rows comes back as it is.
func TestPublishedQueryReturnsTheErrorOfItsReceiver(t *testing.T) {
	p := publishTest(t, openTest(t))
	full := errors.New("no space left")
	if err := p.Query(t.Context(), "SELECT 1", func([]string) error { return full }, noRows); !errors.Is(err, full) {
		t.Errorf("header: %v", err)
	}
	if err := p.Query(t.Context(), "SELECT 1", noNames, func([]any) error { return full }); !errors.Is(err, full) {
		t.Errorf("row: %v", err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	open := func(path string) *fault.Error {
		p, err := OpenPublished(t.Context(), path, duck.Options{Threads: 1})
		var classified *fault.Error
		if !errors.As(err, &classified) {
			t.Fatalf("%s: %v %v", path, p, err)
		}
		return classified
	}
	if err := open(filepath.Join(dir, "current")); err.Code != fault.Usage || err.ID != "nothing_published" || err.Path == "" {
		t.Errorf("missing: %v", err)
	}
	if err := open(dir); err.Code != fault.Failed || err.Path == "" {
		t.Errorf("empty: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, PublishedFile), []byte(strings.Repeat("garbage ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(dir); err.Code != fault.Failed || !strings.Contains(err.Path, dir) {
		t.Errorf("garbage: %v", err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "current")); err != nil {
		t.Fatal(err)
	}
	if err := open(filepath.Join(dir, "current")); err.ID != "nothing_published" {
		t.Errorf("a link to nowhere: %v", err)
	}
}

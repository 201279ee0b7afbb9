package extract

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// benchTree is the artifacts tree that THT_BENCH_ARTIFACTS names, or a small one
// made here.
func benchTree(b *testing.B) (Layout, []Session) {
	b.Helper()
	root := os.Getenv("THT_BENCH_ARTIFACTS")
	if root == "" {
		root = b.TempDir()
		for i := range 2000 {
			dir := filepath.Join(root, "sessions", fmt.Sprintf("session-%06d", i))
			must(b, os.MkdirAll(dir, 0o755))
			must(b, os.WriteFile(filepath.Join(dir, "manifest.yaml"), []byte(benchManifest(filepath.Base(dir))), 0o644))
			must(b, os.WriteFile(filepath.Join(dir, "review_decisions.jsonl"), []byte(benchLedger(10)), 0o644))
			if i%10 > 0 {
				must(b, os.WriteFile(filepath.Join(dir, "sql_final.sql"), []byte("SELECT count(*)\nFROM fact_visits\n"), 0o644))
			}
		}
	}
	l := DefaultLayout(root)
	return l, listed(b, l)
}

func listed(tb testing.TB, l Layout) []Session {
	tb.Helper()
	entries, _, err := List(context.Background(), l)
	must(tb, err)
	sessions := make([]Session, len(entries))
	for i, e := range entries {
		sessions[i] = Session{Key: int64(i + 1), ID: e.ID, Link: e.Link}
	}
	return sessions
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func benchManifest(id string) string {
	return "id: " + id + "\n" + `created_at: "2026-01-05T08:00:00+00:00"
question: "How many visits did the clinic record in 2025, per month and department?"
database: "clinic"
schema: "public"
status: "finalized"
updated_at: "2026-01-05T08:40:12+00:00"
updated_by: "anna"
`
}

func benchLedger(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `{"seq": %d, "ts": "2026-01-05T08:%02d:00+00:00", "type": "concept_clarified", "subject": "active patient", `+
			`"detail": "a patient with at least one visit in the last twelve months", "rationale": "confirmed", "phase": 1}`+"\n", i+1, i%60)
	}
	return s.String()
}

func cpu(b *testing.B) time.Duration {
	var r unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// perSession reports CPU time, which other work on the machine disturbs less than
// the clock.
func perSession(b *testing.B, sessions int, run func()) {
	b.Helper()
	start := cpu(b)
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(cpu(b)-start)/float64(b.N)/float64(sessions), "cpu-ns/session")
}

// BenchmarkColdRead reads everything; BenchmarkColdFloor only opens and reads the
// same files.
func BenchmarkColdRead(b *testing.B) {
	l, sessions := benchTree(b)
	var stats Stats
	perSession(b, len(sessions), func() {
		var err error
		stats, err = Read(context.Background(), l, sessions, Options{}, func(*Batch) error { return nil })
		must(b, err)
	})
	b.SetBytes(stats.Bytes)
}

func BenchmarkColdFloor(b *testing.B) {
	l, sessions := benchTree(b)
	var total int64
	perSession(b, len(sessions), func() {
		total = 0
		buf := make([]byte, 1<<20)
		for _, s := range sessions {
			for _, name := range []string{l.Manifest, l.Ledger, l.SQL} {
				f, err := os.Open(filepath.Join(l.SessionsPath(), s.ID, name))
				if err != nil {
					continue
				}
				for {
					n, err := f.Read(buf)
					total += int64(n)
					if err != nil {
						break
					}
				}
				f.Close()
			}
		}
	})
	b.SetBytes(total)
}

// BenchmarkUnchanged looks at a tree that the stamps know; BenchmarkUnchangedFloor
// only calls lstat on the same names.
func BenchmarkUnchanged(b *testing.B) {
	l, sessions := benchTree(b)
	known := tree{b, l}.scan(sessions, Options{Now: later}).known(sessions)
	perSession(b, len(sessions), func() {
		stats, err := Read(context.Background(), l, known, Options{}, func(*Batch) error { return nil })
		must(b, err)
		if stats.SessionsRead != 0 {
			b.Fatal("read a session that did not change")
		}
	})
}

func BenchmarkUnchangedFloor(b *testing.B) {
	l, sessions := benchTree(b)
	perSession(b, len(sessions), func() {
		for _, s := range sessions {
			for _, name := range []string{l.Manifest, l.Ledger, l.SQL} {
				os.Lstat(filepath.Join(l.SessionsPath(), s.ID, name))
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	l, sessions := benchTree(b)
	perSession(b, len(sessions), func() {
		_, _, err := List(context.Background(), l)
		must(b, err)
	})
}

func BenchmarkLedgerLines(b *testing.B) {
	content := []byte(benchLedger(1000))
	r, t := new(ledgerReader), newTables(Options{})
	defer t.release()
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		_, err := r.read(context.Background(), content, ledgerRows{t, 1})
		must(b, err)
		t.sessions++
		t.take().release()
	}
}

func BenchmarkManifest(b *testing.B) {
	content := []byte(benchManifest("session-1"))
	b.Run("flat", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := flatManifest(content); !ok {
				b.Fatal("the fast way was not taken")
			}
		}
	})
	b.Run("yaml", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if m := yamlManifest(content); m.reason != "" {
				b.Fatal(m.reason)
			}
		}
	})
}

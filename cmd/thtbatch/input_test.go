package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var garbage = strings.Repeat("no file of DuckDB", 2000)

// bad is an input or a state directory that something is wrong with.
type bad struct {
	name  string
	spoil func(t *testing.T, dir string) // of a night that was done; nil leaves it
	argv  string
	code  int
	path  string // that is named, relative to the directory
	says  string // the remedy
}

// Everything that can be wrong on disk is an error that names the path and says
// what to do, with the exit code for it, the same for people and for programs;
// nothing is written to the state directory but the list of runs, and nothing of
// the artifacts is touched.
func TestBadInput(t *testing.T) {
	night := nightDone(t)
	in := func(parts ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { put(t, filepath.Join(dir, parts[0]), strings.Join(parts[1:], "")) }
	}
	gone := func(path string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { remove(t, filepath.Join(dir, path)) }
	}
	emptied := func(path string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, path))
			if err := os.Mkdir(filepath.Join(dir, path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []bad{
		{"no artifacts, first run", gone("state"), "backfill --artifacts nowhere", 2, "nowhere", "--artifacts"},
		{"artifacts are a file, first run", both(gone("state"), in("file", "x")), "backfill --artifacts file", 2, "file", "--artifacts"},
		{"empty artifacts, first run", both(gone("state"), emptied("artifacts")), "backfill", 2, "artifacts/sessions", "--artifacts"},
		{"no artifacts", gone("artifacts"), "backfill", 6, "artifacts/sessions", "--accept-gone"},
		{"empty artifacts", emptied("artifacts"), "backfill", 6, "artifacts/sessions", "--accept-gone"},
		{"no sessions", emptied("artifacts/sessions"), "backfill", 6, "artifacts/sessions", "--accept-gone"},
		{"no sessions, dry run", emptied("artifacts/sessions"), "backfill --dry-run", 6, "artifacts/sessions", "--accept-gone"},
		{"sessions are a file", both(gone("artifacts/sessions"), in("artifacts/sessions", "x")), "backfill", 6, "artifacts/sessions", "--accept-gone"},
		{"two sessions of five gone", both(gone("artifacts/sessions/s-open"), gone("artifacts/sessions/s-torn")), "backfill", 6, "artifacts/sessions", "--accept-gone"},
		{"registry of 0 bytes", in("artifacts/memory/registry.jsonl"), "backfill", 6, "artifacts/memory/registry.jsonl", "--accept-gone"},
		{"registry gone", gone("artifacts/memory"), "backfill", 6, "artifacts/memory/registry.jsonl", "--accept-gone"},
		{"registry is a directory", emptied("artifacts/memory/registry.jsonl"), "backfill", 6, "artifacts/memory/registry.jsonl", "Restore"},
		{"registry is a directory, first run", both(gone("state"), emptied("artifacts/memory/registry.jsonl")), "backfill", 2, "artifacts/memory/registry.jsonl", "right to read"},

		{"a path for a session", nil, "backfill --session ../x", 3, "artifacts/sessions", "not a path"},
		{"a path for a session, first run", gone("state"), "backfill --session ../x", 3, "artifacts/sessions", "not a path"},
		{"a path for a session to show", nil, "candidates --session ../artifacts/sessions/s-open", 3, "", "not a path"},
		{"a path for a session to index", nil, "solved-index ../sessions/s-active", 3, "artifacts/sessions", "not a path"},

		{"state of a newer version", in("state/VERSION", "2\n"), "backfill", 2, "state", "newer program"},
		{"state of a newer version, reading", in("state/VERSION", "2\n"), "search ward", 2, "state", "newer program"},
		{"state of a newer version, doctor", in("state/VERSION", "2\n"), "doctor", 2, "", ""},
		{"state of no version", in("state/VERSION", "\x00"), "backfill", 1, "state/VERSION", "backup"},
		{"state is a file", in("file", "x"), "backfill --state file", 2, "file", "--state"},
		{"state is a file, reading", in("file", "x"), "runs --state file", 2, "file", "--state"},
		{"state below a file", in("file", "x"), "backfill --state file/state", 2, "file/state", "--state"},
		{"state inside the artifacts", nil, "backfill --state artifacts/state", 2, "artifacts/state", "--state"},
		{"state is somebody else's", nil, "backfill --state artifacts/sessions/../../artifacts --artifacts artifacts/sessions/..", 2, "artifacts", "--state"},
		{"state holds files of something else", in("precious", "x"), "backfill --state . --artifacts artifacts", 2, "", "--state"},

		{"no configuration", nil, "backfill -c none.yaml", 2, "none.yaml", "thtbatch init"},
		{"configuration is a directory", nil, "backfill -c artifacts", 2, "artifacts", "thtbatch init"},
		{"configuration is no YAML", in("c.yaml", "a: [b\n"), "backfill -c c.yaml", 2, "c.yaml", "thtbatch init"},
		{"configuration with an unknown key", in("c.yaml", "index:\n  bacth: 3\n"), "backfill -c c.yaml", 2, "c.yaml", "index.batch"},

		{"damaged warehouse", in("state/warehouse.duckdb", garbage), "backfill", 1, "state/warehouse.duckdb", "move that file away"},
		{"damaged warehouse, report", in("state/warehouse.duckdb", garbage), "report", 1, "state/warehouse.duckdb", "move that file away"},
		{"damaged index", in("state/index/local.duckdb", garbage), "backfill", 1, "state/index/local.duckdb", "move it away"},
		{"damaged index, one session", in("state/index/local.duckdb", garbage), "solved-index s-active", 1, "state/index/local.duckdb", "move it away"},
		{"damaged copy of the index", in("state/index/search.duckdb", garbage), "search ward", 1, "state/index/search.duckdb", "thtbatch backfill"},
		{"damaged copy of the index, solved", in("state/index/search.duckdb", garbage), "solved-search ward", 1, "state/index/search.duckdb", "thtbatch backfill"},
		{"damaged publication", in("state/published/current/thtbatch.duckdb", garbage), "query SHOW+TABLES", 1, "state/published", "thtbatch report"},
		{"damaged list of published runs", in("state/published/current/runs.parquet", garbage), "candidates --session s-open", 1, "state/published", "thtbatch report"},
		{"publication without its files", gone("state/published/current/thtbatch.duckdb"), "search ward", 1, "state/published", "thtbatch report"},
		{"damaged known sessions", in("state/known", "{\"sessions\": 9}\ns-open\n"), "backfill", 1, "state/known", "delete that file"},
		{"damaged retractions", in("state/retractions.jsonl", "no JSON\n"), "backfill", 1, "state/retractions.jsonl", "backup"},
		{"publications are a file", both(gone("state/published"), in("state/published", "x")), "report", 1, "state/published", "thtbatch report"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, night)
			if c.spoil != nil {
				c.spoil(t, dir)
			}
			c.check(t, dir)
		})
	}
}

func (c bad) check(t *testing.T, dir string) {
	argv := strings.Fields(c.argv)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "+", " ")
	}
	// What a job may add to: how it ended, and a file of DuckDB that it opened.
	may := []string{"runs.jsonl", "lock", "warehouse.duckdb", "copy", "state", "index"}
	if strings.Contains(c.name, "warehouse") || c.argv == "report" {
		may = []string{"runs.jsonl", "lock", "copy", "state"}
	}
	if strings.Contains(c.name, "publications") { // computed, and not shown
		may = append(may, "warehouse.duckdb")
	}
	before := contentOf(t, dir, may...)
	for _, arg := range []string{"--quiet", "--json"} {
		o := process(t, dir, append(argv, arg)...)
		if o.code != c.code {
			t.Errorf("exit %d instead of %d: %s", o.code, c.code, o)
		}
		said := o.stderr
		if arg == "--json" {
			doc, err := onlyDocument([]byte(o.stdout))
			if err != nil {
				t.Fatalf("%v: %s", err, o)
			}
			message, _ := within(doc, "error.message")
			hint, _ := within(doc, "error.hint")
			said, _ = message.(string)
			if h, ok := hint.(string); ok {
				said += "\n" + h
			}
		} else if c.argv != "doctor" && o.stdout != "" {
			t.Errorf("standard output: %s", o)
		}
		if !strings.Contains(said, c.path) || !strings.Contains(said, c.says) {
			t.Errorf("does not name %q and say %q: %s", c.path, c.says, o)
		}
		if strings.Contains(said, "Something went wrong") || strings.Contains(said, "!.") || strings.Contains(said, "..\n") {
			t.Errorf("is not a sentence for a person: %s", o)
		}
	}
	if after := contentOf(t, dir, may...); after != before {
		t.Errorf("something was written or lost:\n%s", difference(before, after))
	}
}

func both(a, b func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		a(t, dir)
		b(t, dir)
	}
}

// difference is the lines that only one of two texts has.
func difference(a, b string) string {
	var out strings.Builder
	for line := range strings.Lines(a) {
		if !strings.Contains(b, line) {
			out.WriteString("- " + line)
		}
	}
	for line := range strings.Lines(b) {
		if !strings.Contains(a, line) {
			out.WriteString("+ " + line)
		}
	}
	return out.String()
}

// What is damaged and can be done without is told and worked around.
func TestDamageThatStopsNobody(t *testing.T) {
	night := nightDone(t)
	for _, c := range []struct{ name, path, content, says string }{
		{"runs", "state/runs.jsonl", "no JSON\n", "runs.jsonl"},
		{"refusals", "state/refusals.jsonl", "no JSON\n", "refusals.jsonl"},
		{"contents of the publication", "state/published/current/contents.json", "{", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, night)
			put(t, filepath.Join(dir, c.path), c.content)
			o := must(t, dir, "backfill", "--quiet")
			if !strings.Contains(o.stderr, c.says) || c.says == "" && o.stderr != "" {
				t.Errorf("%s", o)
			}
			o = must(t, dir, "query", "--csv", "SELECT count(*) AS n FROM sessions")
			if o.stdout != "n\n5\n" {
				t.Errorf("%s", o)
			}
		})
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// oddNames are names of sessions that a file system allows and a careless
// program falls over: in SQL, in a shell, on a terminal, in a list of lines.
func oddNames() []string {
	return []string{
		"it's; DROP TABLE sessions; --", `a "quoted" \ name`, "perché—日本語", "two\nlines", "\x1b]0;owned\x07\x1b[31mred\x1b[0m",
		"=HYPERLINK(1)", "tab\tand\rreturn", "c1\u009b31m", "right\u202eleft", "%s%d{{.path}}", "-rf", "a,b", "*",
	}
}

// plantOdd makes a tree whose directory, sessions and texts have every odd name,
// each session with a solved pair and a Memory candidate.
func plantOdd(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's a \"dir\" — ünï\x1b[1m")
	var registry strings.Builder
	for i, name := range oddNames() {
		session := filepath.Join(dir, "artifacts", "sessions", name)
		if err := os.MkdirAll(session, 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(session, "manifest.yaml"), fmt.Sprintf("id: %q\nquestion: %q\nstatus: finalized\n", name, "how many "+name))
		put(t, filepath.Join(session, "review_decisions.jsonl"), fmt.Sprintf(
			"{\"seq\":1,\"ts\":\"2026-01-01\",\"type\":\"concept_clarified\",\"subject\":%s,\"detail\":\"d\"}\n"+
				"{\"seq\":2,\"ts\":\"2026-01-01\",\"type\":\"sql_approved\"}\n", jsonText(name)))
		put(t, filepath.Join(session, "sql_final.sql"), "SELECT "+name)
		fmt.Fprintf(&registry, "{\"id\":\"mem-%04d\",\"session_id\":%s,\"decision_seq\":9,\"type\":\"concept_clarified\",\"subject\":%s}\n",
			i+1, jsonText(name), jsonText("word "+name))
	}
	// One that is skipped, and said so.
	if err := os.Symlink("nowhere", filepath.Join(dir, "artifacts", "sessions", "gone\x1b[2J")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "artifacts", "memory"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "artifacts", "memory", "registry.jsonl"), registry.String())
	return dir
}

// Every name arrives as it is where programs read, and nothing of it drives a
// terminal where people do.
func TestOddNames(t *testing.T) {
	dir := plantOdd(t)
	n := len(oddNames())
	o := must(t, dir, "backfill", "--json", "--log-level", "debug")
	quiet(t, "backfill", o)
	doc, err := onlyDocument([]byte(o.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if inserted, _ := within(doc, "inserted"); fmt.Sprint(inserted) != fmt.Sprint(2*n) {
		t.Errorf("%v records of %d", inserted, 2*n)
	}
	rows, err := onlyDocument([]byte(must(t, dir, "query", "--json", "SELECT session_id FROM sessions WHERE state = 'ok'").stdout))
	if err != nil {
		t.Fatal(err)
	}
	if count, _ := within(rows, "length"); count != n {
		t.Errorf("%v sessions of %d", count, n)
	}
	for _, argv := range [][]string{
		{"backfill"}, {"backfill", "--dry-run", "--rescan"}, {"report"}, {"doctor"}, {"doctor", "--json"}, {"runs"}, {"search", "word", "--top", "50"},
		{"search", "word", "--top", "50", "--json"}, {"solved-search", "how many", "--top", "50"}, {"solved-search", "how many", "--top", "50", "--json"},
		{"query", "SELECT * FROM sessions"}, {"query", "--csv", "SELECT * FROM sessions"}, {"query", "--json", "SELECT * FROM decisions"},
		{"query", "--csv", "SELECT 1 AS \"\x1b[2J\""}, {"solved-index", "--json", oddNames()[4]}, {"solved-index", oddNames()[3]}, {"demo"},
	} {
		quiet(t, strings.Join(argv, " "), must(t, dir, argv...))
	}
	for _, name := range oddNames() {
		quiet(t, "candidates", must(t, dir, "candidates", "--session="+name))
		o := process(t, dir, "candidates", "--json", "--session", name+"x")
		quiet(t, "candidates", o)
		if o.code != 3 {
			t.Errorf("%q: %s", name, o)
		}
	}
	if o := must(t, dir, "query", "--csv", "SELECT session_id FROM sessions ORDER BY 1"); strings.Contains(o.stdout, "\n=HYPER") {
		t.Errorf("a formula: %s", o)
	}
	if o := must(t, dir, "backfill"); !strings.Contains(o.stdout, `gone\x1b[2J`) {
		t.Errorf("what was skipped is not named: %s", o)
	}
	// The list of known sessions holds every name: taking most away is noticed.
	sessions := filepath.Join(dir, "artifacts", "sessions")
	for _, name := range oddNames()[:4] {
		remove(t, filepath.Join(sessions, name))
	}
	o = process(t, dir, "backfill", "--quiet")
	quiet(t, "backfill", o)
	if o.code != 6 || !strings.Contains(o.stderr, fmt.Sprintf("Only %d of the %d", n-4, n)) {
		t.Error(o)
	}
}

// quiet: nothing in the output drives a terminal.
func quiet(t *testing.T, what string, o outcome) {
	t.Helper()
	for _, text := range []string{o.stdout, o.stderr} {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\r' }) >= 0 {
				t.Errorf("%s: %q drives a terminal", what, line)
			}
		}
	}
}

func jsonText(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(text)
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marker stands in every text of every file. Ids and names of directories are
// keys, and keys may be shown.
const marker = "ZQXMARKER"

// plantMarked makes a tree with the marker wherever a text can stand, in good
// files and in files that are broken in every way.
func plantMarked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const (
		good  = "id: ID\nquestion: how many ZQXMARKER\ndatabase: ZQXMARKER\nschema: ZQXMARKER\nstatus: finalized\nupdated_by: ZQXMARKER\ncreated_at: ZQXMARKER\nZQXMARKER: ZQXMARKER\n"
		fine  = `{"seq":1,"ts":"2026-01-01","type":"concept_clarified","subject":"ZQXMARKER","detail":"ZQXMARKER","rationale":"ZQXMARKER","ZQXMARKER":{"ZQXMARKER":"ZQXMARKER"}}` + "\n"
		done  = `{"seq":2,"ts":"2026-01-01","type":"sql_approved","subject":"ZQXMARKER","detail":"ZQXMARKER","rationale":"ZQXMARKER"}` + "\n"
		known = `{"seq":3,"ts":"2026-01-01","type":"ZQXMARKER","subject":"ZQXMARKER"}` + "\n"
		query = "SELECT ZQXMARKER\n"
	)
	session := func(id, manifest, ledger, sql string) {
		path := filepath.Join(dir, "artifacts", "sessions", id)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"manifest.yaml": manifest, "review_decisions.jsonl": ledger, "sql_final.sql": sql} {
			if content != "" {
				put(t, filepath.Join(path, name), strings.ReplaceAll(content, "ID", id))
			}
		}
	}
	session("s-good", good, fine+done+known, query)
	for id, line := range map[string]string{
		"s-not-json":    "ZQXMARKER ZQXMARKER\n",
		"s-string":      `"ZQXMARKER"` + "\n",
		"s-no-seq":      `{"seq":"ZQXMARKER","ts":"2026-01-01","type":"ZQXMARKER"}` + "\n",
		"s-no-ts":       `{"seq":9,"ts":"ZQXMARKER","type":"ZQXMARKER","detail":"ZQXMARKER"}` + "\n",
		"s-no-type":     `{"seq":9,"ts":"2026-01-01","type":["ZQXMARKER"],"detail":"ZQXMARKER"}` + "\n",
		"s-no-text":     `{"seq":9,"ts":"2026-01-01","type":"x","detail":{"ZQXMARKER":1}}` + "\n",
		"s-no-phase":    `{"seq":9,"ts":"2026-01-01","type":"x","phase":"ZQXMARKER"}` + "\n",
		"s-two-values":  `{"seq":9,"ts":"2026-01-01","type":"x"} "ZQXMARKER"` + "\n",
		"s-repeat":      `{"seq":1,"ts":"2026-01-01","type":"concept_clarified","subject":"ZQXMARKER again"}` + "\n",
		"s-withdrawal":  `{"seq":9,"ts":"2026-01-01","type":"decision_withdrawn","subject":"ZQXMARKER","detail":"seq:ZQXMARKER"}` + "\n",
		"s-reopening":   `{"seq":9,"ts":"2026-01-01","type":"phase_reopened","subject":"phase:ZQXMARKER"}` + "\n",
		"s-marker":      `{"seq":9,"ts":"2026-01-01","type":"memory_promoted","detail":"seq:77 ZQXMARKER"}` + "\n",
		"s-nested":      `{"seq":9,"ZQXMARKER":` + strings.Repeat("[", 20000) + "\n",
		"s-torn":        `{"seq":9,"ts":"ZQXMARKER`,
		"s-not-utf8":    "{\"seq\":9,\"ts\":\"2026-01-01\",\"type\":\"ZQXMARKER \xff\"}\n",
		"s-key-escapes": `{"\u005a\u0051XMARKER":1,"seq":0}` + "\n",
	} {
		session(id, good, fine+done+line, query)
	}
	for id, manifest := range map[string]string{
		"m-list":     "- ZQXMARKER\n",
		"m-open":     "id: m-open\nquestion: [ZQXMARKER\n",
		"m-alias":    "id: m-alias\nquestion: *ZQXMARKER\n",
		"m-tab":      "id: m-tab\n\tZQXMARKER: ZQXMARKER\n",
		"m-twice":    "id: m-twice\nquestion: ZQXMARKER\nquestion: ZQXMARKER\n",
		"m-deep":     "id: m-deep\nquestion: {ZQXMARKER: ZQXMARKER}\n",
		"m-other":    "id: ZQXMARKER\nquestion: ZQXMARKER\n",
		"m-two":      "id: m-two\n---\nZQXMARKER\n",
		"m-quote":    "id: m-quote\nquestion: \"ZQXMARKER\n",
		"m-tag":      "id: m-tag\nquestion: !ZQXMARKER x\nstatus: !!int ZQXMARKER\n",
		"m-not-utf8": "id: m-not-utf8\nquestion: ZQXMARKER \xff\n",
	} {
		session(id, manifest, fine+"ZQXMARKER\n", query)
	}
	session("q-not-utf8", good, fine+done, "SELECT ZQXMARKER \xff")
	registry := `{"id":"mem-0001","ts":"2026-01-01","session_id":"s-good","decision_seq":1,"type":"concept_clarified","subject":"ZQXMARKER","detail":"ZQXMARKER","rationale":"ZQXMARKER","question_context":"ZQXMARKER","tables":["ZQXMARKER"],"concepts":["ZQXMARKER"],"ZQXMARKER":"ZQXMARKER"}
{"id":"mem-0002","type":"ZQXMARKER","subject":"ZQXMARKER"}
{"id":"mem-0003","type":"table_promoted","subject":"ZQXMARKER"}
{"id":"mem-0004","type":"concept_clarified","subject":["ZQXMARKER"]}
{"id":"mem-0005","type":"concept_clarified","tables":"ZQXMARKER"}
{"id":"mem-0006","ts":"ZQXMARKER","type":"concept_clarified"}
{"id":{"ZQXMARKER":1}}
{"id":"mem-0001","type":"concept_clarified","subject":"ZQXMARKER twice"}
"ZQXMARKER"
ZQXMARKER
{"id":"mem-0007","type":"concept_clarified","subject":"ZQXMARK`
	if err := os.Mkdir(filepath.Join(dir, "artifacts", "memory"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "artifacts", "memory", "registry.jsonl"), registry)
	return dir
}

// No command but those that are for showing texts ever says one: not on standard
// output, not in a message, a log, the list of runs, a reason or an excerpt.
func TestNoTextIsEverTold(t *testing.T) {
	dir := plantMarked(t)
	debug := func(argv ...string) []string { return append(argv, "--log-level", "debug") }
	said := 0
	silent := func(code int, argv []string) {
		t.Helper()
		o := process(t, dir, argv...)
		if o.code != code {
			t.Errorf("%q: exit %d instead of %d: %.2000s", argv, o.code, code, o)
		}
		said += len(o.stdout) + len(o.stderr)
		tells(t, strings.Join(argv, " "), o.stdout)
		tells(t, strings.Join(argv, " "), o.stderr)
	}
	silent(0, debug("backfill", "--dry-run"))
	silent(0, debug("backfill", "--dry-run", "--json"))
	silent(0, debug("backfill"))
	silent(0, debug("backfill", "--rescan", "--accept-degraded"))
	silent(0, debug("backfill", "--lang", "it"))
	silent(3, debug("backfill", "--strict"))
	silent(3, debug("backfill", "--strict", "--json"))
	silent(0, debug("report"))
	silent(0, debug("report", "--json"))
	silent(0, debug("doctor"))
	silent(0, debug("doctor", "--json"))
	silent(0, debug("runs"))
	silent(0, debug("runs", "--json"))
	silent(0, debug("jobs", "--json"))
	silent(0, debug("solved-index", "s-good"))
	silent(0, debug("query", "SELECT * FROM quarantine"))
	silent(0, debug("query", "--csv", "SELECT path, line, reason, excerpt FROM quarantine"))
	silent(0, debug("query", "--json", "SELECT session_id, path, state, reason FROM sessions"))
	silent(0, debug("query", "--json", "SELECT * FROM index_plan"))
	silent(0, debug("query", "--json", "SELECT * FROM runs"))
	silent(0, debug("query", "--json", "SELECT memory_id, skip_reason FROM memories"))
	silent(0, debug("query", "--json", "SELECT session_id, skip_reason FROM solved_questions"))
	silent(0, debug("query", "--json", "SELECT * FROM index_records"))

	// What fails, for people and for programs. The texts of the command line are
	// texts too: a question, and an SQL statement that a log has no business with.
	for _, more := range []string{"--quiet", "--json"} {
		for id := range map[string]bool{"s-not-json": true, "m-open": true, "m-alias": true, "q-not-utf8": true} {
			silent(3, debug("solved-index", id, more))
		}
		silent(3, debug("candidates", "--session", "s-no-ts", more))
		silent(3, debug("candidates", "--session", "m-twice", more))
		for _, expression := range []string{"CAST(question AS INTEGER)", "json_extract(question, '$.a')", "error(question)", "question::DATE",
			"strptime(question, '%Y')", "(question || '')::DECIMAL(3, 1)", "list_value(question)[1]::BLOB::VARCHAR::INTERVAL"} {
			silent(2, debug("query", "SELECT "+expression+" FROM sessions WHERE session_id = 's-good'", more))
		}
		silent(2, debug("search", more, marker, marker))
		silent(2, debug("serch", marker, more))
		silent(2, debug("query", more, "SELECT 1", marker))
	}
	for _, argv := range [][]string{debug("query", "SELEC '"+marker+"'"), debug("query", "SELECT '"+marker+"'::INTEGER"), debug("query", "SELECT "+marker+" FROM sessions")} {
		o := process(t, dir, argv...)
		for line := range strings.Lines(o.stderr) {
			if strings.HasPrefix(line, "time=") {
				tells(t, strings.Join(argv, " "), line)
			}
		}
	}
	for _, name := range []string{"runs.jsonl", "known", "lock", "VERSION", "refusals.jsonl", "published/current/contents.json"} {
		content, err := os.ReadFile(filepath.Join(dir, "state", name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		tells(t, name, string(content))
	}

	// The test can fail: there was much to read, and the texts can be seen.
	if said < 50_000 {
		t.Errorf("only %d bytes were said", said)
	}
	for _, argv := range [][]string{{"search", marker}, {"solved-search", marker}, {"candidates", "--session", "s-good"}, {"query", "SELECT question FROM sessions WHERE session_id = 's-good'"}} {
		if o := must(t, dir, argv...); !strings.Contains(o.stdout, marker) || strings.Contains(o.stderr, marker) {
			t.Errorf("%q: %s", argv, o)
		}
	}
}

// tells fails where a text is told, whatever its case.
func tells(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.Contains(strings.ToUpper(line), marker[:7]) {
			t.Errorf("%s tells a text: %.300s", what, line)
			return
		}
	}
}

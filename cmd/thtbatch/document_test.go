package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// volatile is what differs between two runs of the same: ids, times, durations
// and what depends on how long they took.
func volatile() *regexp.Regexp {
	return regexp.MustCompile(`"(run_id|started_at|finished_at|wall_seconds|cpu_seconds|bytes_read|read|sessions_read|run|at)": ?("[^"]*"|[0-9.]+|null)|[0-9]{8}T[0-9]{6}Z-[a-z0-9]{6}`)
}

// With --json every command, whether it ends well or not, writes exactly one
// document, which is the same in every language, and has an error exactly when
// the exit code is not 0.
func TestOneDocumentInEveryLanguage(t *testing.T) {
	night := nightDone(t)
	for _, argv := range []string{
		"backfill", "backfill --strict", "backfill --dry-run", "backfill --dry-run --strict", "backfill --only solved --rescan",
		"backfill --session nobody", "backfill --session nobody --dry-run", "backfill --artifacts nowhere --dry-run", "backfill --only all",
		"backfill --state artifacts/state", "backfill -c none.yaml", "backfill more", "backfill --accept-degraded=",
		"report", "report --state other", "candidates --session s-open", "candidates --session s-degraded", "candidates",
		"solved-index s-active", "solved-index s-degraded", "solved-index",
		"search ward", "search ?", "search ward --top 0", "search", "solved-search ward", "solved-search ?",
		"query SHOW+TABLES", "query SELECT+count(*)+FROM+sessions", "query SELEC", "query SELECT+CAST(question+AS+INT)+FROM+sessions", "query DROP+TABLE+runs",
		"query SELECT+1/0+AS+a,+1+AS+a,+NULL", "query SELECT+i,+CAST(s+AS+INT)+FROM+(SELECT+i,+CASE+WHEN+i=199999+THEN+question+ELSE+'1'+END+AS+s+FROM+range(200000)+AS+r(i),+(SELECT+question+FROM+sessions+LIMIT+1))",
		"runs", "runs --last 0", "runs --last x", "runs --state other", "doctor", "doctor --artifacts nowhere", "doctor --state artifacts/x",
		"jobs", "jobs more", "init new.yaml", "init none/new.yaml", "demo", "demo --state artifacts/x", "serve", "serve --lang fr", "nothing", "help nothing",
	} {
		t.Run(argv, func(t *testing.T) {
			t.Parallel()
			var first outcome
			for i, lang := range []string{"it_IT.UTF-8", "en_GB.UTF-8"} {
				dir := copied(t, night)
				args := strings.Fields(argv)
				for j := range args {
					args[j] = strings.ReplaceAll(args[j], "+", " ")
				}
				cmd := command(t, dir, append(args, "--json", "--log-level", "error")...)
				cmd.Env = append(cmd.Env, "LC_ALL="+lang)
				o := finished(t, cmd)
				doc, err := onlyDocument([]byte(o.stdout))
				if err != nil {
					t.Fatalf("%v: %s", err, o)
				}
				code, failed := within(doc, "error.exit")
				if failed != (o.code != 0) || failed && fmt.Sprint(code) != strconv.Itoa(o.code) {
					t.Errorf("exit %d and error %v: %s", o.code, code, o)
				}
				if message, _ := within(doc, "error.message"); failed && (message == "" || message == nil) {
					t.Errorf("an error without a message: %s", o)
				}
				if inSummary, there := within(doc, "exit_code"); there && fmt.Sprint(inSummary) != strconv.Itoa(o.code) {
					t.Errorf("exit %d and exit_code %v", o.code, inSummary)
				}
				o.stdout = volatile().ReplaceAllString(strings.ReplaceAll(o.stdout, dir, "DIR"), "…")
				if i == 0 {
					first = o
				} else if o.code != first.code || o.stdout != first.stdout {
					t.Errorf("the language changes it:\n%s", difference(first.stdout, o.stdout))
				}
			}
		})
	}
}

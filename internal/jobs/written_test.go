package jobs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/record"
)

// sessionText is what a session's files say; what is empty has no file, but for
// the manifest, which by default is finalized and asks "How many <id>?".
type sessionText struct{ manifest, ledger, sql string }

// session writes the files of one session.
func (d *desk) session(t *testing.T, id string, s sessionText) {
	t.Helper()
	if s.manifest == "" {
		s.manifest = fmt.Sprintf("id: %q\nquestion: \"How many %s?\"\nstatus: finalized\n", id, id)
	}
	for name, text := range map[string]string{"manifest.yaml": s.manifest, "review_decisions.jsonl": s.ledger, "sql_final.sql": s.sql} {
		path := d.artifact("sessions", id, name)
		if text != "" {
			write(t, path, text)
		} else if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// ledger writes decisions as "type|subject|detail|rationale" with seqs from 1.
func ledger(decisions ...string) string {
	var b strings.Builder
	for i, d := range decisions {
		f := append(strings.Split(d, "|"), "", "", "")
		fmt.Fprintf(&b, `{"seq": %d, "ts": "2026-02-01T10:00:00Z", "type": %q, "subject": %q, "detail": %q, "rationale": %q}`+"\n", i+1, f[0], f[1], f[2], f[3])
	}
	return b.String()
}

// solved is a session with an approved query.
func solved(sql string) sessionText {
	return sessionText{ledger: ledger("sql_approved|phase:7"), sql: sql}
}

// degraded is a session with a line that cannot be read.
func degraded(s sessionText) sessionText {
	s.ledger += "{\"seq\": 90, oops}\n"
	return s
}

// registry writes the lines of the registry.
func (d *desk) registry(t *testing.T, lines ...string) {
	t.Helper()
	text := strings.Join(lines, "\n")
	if text != "" {
		text += "\n"
	}
	write(t, d.artifact("memory", "registry.jsonl"), text)
}

// memory is a registry line.
func memory(id, kind, subject, detail string) string {
	return fmt.Sprintf(`{"id": %q, "type": %q, "subject": %q, "detail": %q}`, id, kind, subject, detail)
}

// concept is a reusable one.
func concept(id, subject string) string {
	return memory(id, record.ReusableType, subject, "what "+subject+" means")
}

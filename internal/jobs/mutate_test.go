package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/sample/model"
)

// mutator changes a tree as its owners might between two nights, and worse.
type mutator struct {
	*rand.Rand
	d *desk
	// donor is another tree, whose sessions and files are put into this one.
	donor string
	fresh int
}

func newMutator(t *testing.T, rng *rand.Rand, d *desk, sessions int) *mutator {
	t.Helper()
	m := &mutator{Rand: rng, d: d, donor: filepath.Join(t.TempDir(), "donor")}
	if err := model.RandomTree(rng, m.donor, sessions); err != nil {
		t.Fatal(err)
	}
	return m
}

// mutate makes some changes and returns the names of the sessions concerned.
func (m *mutator) mutate(t *testing.T, changes int) map[string]bool {
	t.Helper()
	touched := map[string]bool{}
	for range changes {
		id := m.session(t, m.d.settings.ArtifactsDir)
		switch m.IntN(12) {
		case 0, 1, 2:
			m.append(t, id)
		case 3:
			m.cut(t, id)
		case 4:
			m.graftFile(t, id)
		case 5:
			m.manifest(t, id)
		case 6:
			m.remove(t, m.d.artifact("sessions", id))
		case 7:
			touched[m.graftSession(t)] = true
		case 8:
			touched[m.rename(t, id)] = true
		case 9:
			m.quietly(t, id)
		default:
			m.registry(t)
			continue
		}
		touched[id] = true
	}
	m.d.age(t)
	return touched
}

func (m *mutator) session(t *testing.T, root string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	return entries[m.IntN(len(entries))].Name()
}

func (m *mutator) pick(from ...string) string { return from[m.IntN(len(from))] }

var writtenSeq = regexp.MustCompile(`"seq":\s*"?([0-9]{1,9})`)

// append adds decisions, as the assistant does; to a torn tail too.
func (m *mutator) append(t *testing.T, id string) {
	t.Helper()
	path := m.d.artifact("sessions", id, "review_decisions.jsonl")
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return // a directory
	}
	highest := 0
	for _, found := range writtenSeq.FindAllSubmatch(text, -1) {
		if n, err := strconv.Atoi(string(found[1])); err == nil {
			highest = max(highest, n)
		}
	}
	b := strings.Builder{}
	b.Write(text)
	if len(text) > 0 && text[len(text)-1] != '\n' && m.IntN(2) == 0 {
		b.WriteByte('\n')
	}
	for range 1 + m.IntN(4) {
		highest++
		named := 1 + m.IntN(highest)
		kind, subject, detail := "concept_clarified", m.pick("paziente attivo", "reparto", "Città"), m.pick("flag_attivo = TRUE", "solo 2026", "")
		switch m.IntN(8) {
		case 0:
			kind, subject, detail = "decision_withdrawn", "", fmt.Sprintf("seq:%d", named)
		case 1:
			kind, subject, detail = "phase_reopened", fmt.Sprintf("phase:%d", 1+m.IntN(8)), ""
		case 2:
			kind, detail = "memory_promoted", fmt.Sprintf("seq:%d", named)
		case 3:
			kind, detail = "memory_promotion_declined", fmt.Sprintf("seq:%d", named)
		case 4:
			kind, subject = "sql_approved", "phase:7"
		case 5:
			kind, detail = "question_rewritten", m.pick("Quante visite nel 2026?", "How many?")
		}
		fmt.Fprintf(&b, `{"seq": %d, "ts": "2026-03-01T10:00:00Z", "type": %q, "subject": %q, "detail": %q, "rationale": %q}`+"\n",
			highest, kind, subject, detail, m.pick("", "come in mem-0003", "mem-0011"))
	}
	write(t, path, b.String())
}

// cut ends a file in the middle of wherever.
func (m *mutator) cut(t *testing.T, id string) {
	t.Helper()
	path := m.d.artifact("sessions", id, m.pick("review_decisions.jsonl", "review_decisions.jsonl", "sql_final.sql", "manifest.yaml"))
	if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
		write(t, path, string(text[:m.IntN(len(text))]))
	}
}

// graftFile puts a file of a donor's session in place, or removes it.
func (m *mutator) graftFile(t *testing.T, id string) {
	t.Helper()
	name := m.pick("review_decisions.jsonl", "sql_final.sql")
	m.remove(t, m.d.artifact("sessions", id, name))
	from := filepath.Join(m.donor, "sessions", m.session(t, m.donor), name)
	if info, err := os.Stat(from); err != nil {
		return
	} else if info.IsDir() {
		if err := os.Mkdir(m.d.artifact("sessions", id, name), 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	write(t, m.d.artifact("sessions", id, name), read(t, from))
}

func (m *mutator) manifest(t *testing.T, id string) {
	t.Helper()
	path := m.d.artifact("sessions", id, "manifest.yaml")
	if m.IntN(8) == 0 {
		m.remove(t, path)
		return
	}
	write(t, path, fmt.Sprintf("id: %q\nquestion: %s\nstatus: %s\n", id, m.pick("Quante ablazioni?", "~", "Which wards?", "'?'"), m.pick("finalized", "open")))
}

func (m *mutator) remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// graftSession adds a session under a new name, whose manifest agrees.
func (m *mutator) graftSession(t *testing.T) string {
	t.Helper()
	old := m.session(t, m.donor)
	m.fresh++
	id := fmt.Sprintf("new %03d", m.fresh)
	m.copySession(t, filepath.Join(m.donor, "sessions", old), old, id)
	return id
}

// rename makes a session gone and another one appear.
func (m *mutator) rename(t *testing.T, old string) string {
	t.Helper()
	m.fresh++
	id := fmt.Sprintf("moved %03d", m.fresh)
	m.copySession(t, m.d.artifact("sessions", old), old, id)
	m.remove(t, m.d.artifact("sessions", old))
	return id
}

func (m *mutator) copySession(t *testing.T, from, old, id string) {
	t.Helper()
	to := m.d.artifact("sessions", id)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(to, "manifest.yaml")
	if text, err := os.ReadFile(path); err == nil {
		write(t, path, strings.Replace(string(text), strconv.Quote(old), strconv.Quote(id), 1))
	}
}

// quietly changes letters and neither the size nor the time of a file: only
// its ctime tells.
func (m *mutator) quietly(t *testing.T, id string) {
	t.Helper()
	path := m.d.artifact("sessions", id, "review_decisions.jsonl")
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return
	}
	write(t, path, strings.NewReplacer("TRUE", "VERO", "Quante", "Quanti", "sql_approved", "cte_approved").Replace(read(t, path)))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// registry changes the registry: a record more, one less, two in another
// order, one of another type, or one with another wording.
func (m *mutator) registry(t *testing.T) {
	t.Helper()
	path := m.d.artifact("memory", "registry.jsonl")
	lines := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
	at := m.IntN(len(lines))
	switch m.IntN(6) {
	case 0:
		lines = append(lines, fmt.Sprintf(`{"id": "mem-%04d", "type": "concept_clarified", "session_id": %q, "decision_seq": %d, "subject": "reparto", "detail": "unità"}`,
			500+m.IntN(1000), m.session(t, m.d.settings.ArtifactsDir), 1+m.IntN(9)))
	case 1:
		lines = slices.Delete(lines, at, at+1)
	case 2:
		other := m.IntN(len(lines))
		lines[at], lines[other] = lines[other], lines[at]
	case 3:
		lines[at] = strings.NewReplacer("concept_clarified", "table_promoted", "table_promoted", "concept_clarified").Replace(lines[at])
	case 4:
		lines[at] = strings.Replace(lines[at], `"subject": "`, `"subject": "altro `, 1)
	default:
		lines = append(lines, lines[at]) // the same id again
	}
	write(t, path, strings.Join(lines, "\n")+"\n")
}

package model

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// RandomTree writes an artifacts tree of n sessions under dir, which must not
// exist, as nasty as the contract lets real ones be: control records that name
// control records, markers of anything, wordings that differ by case, spaces
// and composition, every spelling of a number, broken, torn and repeated lines,
// manifests and SQL that cannot be used, and a registry to match. What the
// contract leaves open is left out, so that every row has one right answer.
// The same state of rng gives the same tree.
func RandomTree(rng *rand.Rand, dir string, n int) error {
	g := generator{Rand: rng}
	for i := range n {
		if err := g.session(filepath.Join(dir, "sessions"), i); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "memory"), 0o700); err != nil {
		return fmt.Errorf("random tree: %w", err)
	}
	return write(filepath.Join(dir, "memory", "registry.jsonl"), g.registry(n))
}

type generator struct {
	*rand.Rand
	// names of the sessions made so far, and the highest seq of each.
	names   []string
	highest []int
	// seqs of the ledger being written; a wild ledger does not care for them and
	// has broken lines, so that it is nearly always degraded.
	seqs []int
	wild bool
}

// one in k times.
func (g *generator) once(k int) bool { return g.IntN(k) == 0 }

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func write(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("random tree: %w", err)
	}
	return nil
}

func (g *generator) session(root string, i int) error {
	name := fmt.Sprintf(g.pick("s-%04d", "2026-02-%04d", "%04d", "Città %04d", "a.b_%04d"), i)
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("random tree: %w", err)
	}
	g.names = append(g.names, name)
	g.highest = append(g.highest, 0)
	if text := g.manifest(name); text != "" {
		if err := write(filepath.Join(dir, "manifest.yaml"), []byte(text)); err != nil {
			return err
		}
	}
	ledger := filepath.Join(dir, "review_decisions.jsonl")
	switch {
	case g.once(30): // no ledger
	case g.once(40): // one that cannot be read
		if err := os.Mkdir(ledger, 0o700); err != nil {
			return fmt.Errorf("random tree: %w", err)
		}
	default:
		if err := write(ledger, g.ledger(i)); err != nil {
			return err
		}
	}
	return g.sql(filepath.Join(dir, "sql_final.sql"))
}

func (g *generator) sql(path string) error {
	switch g.IntN(12) {
	case 0, 1, 2:
		return nil
	case 3:
		return write(path, []byte(g.pick("", " \r\n", "\ufeff\n", "\u00a0\u2003")))
	case 4:
		return write(path, []byte("select 'citt\xe0'"))
	case 5:
		if err := os.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("random tree: %w", err)
		}
		return nil
	case 6:
		return write(path, []byte("\ufeff\r\nselect 1,\r  2\r\n\u00a0\n"))
	}
	return write(path, fmt.Appendf(nil, "select %d\n", g.IntN(1000)))
}

func (g *generator) manifest(name string) string {
	switch g.IntN(24) {
	case 0:
		return ""
	case 1:
		return "id: another\nquestion: x\nstatus: finalized\n"
	case 2:
		return g.pick("id: [\n", "- id: x\n", "", "just text\n", "id: a\n---\nid: b\n") + "\n"
	case 3:
		return fmt.Sprintf("id: %q\nstatus: finalized\nquestion: {a: b}\n", name)
	}
	question := g.pick("Quante ablazioni?", "no", "2026-01-01", "~", "", `"null"`, `"  "`, `" Quante? "`,
		"|\n  prima riga\n  seconda riga", "007", `'~'`, "Null", "quante?  # un commento")
	status := g.pick("finalized", "finalized", "finalized", "finalized", "'finalized'", "open", "Finalized", `"finalized "`, "")
	return fmt.Sprintf("id: %q\nquestion: %s\nstatus: %s\nowner: {ignored: [1, 2]}\n", name, question, status)
}

func (g *generator) ledger(i int) []byte {
	n := g.IntN(28)
	var lines []string
	seq := 0
	g.seqs, g.wild = nil, g.once(4)
	for range n {
		seq++
		if g.once(12) {
			seq += 1 + g.IntN(3) // a gap
		}
		line := g.decision(seq, n+2)
		switch {
		case g.wild && g.once(20):
			line = g.broken(line)
		case g.once(40):
			lines = append(lines, line) // an equal repeat
		case g.wild && g.once(20):
			lines = append(lines, g.decision(seq, n+2))
		}
		lines = append(lines, line)
		g.seqs = append(g.seqs, seq)
	}
	g.highest[i] = seq
	if g.once(5) {
		g.Shuffle(len(lines), func(a, b int) { lines[a], lines[b] = lines[b], lines[a] })
	}
	return g.file(lines)
}

// file puts lines together, with the line ends and the tail that files have.
func (g *generator) file(lines []string) []byte {
	var b bytes.Buffer
	if g.once(8) {
		b.WriteString("\ufeff")
	}
	end := "\n"
	if g.once(6) {
		end = "\r\n"
	}
	for i, line := range lines {
		b.WriteString(line)
		if i < len(lines)-1 || !g.once(12) {
			b.WriteString(end)
		}
		if g.once(25) {
			b.WriteString(g.pick("", " ", "\t", "\u00a0") + end)
		}
	}
	if len(lines) > 0 && len(lines[len(lines)-1]) > 1 && g.once(8) && bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		last := lines[len(lines)-1]
		b.WriteString(last[:1+g.IntN(len(last)-1)]) // bytes: also inside a character
	}
	return b.Bytes()
}

// broken makes a line that breaks a rule.
func (g *generator) broken(line string) string {
	switch g.IntN(7) {
	case 0:
		return line[:len(line)-2]
	case 1:
		return line + " {}"
	case 2:
		return g.pick(`[1]`, `7`, `null`, `"text"`, `{}`, `{"seq": NaN}`, "\u200b")
	case 3:
		return strings.Replace(line, `"type": `, `"type": "`+"\xff"+`", "was": `, 1)
	case 4:
		return strings.Replace(line, `"seq": `, g.pick(`"seq": 2.5, "was": `, `"seq": 0, "was": `, `"seq": -1, "was": `,
			`"seq": true, "was": `, `"seq": "x", "was": `, `"seq": null, "was": `, `"was": `, `"seq": 9223372036854775808, "was": `), 1)
	case 5:
		return strings.Replace(line, `"ts": `, g.pick(`"ts": "yesterday", "was": `, `"ts": null, "was": `, `"was": `,
			`"ts": "2026-02-30T10:00:00Z", "was": `, `"ts": "2026-13-01", "was": `, `"ts": [], "was": `), 1)
	}
	return strings.TrimSuffix(line, "}") + g.pick(`, "phase": 9}`, `, "phase": 0}`, `, "phase": "F9"}`, `, "phase": 2.5}`, `, "phase": "x"}`,
		`, "subject": 5}`, `, "detail": ["x"]}`, `, "rationale": {}}`, `, "type": ""}`, `, "type": null}`, `, "type": 3}`, `, "phase": true}`)
}

func (g *generator) registry(sessions int) []byte {
	var lines []string
	for i := range 3 * sessions {
		session := g.IntN(sessions)
		fields := []string{`"id": ` + g.quote(g.memoryID(i)), `"type": ` + g.quote(g.pick(reusable, reusable, reusable, reusable, "table_promoted", "table_excluded", ""))}
		if !g.once(15) {
			fields = append(fields, `"session_id": `+g.quote(g.pick(g.names[session], g.names[session], g.names[session], g.names[session], "gone", "")))
		}
		if !g.once(15) {
			n := strconv.Itoa(1 + g.IntN(g.highest[session]+2))
			fields = append(fields, `"decision_seq": `+g.pick(n, n, n, `"`+n+`"`, n+".0", "null"))
		}
		if !g.once(10) {
			fields = append(fields, `"ts": `+g.time(), `"subject": `+g.quote(g.subject()), `"detail": `+g.quote(g.detail()))
		}
		if g.once(4) {
			fields = append(fields, `"tables": `+g.pick("null", "[]", `["fact_a", "dim_b"]`), `"concepts": ["x"]`, `"origin": {"tool": [null]}`)
		}
		if g.once(40) {
			fields = append(fields, g.pick(`"id": 5`, `"id": null`, `"tables": "fact_a"`, `"concepts": [1]`, `"subject": 1`, `"ts": true`, `"decision_seq": 0`, `"decision_seq": 1.5`, `"type": []`))
		}
		line := "{" + strings.Join(fields, ", ") + "}"
		if g.once(60) {
			line = line[:len(line)-1]
		}
		lines = append(lines, line)
	}
	return g.file(lines)
}

func (g *generator) memoryID(i int) string {
	if g.once(12) {
		return g.pick("memory-7", "mem-", "mem-12a", "Mem-0001", " mem-0001", "mem-0001\n", "")
	}
	if g.once(10) {
		return fmt.Sprintf("mem-%04d", 1+g.IntN(i+1)) // perhaps given before
	}
	return fmt.Sprintf("mem-%04d", i+1)
}

//go:build duckdb_arrow

package warehouse

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/thtbatch/thtbatch/internal/duck"
	query "github.com/thtbatch/thtbatch/sql"
)

// The statements are tested by data: sql/testdata has a file for each of them,
// named dir_statement.txtar, whose sections are carried out in their order.
//
//	case NAME     begins with an empty warehouse; its text is a comment
//	rules         settings that differ from testRules, as JSON
//	given TABLE   rows, as CSV; columns that are not named have what given fills in
//	run           statements, one a line: NAME [JSON ARGUMENT]...
//	want TABLE    all rows of the table or view, in these columns, in any order
//	rows          the rows of the last statement that ran, in its order, unless "in any order" follows
//
// In CSV, nothing between two commas is NULL and "" is the empty text; a cell
// with a backslash is read as a Go string, so that any character can be seen.
const testdata = "../../sql/testdata"

// untested statements make no rows: they are run by every test there is.
var untested = map[string]string{
	"read/runs":                 "reads a Parquet file, which the test of the published copy does",
	"schema/tables":             "makes the tables",
	"schema/macros":             "makes the macros, which the rules test",
	"schema/comments":           "comments, which the test of the public views reads",
	"schema/comments_effective": "comments, which the test of the public views reads",
	"schema/has_meta":           "asks for the tables",
}

func testRules() Rules {
	return Rules{
		WithdrawalType: "decision_withdrawn", ReopeningType: "phase_reopened", CandidateCap: 5,
		Phases: map[string]int{
			"concept_clarified": 1, "memory_rejected": 2, "table_promoted": 4, "table_excluded": 4, "column_promoted": 4,
			"question_rewritten": 5, "cte_approved": 6, "sql_approved": 7, "datamart_requested": 8, "datamart_declined": 8,
			"memory_promoted": 8, "memory_promotion_declined": 8,
		},
		SolvedStatuses: []string{"finalized"},
		ArtifactsRoot:  "/a", Sessions: "sessions", Manifest: "manifest.yaml", Ledger: "review_decisions.jsonl",
		SQL: "sql_final.sql", Registry: "memory/registry.jsonl",
	}
}

// filled are columns that a given row has when its section names them not.
var filled = map[string]map[string]string{
	"parsed.session":  {"gone": "false"},
	"parsed.manifest": {"id": "", "question": "a question", "database": "", "schema": "", "status": "finalized"},
	"parsed.ledger_line": {
		"line": "{seq}", "byte_offset": "0", "repeat_no": "0", "ts": "2026-01-02 03:04:05", "subject": "", "detail": "", "rationale": "",
	},
	"parsed.memory_line": {
		"byte_offset": "0", "type": "concept_clarified", "session_id": "", "subject": "s", "detail": "", "rationale": "",
		"question_context": "", "tables": "[]", "concepts": "[]",
	},
	"parsed.stamp": {"size": "1", "mtime_ns": "2", "ctime_ns": "3", "ino": "4", "read_at_ns": "5", "digest_hi": "6", "digest_lo": "7"},
	"seen":         {"kind": "memory", "workspace": "w", "embed_space": "space"},
}

// openTest is a warehouse with testRules in a file of its own.
func openTest(t *testing.T) *DB {
	t.Helper()
	return openIn(t, filepath.Join(t.TempDir(), "warehouse.duckdb"))
}

// openIn is a warehouse with testRules, in memory where path is empty.
func openIn(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), duck.Options{Path: path, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.SetRules(t.Context(), testRules()); err != nil {
		t.Fatal(err)
	}
	return db
}

// empty removes every row and every scratch table, and sets testRules again: a
// warehouse as openTest makes it, without the time that its schema takes.
func empty(t *testing.T, db *DB) {
	t.Helper()
	var script string
	err := db.duck.Value(t.Context(), &script, `SELECT string_agg(CASE WHEN temporary THEN 'DROP TABLE temp.main.' ELSE 'DELETE FROM ' || schema_name || '.' END
	    || table_name, '; ') FROM duckdb_tables() WHERE NOT internal`)
	if err == nil {
		err = db.duck.Exec(t.Context(), script)
	}
	if err == nil {
		err = db.setMeta(t.Context(), "schema_version", schemaVersion)
	}
	if err == nil {
		_, err = db.SetRules(t.Context(), testRules())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestStatementsByRows(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testdata, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file in %s, %v", testdata, err)
	}
	db := openIn(t, "")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := strings.TrimSuffix(filepath.Base(path), ".txtar")
		if len(archive.Files) == 0 || !strings.HasPrefix(archive.Files[0].Name, "case ") {
			t.Errorf("%s does not begin with a case", file)
		}
		for first, next := 0, 0; first < len(archive.Files); first = next {
			for next = first + 1; next < len(archive.Files) && !strings.HasPrefix(archive.Files[next].Name, "case "); next++ {
			}
			sections := archive.Files[first:next]
			t.Run(file+"/"+strings.TrimPrefix(sections[0].Name, "case "), func(t *testing.T) { empty(t, db); runCase(t, db, sections[1:]) })
		}
	}
}

func runCase(t *testing.T, db *DB, sections []txtar.File) {
	var last []string
	wanted := false
	for _, s := range sections {
		kind, name, _ := strings.Cut(s.Name, " ")
		switch kind {
		case "rules":
			rules := testRules()
			if err := json.Unmarshal(s.Data, &rules); err != nil {
				t.Fatalf("rules: %v", err)
			}
			if _, err := db.SetRules(t.Context(), rules); err != nil {
				t.Fatal(err)
			}
		case "given":
			give(t, db, name, parseCSV(t, string(s.Data)))
		case "run":
			for line := range strings.Lines(string(s.Data)) {
				if line = strings.TrimSpace(line); line != "" {
					last = runStatement(t, db, line)
				}
			}
		case "want":
			wanted = true
			table := parseCSV(t, string(s.Data))
			columns := strings.Join(table.columns, ", ")
			got := readLines(t, db, "SELECT "+columns+" FROM "+name)
			compare(t, s.Name, slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(table.lines())))
		case "rows":
			wanted = true
			got, want := last, parseCSV(t, string(s.Data)).lines()
			if name == "in any order" {
				got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
			}
			compare(t, s.Name, got, want)
		default:
			t.Fatalf("no section is called %q", s.Name)
		}
	}
	if !wanted {
		t.Error("the case wants nothing")
	}
}

func compare(t *testing.T, name string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n is\n  %s\n want\n  %s", name, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// runStatement runs "dir/name [JSON]..." and returns its rows.
func runStatement(t *testing.T, db *DB, line string) []string {
	t.Helper()
	name, rest, _ := strings.Cut(line, " ")
	var args []any
	for d := json.NewDecoder(strings.NewReader(rest)); d.More(); {
		var arg any
		if err := d.Decode(&arg); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if n, ok := arg.(float64); ok {
			arg = int64(n)
		}
		args = append(args, arg)
	}
	text := query.Text(name)
	if parts := statementsOf(text); len(parts) > 1 {
		if err := db.duck.Exec(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	return readLines(t, db, text, args...)
}

// readLines are the rows of a statement, each as a line of CSV.
func readLines(t *testing.T, db *DB, statement string, args ...any) []string {
	t.Helper()
	lines := []string{}
	err := db.duck.ReadRows(t.Context(), func([]string) error { return nil }, func(values []any) error {
		row := make([]cell, len(values))
		for i, v := range values {
			row[i] = shownCell(v)
		}
		lines = append(lines, lineOf(row))
		return nil
	}, statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func shownCell(v any) cell {
	switch v := v.(type) {
	case nil:
		return cell{null: true}
	case map[string]any:
		text, err := json.Marshal(v)
		if err != nil {
			return cell{text: err.Error()}
		}
		return cell{text: string(text)}
	case []any:
		texts := make([]string, len(v))
		for i, e := range v {
			texts[i] = fmt.Sprint(e)
		}
		return cell{text: "[" + strings.Join(texts, ", ") + "]"}
	}
	return cell{text: fmt.Sprint(v)}
}

// give inserts rows; every cell is cast to the type of its column.
func give(t *testing.T, db *DB, table string, rows csvTable) {
	t.Helper()
	columns := slices.Clone(rows.columns)
	for column, value := range filled[table] {
		if slices.Contains(rows.columns, column) {
			continue
		}
		columns = append(columns, column)
		for i, row := range rows.cells {
			c := cell{text: value}
			if from, ok := strings.CutPrefix(value, "{"); ok {
				c = row[slices.Index(rows.columns, strings.TrimSuffix(from, "}"))]
			}
			rows.cells[i] = append(rows.cells[i], c)
		}
	}
	for _, row := range rows.cells {
		args, marks := make([]any, len(columns)), make([]string, len(columns))
		for i, c := range row {
			if marks[i] = "$" + strconv.Itoa(i+1); !c.null {
				args[i] = c.text
			}
			if args[i] == nil {
				marks[i] = "CAST(" + marks[i] + " AS VARCHAR)"
			}
		}
		err := db.duck.Exec(t.Context(), "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", args...)
		if err != nil {
			t.Fatalf("given %s: %v", table, err)
		}
	}
}

type cell struct {
	text string
	null bool
}

type csvTable struct {
	columns []string
	cells   [][]cell
}

func (c csvTable) lines() []string {
	lines := make([]string, len(c.cells))
	for i, row := range c.cells {
		lines[i] = lineOf(row)
	}
	return lines
}

// lineOf writes a row in one way, whichever way it was written.
func lineOf(row []cell) string {
	texts := make([]string, len(row))
	for i, c := range row {
		switch quoted := strconv.Quote(c.text); {
		case c.null:
			texts[i] = "NULL"
		case c.text == "" || c.text == "NULL" || quoted != `"`+c.text+`"` || strings.Contains(c.text, ","):
			texts[i] = quoted
		default:
			texts[i] = c.text
		}
	}
	return strings.Join(texts, ",")
}

func parseCSV(t *testing.T, text string) csvTable {
	t.Helper()
	var table csvTable
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		row := parseLine(t, line)
		if table.columns == nil {
			for _, c := range row {
				table.columns = append(table.columns, c.text)
			}
			continue
		}
		if len(row) != len(table.columns) {
			t.Fatalf("%d cells under %d columns: %s", len(row), len(table.columns), line)
		}
		table.cells = append(table.cells, row)
	}
	if table.columns == nil {
		t.Fatal("a section of rows has no header")
	}
	return table
}

func parseLine(t *testing.T, line string) (row []cell) {
	t.Helper()
	for rest, more := line, true; more; {
		var c cell
		if strings.HasPrefix(rest, `"`) {
			end := 1
			for ; end < len(rest); end++ {
				if rest[end] != '"' {
					continue
				}
				if end+1 == len(rest) || rest[end+1] != '"' {
					break
				}
				end++
			}
			if end >= len(rest) {
				t.Fatalf("a quote is not closed: %s", line)
			}
			c.text = strings.ReplaceAll(rest[1:end], `""`, `"`)
			_, rest, more = strings.Cut(rest[end:], ",")
		} else {
			c.text, rest, more = strings.Cut(rest, ",")
			c.null = c.text == ""
		}
		if strings.Contains(c.text, `\`) {
			text, err := strconv.Unquote(`"` + strings.ReplaceAll(c.text, `"`, `\"`) + `"`)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			c.text = text
		}
		row = append(row, c)
	}
	return row
}

// statementsOf splits a script at the semicolons that end a line.
func statementsOf(text string) (parts []string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "--") {
			continue
		}
		b.WriteString(line)
		if strings.HasSuffix(strings.TrimSpace(line), ";") {
			parts = append(parts, b.String())
			b.Reset()
		}
	}
	if strings.TrimSpace(b.String()) != "" {
		parts = append(parts, b.String())
	}
	return parts
}

// A statement without a test by rows fails, and so does a file of a statement
// that is gone.
func TestEveryStatementHasRows(t *testing.T) {
	tested := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(testdata, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		dir, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".txtar"), "_")
		statement := dir + "/" + name
		if _, err := os.Stat("../../sql/" + statement + ".sql"); err != nil {
			t.Errorf("%s tests no statement: %v", path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if dir != "schema" && !strings.Contains(string(text), "\n"+statement) {
			t.Errorf("%s never runs %s", path, statement)
		}
		tested[statement] = true
	}
	for _, dir := range []string{"schema", "derive", "plan", "scan", "read", "publish"} {
		for _, statement := range query.Names(dir) {
			why, exempt := untested[statement]
			switch {
			case !tested[statement] && !exempt:
				t.Errorf("%s.sql has no file in sql/testdata", statement)
			case tested[statement] && exempt:
				t.Errorf("%s.sql has a file, and is exempt: %s", statement, why)
			}
		}
	}
}

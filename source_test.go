package thtbatch_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const mostLines = 400

// longFiles may be longer than mostLines, each for a reason.
var longFiles = map[string]string{}

// statements are allowed to stand in Go where they are not the program's own.
var statements = map[string]string{
	"internal/duck/":          "opens the file: attaches, limits, copies",
	"internal/sample/":        "writes analysts' SQL, as text",
	"internal/load/loadtest/": "stores analysts' SQL, as text",
	"internal/jobs/demo.go":   "types a query, as a person would",
	// A name cannot be bound; these come from the closed list of views.
	"internal/warehouse/export.go": "copies a view by its name",
}

// A statement begins with its verb and goes on as only a statement does.
var statement = regexp.MustCompile(`(?is)^[\s(]*(with\s+\w+\s+as\s*\(|select\s+\S|insert\s+(or\s+\w+\s+)?into\s|delete\s+from\s|update\s+\S+\s+set\s|create\s+(or\s+replace\s+)?(temp\s+|temporary\s+)?(table|view|macro|index|schema)\s|drop\s+(table|view|macro|schema)\s|alter\s+table\s|truncate\s+\S|copy\s.+\s(to|from)\s|attach\s+'|merge\s+into\s)`)

type source struct {
	path string
	text []byte
	file *ast.File
	set  *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

// sources are all Go files, whatever their build tags.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || e.Name() == "build" || len(e.Name()) > 1 && strings.HasPrefix(e.Name(), ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		s := source{path: filepath.ToSlash(path), set: token.NewFileSet()}
		if s.text, err = os.ReadFile(path); err != nil {
			return err
		}
		s.file, err = parser.ParseFile(s.set, path, s.text, parser.SkipObjectResolution)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestStatementsLiveInSQLFiles(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || excused(s.path, statements) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && statement.MatchString(text) {
				t.Errorf("%s: a statement; it belongs in sql/", s.at(n))
			}
			return true
		})
	}
}

func excused(path string, list map[string]string) bool {
	for prefix := range list {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func TestStatementIsToldFromProse(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT 1":                                 true,
		" insert into t values (1)":                true,
		"\n  WITH a AS (SELECT 1) FROM a":          true,
		"update t set a = 1":                       true,
		"DELETE FROM t":                            true,
		"create or replace temp table t as from a": true,
		"selected sessions":                        false,
		"updated 3 records":                        false,
		"delete what purge-legacy names":           false,
		"with --strict, exit 3":                    false,
		"copy the sample":                          false,
	} {
		if statement.MatchString(text) != want {
			t.Errorf("%q: statement is %t", text, !want)
		}
	}
}

func TestNothingRunsByItself(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init: say it where it is used", s.at(f))
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch name := qualified(n); name {
			case "os.Exit", "log.Fatal", "log.Fatalf":
				// A test binary may be its own child process, and ends as one.
				if !s.test() && (s.file.Name.Name != "main" || filepath.Base(s.path) != "main.go") {
					t.Errorf("%s: %s: return the error, main decides", s.at(n), name)
				}
			case "time.Sleep":
				t.Errorf("%s: time.Sleep: wait for what you wait for", s.at(n))
			}
			return true
		})
	}
}

// qualified is "os.Exit" for the selector os.Exit, and "" for anything else.
func qualified(n ast.Node) string {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return of.Name + "." + selector.Sel.Name
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		lines := bytes.Count(s.text, []byte("\n"))
		switch _, excused := longFiles[s.path]; {
		case lines <= mostLines:
			if excused {
				t.Errorf("%s has %d lines: it needs no excuse any more", s.path, lines)
			}
		case s.test():
			t.Logf("%s has %d lines", s.path, lines)
		case !excused:
			t.Errorf("%s has %d lines, more than %d: split it by what changes together", s.path, lines, mostLines)
		}
	}
}

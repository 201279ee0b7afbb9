//go:build duckdb_arrow

package warehouse

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
	query "github.com/thtbatch/thtbatch/sql"
)

// filledIn are the places that a program fills in before it runs a statement.
func filledIn(statement string) string {
	return strings.NewReplacer("{dimensions}", "8", "{version}", "1").Replace(statement)
}

// makes is what has to be there before the statements of a directory make
// sense, beside the schema: scratch tables that others of them make.
func makes() map[string][]string {
	derive := []string{"derive/todo", "derive/controls", "derive/line_faults", "derive/candidates"}
	plan := []string{"scan/scratch", "plan/scratch", "plan/sources", "plan/actions", "plan/keep_spans"}
	return map[string][]string{
		"schema": nil, "derive": derive, "scan": {"scan/scratch", "scan/registry", "scan/registry_touches"}, "plan": plan,
		"read": nil, "publish": nil, "embed": {"embed/cache_schema"}, "local": {"local/create", "local/matching", "local/incoming"},
	}
}

// TestEveryStatementIsValid prepares each statement against the tables that it
// is for, so that a name that is wrong fails here and not in a rare run.
func TestEveryStatementIsValid(t *testing.T) {
	dirs := makes()
	making := regexp.MustCompile(`^CREATE (OR REPLACE )?(TEMP )?(TABLE|VIEW) \S+ AS\s`)
	for _, dir := range directories(t) {
		before, known := dirs[dir]
		if !known {
			t.Errorf("no one knows what the statements of sql/%s need", dir)
			continue
		}
		var db *duck.DB
		if dir == "embed" || dir == "local" {
			var err error
			if db, err = duck.Open(t.Context(), duck.Options{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
		} else {
			db = openTest(t).duck
		}
		for _, name := range before {
			for _, statement := range statementsOf(filledIn(query.Text(name))) {
				if err := db.Exec(t.Context(), statement, defaults(statement)...); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		for _, name := range query.Names(dir) {
			for i, statement := range statementsOf(filledIn(query.Text(name))) {
				statement = making.ReplaceAllString(statement, "")
				if strings.HasPrefix(statement, "CREATE ") || strings.HasPrefix(statement, "COMMENT ") || strings.HasPrefix(statement, "SET ") {
					continue // cannot be prepared, and runs whenever a file is opened
				}
				if err := db.Exec(t.Context(), "PREPARE statement_under_test AS "+statement); err != nil {
					t.Errorf("%s, statement %d: %v", name, i+1, err)
				} else if err := db.Exec(t.Context(), "DEALLOCATE statement_under_test"); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// defaults are arguments for a statement that only has to make its table.
func defaults(statement string) []any {
	args := []any{}
	for i := 1; strings.Contains(statement, "$"+strconv.Itoa(i)); i++ {
		args = append(args, nil)
	}
	return args
}

// directories are those below sql/ that hold statements.
func directories(t *testing.T) (dirs []string) {
	t.Helper()
	paths, err := filepath.Glob("../../sql/*/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d statements, %v", len(paths), err)
	}
	seen := map[string]bool{}
	for _, p := range paths {
		if dir := filepath.Base(filepath.Dir(p)); !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// TestEveryStatementIsUsed walks the program's own Go files: a name that they
// give to query.Text is a file, and every file is named by one of them, whole
// or as a directory and a name that stand in the same package.
func TestEveryStatementIsUsed(t *testing.T) {
	known := map[string]bool{}
	for _, dir := range directories(t) {
		for _, name := range query.Names(dir) {
			known[name] = true
		}
	}
	used := map[string]bool{}
	named := regexp.MustCompile(`^(` + strings.Join(directories(t), "|") + `)/[a-z_]+$`)
	literals, prefixes := map[string]map[string]bool{}, map[string][]string{} // by package
	for file, tree := range goFiles(t) {
		dir := path.Dir(file)
		if literals[dir] == nil {
			literals[dir] = map[string]bool{}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			literals[dir][text] = true
			if strings.HasSuffix(text, "/") && len(text) > 1 {
				prefixes[dir] = append(prefixes[dir], text)
			}
			if named.MatchString(text) {
				if used[text] = true; !known[text] {
					t.Errorf("%s names the statement %s, which is no file", file, text)
				}
			}
			return true
		})
	}
	for dir := range literals {
		for _, prefix := range prefixes[dir] {
			for text := range literals[dir] {
				if known[prefix+text] {
					used[prefix+text] = true
				}
			}
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("nothing uses sql/%s.sql", name)
		}
	}
}

// goFiles are the Go files of the program, without tests and what only they use.
func goFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, root := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || path.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
				return err
			}
			files[p], err = parser.ParseFile(token.NewFileSet(), p, nil, 0)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// A file begins with what its statement is for, because errors name it so.
func TestEveryStatementSaysWhatItIsFor(t *testing.T) {
	for _, dir := range directories(t) {
		for _, name := range query.Names(dir) {
			first, _, _ := strings.Cut(query.Text(name), "\n")
			if text, ok := strings.CutPrefix(first, "-- "); !ok || len(text) < 10 {
				t.Errorf("%s begins with %q", name, first)
			}
		}
	}
}

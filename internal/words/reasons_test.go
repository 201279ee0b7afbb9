package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pieces are literals of the statements that are no reason of their own, with
// the reasons that are put together from them.
func pieces() map[string][]string {
	return map[string][]string{
		"session is ":                  {"session is degraded", "session is invalid", "session is gone"},
		"seq of line ":                 {"seq of line 3 again, and the lines differ"},
		" again, and the lines differ": nil,
		"refused before: ":             {"refused before: zero vector"},
	}
}

// TestEveryReasonHasItsWords collects the reasons that the statements and the Go
// source can give and looks for each in both languages.
func TestEveryReasonHasItsWords(t *testing.T) {
	reasons := append(sqlReasons(t), goReasons(t)...)
	reasons = append(reasons, "no sql_final.sql", "no manifest", "line 3: not valid JSON (and 2 more)", "cannot be read: permission denied")
	slices.Sort(reasons)
	reasons = slices.Compact(reasons)
	if len(reasons) < 60 || !slices.Contains(reasons, "torn tail") || !slices.Contains(reasons, "the type is not reusable") ||
		!slices.Contains(reasons, "no letter or digit to embed") {
		t.Fatalf("the source was not found: %q", reasons)
	}
	for _, lang := range []Lang{English, Italian} {
		p := For(lang)
		for _, reason := range reasons {
			for part := range strings.SplitSeq(strings.TrimSuffix(reason, " (and 2 more)"), ": ") {
				if !p.hasReason(part) && !fieldName.MatchString(part) && part != "permission denied" && part != aName {
					t.Errorf("%s: no words for %q of the reason %q", lang, part, reason)
				}
			}
			if said := p.Reason(reason); said == "" || strings.Contains(said, "reason_") {
				t.Errorf("%s: %q becomes %q", lang, reason, said)
			}
		}
	}
}

// fieldName is the name of a field before a colon, which is the same in every
// language.
var fieldName = regexp.MustCompile(`^(seq|ts|type|subject|detail|rationale|phase|id|created_at|question|question_context|database|schema|status|` +
	`updated_at|updated_by|session_id|decision_seq|tables|concepts)$`)

// hasReason says whether the catalogue has the phrase, whole or up to the name
// that it ends in.
func (p *Printer) hasReason(phrase string) bool {
	id, _ := reasonID(phrase)
	if p.Has(id) {
		return true
	}
	for at := strings.LastIndexByte(phrase, ' '); at > 0; at = strings.LastIndexByte(phrase[:at], ' ') {
		id, _ := reasonID(phrase[:at])
		if m, ok := p.messages[id]; ok && m.ends() {
			return true
		}
	}
	return false
}

// sqlReasons are the literals of several words in the statements that derive and
// plan.
func sqlReasons(t *testing.T) (reasons []string) {
	t.Helper()
	comment, text := regexp.MustCompile(`(?m)--.*$`), regexp.MustCompile(`'((?:[^']|'')*)'`)
	known := pieces()
	for _, dir := range []string{"derive", "plan", "scan", "read"} {
		files, err := filepath.Glob("../../sql/" + dir + "/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("sql/%s: %v", dir, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range text.FindAllStringSubmatch(comment.ReplaceAllString(string(content), ""), -1) {
				phrase := strings.ReplaceAll(m[1], "''", "'")
				if !several.MatchString(phrase) {
					continue
				}
				whole, isPiece := known[phrase]
				switch {
				case isPiece:
					reasons = append(reasons, whole...)
				case strings.HasSuffix(phrase, " "):
					reasons = append(reasons, phrase+aName)
				default:
					reasons = append(reasons, phrase)
				}
			}
		}
	}
	return reasons
}

// several words of lower case, which no name, pattern or format is.
var several = regexp.MustCompile(`^ ?[a-z][a-z_.]*,? [a-z]`)

// goReasons are the literals that the Go source gives as a reason: constants,
// fields, variables and results of that name, and what is passed as one.
func goReasons(t *testing.T) (reasons []string) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir("../../internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/sample/") {
			return err
		}
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			for _, e := range reasonsOf(n) {
				reasons = append(reasons, literals(e)...)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return reasons
}

// reasonsOf are the expressions that a node gives as a reason.
func reasonsOf(n ast.Node) (given []ast.Expr) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if isReason(name.Name) && i < len(n.Values) {
				given = append(given, n.Values[i])
			}
		}
	case *ast.KeyValueExpr:
		if isReason(typeName(n.Key)) {
			given = append(given, n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if isReason(typeName(left)) && len(n.Lhs) == len(n.Rhs) {
				given = append(given, n.Rhs[i])
			}
		}
	case *ast.CallExpr:
		if name := typeName(n.Fun); name == "fail" || name == "fault" || name == "damaged" || name == "unusable" {
			given = append(given, n.Args...)
		}
		for i, arg := range n.Args {
			if text, ok := literal(arg); ok && text == "reason" && i+1 < len(n.Args) {
				given = append(given, n.Args[i+1])
			}
		}
	case *ast.FuncDecl:
		given = append(given, returned(n)...)
	}
	return given
}

// returned are the results of a function that is named for a reason, or that
// names its result so.
func returned(f *ast.FuncDecl) (given []ast.Expr) {
	if f.Type.Results == nil || f.Body == nil {
		return nil
	}
	named := isReason(f.Name.Name) || strings.HasPrefix(f.Name.Name, "reject")
	for _, field := range f.Type.Results.List {
		for _, name := range field.Names {
			named = named || isReason(name.Name)
		}
	}
	if !named {
		return nil
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			given = append(given, r.Results...)
		}
		return true
	})
	return given
}

func isReason(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "reason") || strings.HasPrefix(name, "skipped")
}

// literals of an expression: of what is put together, the parts.
func literals(e ast.Expr) (texts []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if _, isCall := n.(*ast.CallExpr); isCall {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok {
			if text, ok := literal(lit); ok {
				texts = append(texts, strings.TrimSuffix(strings.TrimPrefix(text, ": "), ": "))
			}
		}
		return true
	})
	return slices.DeleteFunc(texts, func(s string) bool {
		return len(s) < 3 || strings.ContainsAny(s, "%{*?[") || strings.HasSuffix(s, "_")
	})
}

// aName stands for what a reason ends in that has no words: a space, a point.
const aName = "lexical/1"

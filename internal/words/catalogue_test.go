package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// dynamic are the prefixes of ids that are put together from a code at run
// time: nothing in the source names them whole.
func dynamic() []string {
	return []string{"action_", "kind_", "status_", "session_state_", "candidate_", "stage_", "reason_"}
}

// awaited are ids of what is still to be built: remove each as its code comes.
func awaited() []string {
	return strings.Fields(awaitedIDs)
}

func TestBothLanguagesSayTheSame(t *testing.T) {
	english, italian := order(t, English), order(t, Italian)
	if !slices.Equal(english, italian) {
		for _, id := range english {
			if !slices.Contains(italian, id) {
				t.Errorf("not in it.yaml: %s", id)
			}
		}
		for i, id := range italian {
			if !slices.Contains(english, id) {
				t.Errorf("not in en.yaml: %s", id)
			} else if i < len(english) && english[i] != id {
				t.Fatalf("the order differs at %s and %s", english[i], id)
			}
		}
	}
	en, it := For(English), For(Italian)
	for id, m := range en.messages {
		if other := it.messages[id]; !maps.Equal(m.placeholders, other.placeholders) || m.plural != other.plural {
			t.Errorf("%s: placeholders %v and %v, plural %v and %v", id, m.placeholders, other.placeholders, m.plural, other.plural)
		}
		if strings.HasSuffix(id, hintSuffix) {
			if _, ok := en.messages[strings.TrimSuffix(id, hintSuffix)]; !ok {
				t.Errorf("%s is a hint to no message", id)
			}
		}
	}
}

func TestEveryFormHasAText(t *testing.T) {
	for _, lang := range []Lang{English, Italian} {
		p := For(lang)
		for id, node := range nodes(t, lang) {
			texts, err := forms(node)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"other"}
			if node.Kind == yaml.MappingNode {
				want = []string{"one", "other"}
			}
			if got := slices.Sorted(maps.Keys(texts)); !slices.Equal(got, want) {
				t.Errorf("%s %s: forms %v", lang, id, got)
			}
			for form, text := range texts {
				if strings.TrimSpace(text) == "" || strings.TrimSpace(text) != text || strings.Contains(text, "\n") {
					t.Errorf("%s %s %s: %q", lang, id, form, text)
				}
			}
			for _, count := range []int{0, 1, 2, 1_000_000} {
				if got := p.Say(id, map[string]any{"count": count}); got == "" || got == id && strings.Contains(id, "_") {
					t.Errorf("%s %s with count %d says %q", lang, id, count, got)
				}
			}
		}
	}
}

// TestSourceAndCatalogueAgree looks through the module for ids: whatever is
// named there is in the catalogue with the arguments that it needs, and whatever
// is in the catalogue is named there.
func TestSourceAndCatalogueAgree(t *testing.T) {
	source := readSource(t)
	p := For(English)
	for id, uses := range source.ids {
		if strings.HasSuffix(id, "_") {
			continue // a prefix
		}
		if !p.Has(id) {
			t.Errorf("%s: %q is not in the catalogue", uses[0].at, id)
			continue
		}
		for _, use := range uses {
			for name, optional := range merged(p.messages[id].placeholders, p.messages[id+hintSuffix].placeholders) {
				if use.complete && !optional && !slices.Contains(use.args, name) {
					t.Errorf("%s: %q is given no %q", use.at, id, name)
				}
			}
		}
	}
	for id := range p.messages {
		base := strings.TrimSuffix(id, hintSuffix)
		isDynamic := slices.ContainsFunc(dynamic(), func(prefix string) bool { return strings.HasPrefix(id, prefix) })
		if !isDynamic && !source.literals[base] && !slices.Contains(awaited(), base) {
			t.Errorf("%s: nothing in the source names it", id)
		}
	}
	for _, id := range awaited() {
		if !p.Has(id) {
			t.Errorf("awaited and not in the catalogue: %s", id)
		} else if source.literals[id] {
			t.Logf("no longer awaited: %s", id)
		}
	}
}

type use struct {
	at       string
	args     []string
	complete bool // args are all there are
}

type source struct {
	ids      map[string][]use
	literals map[string]bool
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{ids: map[string][]use{}, literals: map[string]bool{}}
	files := token.NewFileSet()
	count := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != "../.." && (name == "testdata" || strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		count++
		ast.Inspect(parsed, func(n ast.Node) bool { s.note(files, n); return true })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 10 || len(s.ids["state_damaged"]) == 0 {
		t.Fatalf("the source was not found: %d files, %d ids", count, len(s.ids))
	}
	return s
}

func (s *source) note(files *token.FileSet, n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text, ok := literal(n); ok {
			s.literals[text] = true
		}
	case *ast.CallExpr:
		s.call(files, n)
	case *ast.CompositeLit:
		// report.Message{ID: "…", Args: …}
		if name := typeName(n.Type); name != "Message" && name != "Error" {
			return
		}
		for _, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && typeName(pair.Key) == "ID" {
				if id, ok := literal(pair.Value); ok {
					s.ids[id] = append(s.ids[id], use{at: files.Position(n.Pos()).String()})
				}
			}
		}
	}
}

// call notes fault.New(code, "id", "name", value, …), p.Say("id", args) and the
// functions "refuse" that put a fault together.
func (s *source) call(files *token.FileSet, n *ast.CallExpr) {
	selector, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if len(n.Args) == 0 {
		return
	}
	at, first := files.Position(n.Pos()).String(), 0
	isFault := selector.Sel.Name == "New" && typeName(selector.X) == "fault"
	if isFault {
		first = 1
	} else if name := selector.Sel.Name; name != "Say" && name != "say" && name != "refuse" && name != "warn" {
		return
	} else if _, ok := n.Args[0].(*ast.Ident); ok && name == "say" {
		first = 1 // say(level, "id", …)
	}
	if len(n.Args) <= first {
		return
	}
	id, ok := literal(n.Args[first])
	if !ok || selector.Sel.Name == "say" && !snake.MatchString(id) {
		return // another say
	}
	u := use{at: at, complete: isFault && n.Ellipsis == token.NoPos}
	if u.complete {
		for i := first + 1; i < len(n.Args); i += 2 {
			name, _ := literal(n.Args[i])
			u.args = append(u.args, name)
		}
	}
	s.ids[id] = append(s.ids[id], u)
}

var snake = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)+$`)

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// merged is true for a name where every message that names it can do without.
func merged(a, b map[string]bool) map[string]bool {
	out := maps.Clone(a)
	for name, optional := range b {
		if had, there := out[name]; there {
			optional = optional && had
		}
		out[name] = optional
	}
	return out
}

func nodes(t *testing.T, lang Lang) map[string]yaml.Node {
	t.Helper()
	content, err := os.ReadFile(string(lang) + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]yaml.Node
	if err := yaml.Unmarshal(content, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// order is the ids of a file from top to bottom.
func order(t *testing.T, lang Lang) []string {
	t.Helper()
	content, err := os.ReadFile(string(lang) + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := 0; i < len(document.Content[0].Content); i += 2 {
		ids = append(ids, document.Content[0].Content[i].Value)
	}
	return ids
}

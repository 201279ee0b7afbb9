package thtbatch_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAnalystsPageSaysWhatTheDatabaseSays holds the tables of the page for
// analysts against the comments that the database carries: the same views, the
// same columns in the same order, the same words.
func TestAnalystsPageSaysWhatTheDatabaseSays(t *testing.T) {
	t.Parallel()
	view := regexp.MustCompile(`(?m)^COMMENT ON VIEW (\w+) IS '((?:[^']|'')*)';`)
	column := regexp.MustCompile(`(?m)^COMMENT ON COLUMN (\w+)\.(\w+) IS '((?:[^']|'')*)';`)
	heading := regexp.MustCompile("(?m)^### `(\\w+)`\n\n(.*)\n")
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| \\S+ \\| (.*) \\|$")

	said := map[string][]string{}
	for _, name := range []string{"sql/schema/comments.sql", "sql/schema/comments_effective.sql"} {
		text := read(t, name)
		for _, m := range view.FindAllStringSubmatch(text, -1) {
			said[m[1]] = []string{strings.ReplaceAll(m[2], "''", "'")}
		}
		for _, m := range column.FindAllStringSubmatch(text, -1) {
			said[m[1]] = append(said[m[1]], m[2]+": "+strings.ReplaceAll(m[3], "''", "'"))
		}
	}

	page := read(t, "docs/analysts.md")
	sections := heading.FindAllStringSubmatchIndex(page, -1)
	shown := map[string][]string{}
	for i, at := range sections {
		end := len(page)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		name := page[at[2]:at[3]]
		shown[name] = []string{page[at[4]:at[5]]}
		for _, m := range row.FindAllStringSubmatch(page[at[1]:end], -1) {
			shown[name] = append(shown[name], m[1]+": "+m[2])
		}
	}

	if len(said) == 0 || len(shown) != len(said) {
		t.Errorf("the page has %d views, the database %d", len(shown), len(said))
	}
	for name, want := range said {
		if !slices.Equal(shown[name], want) {
			t.Errorf("docs/analysts.md, view %s:\n%s\nthe database:\n%s",
				name, strings.Join(shown[name], "\n"), strings.Join(want, "\n"))
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/thtbatch/thtbatch/internal/words"
)

// widths of the columns that a table needs, in code points.
func widths(table [][]string) []int {
	var out []int
	for _, cells := range table {
		for i, cell := range cells {
			if i == len(out) {
				out = append(out, 0)
			}
			out[i] = max(out[i], utf8.RuneCountInString(cell))
		}
	}
	return out
}

// columns writes a table; right says which columns are aligned there.
func columns(w io.Writer, table [][]string, widths []int, right []bool) error {
	out := bufio.NewWriter(w)
	for _, cells := range table {
		var line strings.Builder
		for i, cell := range cells {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0))
			if right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		// An error stays in the writer and comes back from Flush.
		_, _ = out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.Flush()
}

// TableRows writes the rows of a query for a person: columns side by side, as
// wide as the first rows ask for, numbers to the right, NULL as NULL. What
// could drive the terminal is escaped, and a long cell ends in an ellipsis; CSV
// and JSON have it whole.
type TableRows struct {
	w      io.Writer
	held   [][]string
	widths []int
	right  []bool
	words  []bool // whether a column has had anything but numbers
}

const (
	measuredRows = 500
	widestCell   = 60
)

// NewTableRows writes to w. Close writes what is still held back.
func NewTableRows(w io.Writer) *TableRows { return &TableRows{w: w} }

// Header takes the names of the columns.
func (t *TableRows) Header(names []string) error {
	cells := make([]string, len(names))
	for i, name := range names {
		cells[i] = short(words.Safe(name))
	}
	t.held = append(t.held, cells)
	t.right, t.words = make([]bool, len(names)), make([]bool, len(names))
	return nil
}

// Row takes one row of values as JSON has them.
func (t *TableRows) Row(values []any) error {
	cells := make([]string, len(values))
	for i, value := range values {
		text, isNumber := "NULL", true
		switch v := value.(type) {
		case nil:
		case json.Number:
			text = v.String()
		case string:
			text, isNumber = v, false
		case []any, map[string]any:
			var err error
			if text, err = compact(v); err != nil {
				return fmt.Errorf("column %d: %w", i+1, err)
			}
			isNumber = false
		default:
			text, isNumber = fmt.Sprint(v), false
		}
		t.words[i] = t.words[i] || !isNumber
		cells[i] = short(words.Safe(text))
	}
	t.held = append(t.held, cells)
	if len(t.held) > measuredRows {
		return t.flush()
	}
	return nil
}

// Close writes the rest and leaves the writer open.
func (t *TableRows) Close() error { return t.flush() }

func (t *TableRows) flush() error {
	if t.widths == nil {
		t.widths = widths(t.held)
		for i := range t.right {
			t.right[i] = !t.words[i]
		}
	}
	err := columns(t.w, t.held, t.widths, t.right)
	t.held = t.held[:0]
	return err
}

func short(s string) string {
	if utf8.RuneCountInString(s) <= widestCell {
		return s
	}
	return string([]rune(s)[:widestCell-1]) + "…"
}

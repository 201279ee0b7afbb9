package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// feed writes the same rows with any writer.
func feed(w RowWriter) error {
	return errors.Join(
		w.Header([]string{"n", "text", "n", "list\x1b[2J"}),
		w.Row([]any{json.Number("1"), "perché <&>", json.Number("12345678901234567890.5"), []any{"a", nil}}),
		w.Row([]any{nil, "two\nlines \x1b]0;x\x07", json.Number("-2"), map[string]any{"k": true}}),
		w.Row([]any{json.Number("30"), strings.Repeat("long ", 20), nil, false}),
		w.Close(),
	)
}

func TestJSONRows(t *testing.T) {
	var b bytes.Buffer
	if err := feed(NewJSONRows(&b)); err != nil {
		t.Fatal(err)
	}
	want := `[
{"n":1,"text":"perché <&>","n_2":12345678901234567890.5,"list\u001b[2J":["a",null]},
{"n":null,"text":"two\nlines \u001b]0;x\u0007","n_2":-2,"list\u001b[2J":{"k":true}},
{"n":30,"text":"` + strings.Repeat("long ", 20) + `","n_2":null,"list\u001b[2J":false}
]
`
	if b.String() != want || !json.Valid(b.Bytes()) {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	w := NewJSONRows(&b)
	if err := errors.Join(w.Header([]string{"a"}), w.Close()); err != nil || b.String() != "[]\n" {
		t.Errorf("%v: %q", err, b.String())
	}
}

func TestTableRows(t *testing.T) {
	var b bytes.Buffer
	if err := feed(NewTableRows(&b)); err != nil {
		t.Fatal(err)
	}
	golden(t, "rows.txt", b.Bytes())
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
	b.Reset()
	w := NewTableRows(&b)
	err := w.Header([]string{"n", "s"})
	for i := range 2000 {
		err = errors.Join(err, w.Row([]any{json.Number(fmt.Sprint(i)), "x"}))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2001 || lines[2000] != "1999  x" || lines[1] != "  0  x" {
		t.Errorf("%d lines, %q", len(lines), lines[len(lines)-1])
	}
}

func TestRowWritersReportAFullDisk(t *testing.T) {
	for _, w := range []RowWriter{NewJSONRows(noSpace{}), NewCSVRows(noSpace{}), NewTableRows(noSpace{})} {
		if err := feed(w); !errors.Is(err, errFull) {
			t.Errorf("%T: %v", w, err)
		}
	}
}

var errFull = errors.New("no space left")

type noSpace struct{}

func (noSpace) Write([]byte) (int, error) { return 0, errFull }

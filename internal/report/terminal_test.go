package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

const escapes = "\x1b]0;title\x07\x1b[2J\x7f\u009b31mRED\u0085"

// Nothing that a command writes can drive the terminal, and JSON says the same
// as before.
func TestNothingDrivesTheTerminal(t *testing.T) {
	for name, make := range map[string]func(*bytes.Buffer) RowWriter{
		"json":  func(b *bytes.Buffer) RowWriter { return NewJSONRows(b) },
		"csv":   func(b *bytes.Buffer) RowWriter { return NewCSVRows(b) },
		"table": func(b *bytes.Buffer) RowWriter { return NewTableRows(b) },
	} {
		var b bytes.Buffer
		w := make(&b)
		err := errors.Join(w.Header([]string{escapes}), w.Row([]any{escapes}), w.Row([]any{[]any{escapes}}), w.Close())
		if err != nil || strings.IndexFunc(strings.ReplaceAll(b.String(), "\n", ""), unicode.IsControl) >= 0 {
			t.Errorf("%s: %v, %q", name, err, b.String())
		}
	}
}

func TestEscapedJSONMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[\u0080-\u00bf\x7f\x1b\u0100Âé]{0,9}")).Draw(t, "text")
		var b bytes.Buffer
		if err := Document(&b, map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[text] != text {
			t.Fatalf("%v: %q became %q", err, text, b.String())
		}
		if strings.IndexFunc(strings.ReplaceAll(b.String(), "\n", ""), unicode.IsControl) >= 0 {
			t.Fatalf("%q", b.String())
		}
	})
}

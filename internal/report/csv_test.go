package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	c := NewCSVRows(&b)
	err := errors.Join(
		c.Header([]string{"a", "=b", "c d"}),
		c.Row([]any{nil, nil, nil}),
		c.Row([]any{"", json.Number("-12.5"), true}),
		c.Row([]any{"=HYPERLINK(\"x\")", "+39 06 123", "-5"}),
		c.Row([]any{"\tx", "@SUM", "-1+2"}),
		c.Row([]any{"a,b", "say \"no\"", "two\nlines"}),
		c.Row([]any{[]any{"a", json.Number("1"), nil}, map[string]any{"k": "<&>"}, " = 1"}),
		c.Row([]any{"＝1", "perché", "1.5.2"}),
		c.Close(),
	)
	want := strings.Join([]string{
		`a,'=b,c d`,
		`,,`,
		`"",-12.5,true`,
		`"'=HYPERLINK(""x"")",'+39 06 123,-5`,
		"'\tx,'@SUM,'-1+2",
		"\"a,b\",\"say \"\"no\"\"\",\"two\nlines\"",
		`"[""a"",1,null]","{""k"":""<&>""}",' = 1`,
		`'＝1,perché,1.5.2`, "",
	}, "\n")
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestCSVIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`[-=+@ "',\n\r\t0-9.]{0,6}`)), 2, 5).Draw(t, "row")
		var b bytes.Buffer
		c := NewCSVRows(&b)
		values := make([]any, len(row))
		for i, s := range row {
			values[i] = s
		}
		if err := errors.Join(c.Row(values), c.Close()); err != nil {
			t.Fatal(err)
		}
		read, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(read) != 1 || len(read[0]) != len(row) {
			t.Fatalf("%v: %q", err, read)
		}
		for i, got := range read[0] {
			want := strings.ReplaceAll(visible(harmless(row[i])), "\r\n", "\n") // as encoding/csv reads it
			if got != want {
				t.Fatalf("%q became %q", row[i], got)
			}
			if first := strings.TrimLeft(got, " "); first != "" && strings.ContainsRune("=+-@\t\r\n", rune(first[0])) && !plainNumber(got) {
				t.Fatalf("%q is a formula", got)
			}
		}
	})
}

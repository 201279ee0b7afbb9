package extract

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestMaskedExcerpt(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"seq": 12, "ts": "2026-02-30", "detail": "Rossi, 44"}`, `{"seq": 00, "ts": "0000-00-00", "detail": "xxxxx, 00"}`},
		{`{"type" : "type", "phase":true`, `{"type" : "xxxx", "phase":xxxx`},
		{`{"patient": "seq"}`, `{"xxxxxxx": "xxx"}`},
		{`{"detail":"the \"seq\": 3 of Rossi`, `{"detail":"xxx \"xxx\": 0 xx xxxxx`},
		{`Rossi seq: 3 "type" 4`, `xxxxx xxx: 0 "xxxx" 0`},
		{`"caffè ½ 東京 😀 \u00e9 \n"`, `"xxxxx 0 xx x \x00x0 \x"`},
		{"a\x00\x1b[31m\tb\x7f", "x  [00x x "},
		{"\xff\xfea", "\uFFFD\uFFFDx"},
		{`{"question_context":1,"decision_seq":2,"tables":3,"concepts":4,"id":5,"session_id":6}`,
			`{"question_context":0,"decision_seq":0,"tables":0,"concepts":0,"id":0,"session_id":0}`},
		{strings.Repeat("è", 200), strings.Repeat("x", 160)},
		{strings.Repeat("1", 157) + `"seq":1`, strings.Repeat("0", 157) + `"xx`},
		{"", ""},
	} {
		if got := excerpt([]byte(c.line), false); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.line, got, c.want)
		}
	}
}

// Whatever the line, its words are not in the excerpt.
func TestMaskedExcerptShowsNoText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.String(), rapid.StringMatching(`[{"]?"?(seq|ts|detail)"?: ?"?[a-zà-ü0-9\\"]{0,200}`)).Draw(t, "line")
		got := excerpt([]byte(line), false)
		if n := utf8.RuneCountInString(got); n > excerptLength {
			t.Fatalf("%d code points", n)
		}
		for _, name := range knownNames {
			got = strings.ReplaceAll(got, `"`+name+`"`, "")
		}
		for _, r := range got {
			if unicode.IsLetter(r) && r != 'x' || unicode.IsNumber(r) && r != '0' || unicode.IsControl(r) {
				t.Fatalf("%q is left of %q", r, line)
			}
		}
	})
}

func TestFullExcerpt(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"detail":"Rossi, 44"`, `{"detail":"Rossi, 44"`},
		{"a\x00\x1bb\tc", `a\u0000\u001bb\u0009c`},
		{"caff\xe8 è", "caff\uFFFD è"},
		{strings.Repeat("è", 200), strings.Repeat("è", 160)},
		{strings.Repeat("a", 157) + "\x00bcd", strings.Repeat("a", 157)},
	} {
		if got := excerpt([]byte(c.line), true); got != c.want {
			t.Errorf("%q:\ngot  %q\nwant %q", c.line, got, c.want)
		}
	}
}

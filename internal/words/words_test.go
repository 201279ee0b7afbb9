package words

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/fault"
)

func TestLanguage(t *testing.T) {
	cases := []struct {
		setting, all, messages, lang string
		want                         Lang
	}{
		{"", "", "", "", English},
		{"it", "en_US.UTF-8", "", "", Italian},
		{"en", "it_IT.UTF-8", "it", "it", English},
		{"", "it_IT.UTF-8", "en_US", "en_US", Italian},
		{"", "", "it", "en_US", Italian},
		{"", "", "", "it_CH", Italian},
		{"", "", "", "IT", Italian},
		{"", "C", "it_IT", "it_IT", English},
		{"", "de_DE", "", "it_IT", English},
		{"fr", "", "", "it", Italian}, // settings refuse it; here it says nothing
	}
	for _, c := range cases {
		env := map[string]string{"LC_ALL": c.all, "LC_MESSAGES": c.messages, "LANG": c.lang}
		if got := Language(c.setting, func(name string) string { return env[name] }); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestSay(t *testing.T) {
	cases := []struct {
		id     string
		args   map[string]any
		en, it string
	}{
		{"locked_unnamed", map[string]any{"path": "/s"}, "Another run holds /s.", "Un'altra esecuzione tiene /s."},
		{"partial", map[string]any{"count": 1}, "One item failed; all the others are done.", "Un elemento non è riuscito; tutti gli altri sono fatti."},
		{"partial", map[string]any{"count": int64(12345)}, "12,345 items failed; all the others are done.", "12.345 elementi non sono riusciti; tutti gli altri sono fatti."},
		{"partial", map[string]any{"count": 1_000_000}, "1,000,000 items failed; all the others are done.", "1.000.000 elementi non sono riusciti; tutti gli altri sono fatti."},
		{"state_damaged", map[string]any{"path": "/s/runs.jsonl", "line": 12345, "reason": "not_json"},
			"/s/runs.jsonl, line 12345: damaged (not JSON of the kind expected).", "/s/runs.jsonl, riga 12345: danneggiato (non è JSON del tipo atteso)."},
		{"unknown_command", map[string]any{"command": "bakfill", "nearest": "backfill"},
			"There is no command “bakfill”. Did you mean “backfill”?", "Il comando «bakfill» non esiste. Forse «backfill»?"},
		{"unknown_command", map[string]any{"command": "x"}, "There is no command “x”.", "Il comando «x» non esiste."},
		{"state_unreadable", nil, "? cannot be read.", "? non si può leggere."},
		{"no such id", nil, "no such id", "no such id"},
		{"no_such\x1b[1m", nil, `no_such\x1b[1m`, `no_such\x1b[1m`},
	}
	en, it := For(English), For(Italian)
	for _, c := range cases {
		if got := en.Say(c.id, c.args); got != c.en {
			t.Errorf("%s en: %q", c.id, got)
		}
		if got := it.Say(c.id, c.args); got != c.it {
			t.Errorf("%s it: %q", c.id, got)
		}
	}
	if For("fr").Lang() != English || it.Lang() != Italian {
		t.Error("languages")
	}
}

func TestSayMakesArgumentsSafe(t *testing.T) {
	evil := "a\x1b]0;owned\x07\nb\u202ec\xff\u0085{{.path}}"
	for _, args := range []map[string]any{
		{"path": evil}, {"path": errors.New(evil)}, {"path": []string{evil}}, {"path": Lang(evil)},
		{"path": stringer(evil)}, {"path": struct{ s string }{evil}},
	} {
		got := For(English).Say("locked_unnamed", args)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
			t.Errorf("%T: %q", args["path"], got)
		}
		if !strings.Contains(got, `\x1b]0;owned\x07`) {
			t.Errorf("%T lost: %q", args["path"], got)
		}
	}
	for _, reason := range []string{evil, "line 3: " + evil, evil + " (and 2 more)", "embedded in the space " + evil} {
		if got := For(English).Reason(reason); strings.ContainsFunc(got, hidden) {
			t.Errorf("%q", got)
		}
	}
	if got := For(Italian).Label("action", evil); strings.ContainsFunc(got, hidden) {
		t.Errorf("%q", got)
	}
}

type stringer string

func (s stringer) String() string { return string(s) }

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"/srv/sessioni/città €":    "/srv/sessioni/città €",
		"a\tb\rc":                  `a\x09b\x0dc`,
		"\x7f":                     `\x7f`,
		"\u009b31m":                `\u009b31m`,
		"a\u00a0b\u200bc\u2066d":   `a\u00a0b\u200bc\u2066d`,
		"\xc3(":                    `\xc3(`,
		"\U000e0041":               `\U000e0041`,
		"名前 \ufffd":                "名前 \ufffd",
		"\xff\xfe":                 `\xff\xfe`,
		string([]byte{0xed, 0xa0}): `\xed\xa0`,
		"e\u0301":                  "e\u0301",
	} {
		if got := Safe(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		})).Draw(t, "in")
		got := Safe(in)
		if strings.ContainsFunc(got, hidden) || Safe(got) != got {
			t.Fatalf("%q: %q", in, got)
		}
	})
}

func TestFault(t *testing.T) {
	missing := fault.New(fault.Usage, "state_missing", "path", "/s")
	cases := []struct {
		name                   string
		err                    error
		message, hint, italian string
	}{
		{"nil", nil, "", "", ""},
		{"classified and wrapped", fmt.Errorf("open: %w", missing),
			"There is no state directory at /s: nothing has been computed yet.",
			"Run “thtbatch backfill” first, or name the right directory with --state.",
			"Non c'è una directory dello stato in /s: non è ancora stato calcolato niente."},
		{"with a cause", fault.New(fault.Failed, "state_unreadable", "path", "/s/runs.jsonl").Because(
			&fs.PathError{Op: "open", Path: "/s/runs.jsonl", Err: fs.ErrPermission}),
			"/s/runs.jsonl cannot be read: permission denied.",
			"Check who owns it and its permissions: it should be readable by the user that runs the jobs.",
			"/s/runs.jsonl non si può leggere: permission denied."},
		{"cancelled", fmt.Errorf("scan: %w", context.Canceled),
			"Interrupted. What was done is kept.", "Run the same command again: it goes on from there.",
			"Interrotto. Quello che è fatto resta."},
		{"unclassified", errors.New("scan /a: \x1b[2Jbroken pipe"),
			`Something went wrong: scan /a: \x1b[2Jbroken pipe`, "Run it again. If it stays, --log-level debug shows where it happens: report that.",
			`Qualcosa è andato storto: scan /a: \x1b[2Jbroken pipe`},
		{"of an id that is not in the catalogue", fault.New(fault.Failed, "brand_new", "path", "/x"),
			"Something went wrong: brand_new /x", "Run it again. If it stays, --log-level debug shows where it happens: report that.",
			"Qualcosa è andato storto: brand_new /x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			message, hint := For(English).Fault(c.err)
			if message != c.message || hint != c.hint {
				t.Errorf("%q\n%q", message, hint)
			}
			if message, _ := For(Italian).Fault(c.err); message != c.italian {
				t.Errorf("%q", message)
			}
		})
	}
}

func TestReason(t *testing.T) {
	it := For(Italian)
	for in, want := range map[string]string{
		"":                                   "",
		"zero vector":                        "vettore nullo",
		"refused before: too large":          "rifiutato in passato: too large",
		"line 12: seq: missing (and 3 more)": "riga 12: seq: manca (e altri 3)",
		"seq of line 7 again, and the lines differ":         "di nuovo il seq della riga 7, e le righe differiscono",
		"embedded in the space lexical-1/1024 d":            "vettorizzato nello spazio lexical-1/1024 d",
		"not valid YAML: line 3":                            "non è YAML valido: riga 3",
		"id: not the name of the directory":                 "id: non è il nome della directory",
		"sql_final.sql: not UTF-8":                          "sql_final.sql: non è UTF-8",
		"payload_not_utf8":                                  "payload che non è UTF-8",
		"seq: not an integer from 1 to 9223372036854775807": "seq: non è un intero da 1 a 9223372036854775807",
		"cannot be read: permission denied":                 "non si può leggere: permission denied",
		"something new":                                     "something new",
	} {
		if got := it.Reason(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestNumbersAndTimes(t *testing.T) {
	en, it := For(English), For(Italian)
	for n, want := range map[int64][2]string{
		0: {"0", "0"}, 999: {"999", "999"}, 1000: {"1,000", "1.000"}, 10000: {"10,000", "10.000"},
		-1234567: {"-1,234,567", "-1.234.567"}, 100_000_000: {"100,000,000", "100.000.000"},
	} {
		if got := [2]string{en.Count(n), it.Count(n)}; got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
	for d, want := range map[time.Duration][2]string{
		-time.Second:                                  {"0.0 s", "0,0 s"},
		1250 * time.Millisecond:                       {"1.2 s", "1,2 s"},
		12400 * time.Millisecond:                      {"12 s", "12 s"},
		185 * time.Second:                             {"3 min 5 s", "3 min 5 s"},
		2*time.Hour + 10*time.Minute + 29*time.Second: {"2 h 10 min", "2 h 10 min"},
	} {
		if got := [2]string{en.Duration(d), it.Duration(d)}; got != want {
			t.Errorf("%s: %v", d, got)
		}
	}
	rome := time.FixedZone("", 3600)
	if got := en.shown("since", time.Date(2026, 12, 1, 0, 3, 1, 0, rome)); got != "2026-11-30 23:03:01Z" {
		t.Error(got)
	}
}

func BenchmarkFor(b *testing.B) {
	for b.Loop() {
		For(Italian)
	}
}

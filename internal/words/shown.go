package words

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Safe makes a text harmless where it is shown: control characters, escape
// sequences, marks that turn the direction of writing, invisible characters and
// bytes that are not UTF-8 become \xNN, \uNNNN or \UNNNNNNNN.
func Safe(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && hidden(r):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.String()
}

// hidden: whatever is not a letter, mark, number, punctuation, symbol or blank.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

// shown is an argument as people read it.
func (p *Printer) shown(name string, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		switch name {
		case "reason":
			return p.Reason(v)
		case "action", "kind", "status", "stage":
			return p.Label(name, v)
		}
		return Safe(v)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05Z")
	case time.Duration:
		return p.Duration(v)
	case error:
		return Safe(v.Error())
	case fmt.Stringer:
		return Safe(v.String())
	case []string:
		safe := make([]string, len(v))
		for i, s := range v {
			safe[i] = Safe(s)
		}
		return strings.Join(safe, ", ")
	}
	switch v := reflect.ValueOf(value); {
	case v.CanInt() && identifies(name):
		return strconv.FormatInt(v.Int(), 10)
	case v.CanInt():
		return p.Count(v.Int())
	case v.Kind() == reflect.String:
		return p.shown(name, v.String())
	}
	return Safe(fmt.Sprint(value))
}

// identifies tells numbers that name something from those that count.
func identifies(name string) bool {
	switch name {
	case "pid", "line", "port", "exit", "seq", "offset":
		return true
	}
	return false
}

// Count is a number with its thousands told apart: 1.234 in Italian, 1,234 in
// English.
func (p *Printer) Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	if len(digits) < 4 {
		return sign + digits
	}
	separator := ","
	if p.lang == Italian {
		separator = "."
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + separator + digits[at:]
	}
	return sign + digits
}

// Duration is a time span to the precision that people care about: 0.4 s, 12 s,
// 3 min 5 s, 2 h 10 min.
func (p *Printer) Duration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 10*time.Second:
		seconds := strconv.FormatFloat(d.Seconds(), 'f', 1, 64)
		if p.lang == Italian {
			seconds = strings.Replace(seconds, ".", ",", 1)
		}
		return seconds + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + " s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}

// Label is the short name of a code: Label("action", "insert") says the message
// action_insert. A code that has none is shown as it is.
func (p *Printer) Label(set, code string) string {
	if id := set + "_" + code; p.Has(id) {
		return p.Say(id, nil)
	}
	return Safe(code)
}

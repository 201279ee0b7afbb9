package extract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const excerptLength = 160 // code points

// excerpt shows enough of a line that broke a rule to find it and to see what is
// wrong with it, in at most 160 code points. Unless full is set it is safe to
// show: letters become x and digits 0 wherever they stand, since on a broken line
// nobody can tell what is a value; only punctuation and the names of known fields
// before a colon are kept.
func excerpt(line []byte, full bool) string {
	if full {
		return fullExcerpt(line)
	}
	return maskedExcerpt(line)
}

func maskedExcerpt(line []byte) string {
	var out strings.Builder
	for n := 0; n < excerptLength && len(line) > 0; {
		if name := knownKey(line); name != "" && n+len(name) <= excerptLength {
			out.WriteString(name)
			line = line[len(name):]
			n += len(name)
			continue
		}
		r, size := utf8.DecodeRune(line)
		out.WriteRune(masked(r))
		line = line[size:]
		n++
	}
	return out.String()
}

func masked(r rune) rune {
	switch {
	case r == utf8.RuneError:
		return r
	case unicode.IsNumber(r):
		return '0'
	case r < ' ' || r == 0x7f:
		return ' '
	case r < utf8.RuneSelf && !unicode.IsLetter(r):
		return r // punctuation
	}
	return 'x'
}

// knownKey is the name of a field of ours, with its quotes, when it stands as a
// key at the start of b.
func knownKey(b []byte) string {
	if b[0] != '"' {
		return ""
	}
	end := bytes.IndexByte(b[1:min(len(b), len(`"question_context"`))], '"')
	if end < 0 || !slices.Contains(knownNames[:], string(b[1:1+end])) {
		return ""
	}
	for i := end + 2; i < len(b); i++ {
		if b[i] == ':' {
			return string(b[:end+2])
		}
		if b[i] != ' ' && b[i] != '\t' {
			break
		}
	}
	return ""
}

var knownNames = [...]string{
	"seq", "ts", "type", "subject", "detail", "rationale", "phase",
	"id", "session_id", "decision_seq", "question_context", "tables", "concepts",
}

// fullExcerpt is the line itself; what is no text is made visible.
func fullExcerpt(line []byte) string {
	var out strings.Builder
	for n := 0; n < excerptLength && len(line) > 0; {
		r, size := utf8.DecodeRune(line)
		shown, length := string(r), 1
		if unicode.IsControl(r) {
			shown = fmt.Sprintf(`\u%04x`, r)
			length = len(shown)
		}
		if n+length > excerptLength {
			break
		}
		out.WriteString(shown)
		line = line[size:]
		n += length
	}
	return out.String()
}

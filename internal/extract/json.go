package extract

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deeply the values of a line may be nested. It lies below the
// 10,000 levels where encoding/json stops, so that whatever is kept can be put
// into another document and read again.
const maxDepth = 9000

// member is one key and value of a line's object, as written.
type member struct {
	key        []byte // between the quotes
	value      []byte // with its quotes, if it is a string
	keyEscaped bool   // key holds a backslash
	escaped    bool   // value is a string that holds a backslash
}

// kind is the JSON type of a value: '"', '{', '[', '0' (a number), 't', 'f' or
// 'n'.
func (m *member) kind() byte {
	if c := m.value[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

// text is the body of a string as written.
func (m *member) text() []byte { return m.value[1 : len(m.value)-1] }

// shape is what a line turned out to be.
type shape int

const (
	notJSON shape = iota
	notObject
	tooDeep
	object
)

// splitter checks a line against the grammar of RFC 8259 and cuts the object on
// it into members, in one pass and without recursion. It is not told of
// encodings: the line must be valid UTF-8.
type splitter struct {
	members []member
	open    []byte // brackets that wait for their partner
	deepest int
}

// split fills s.members when the line is an object.
func (s *splitter) split(line []byte) shape {
	s.members, s.deepest = s.members[:0], 0
	i := skipSpace(line, 0)
	if i == len(line) {
		return notJSON
	}
	isObject := line[i] == '{'
	if isObject {
		i = s.object(line, i+1)
	} else {
		i, _ = s.value(line, i)
	}
	switch {
	case i < 0 || skipSpace(line, i) != len(line):
		return notJSON
	case !isObject:
		return notObject
	case s.deepest >= maxDepth:
		return tooDeep
	}
	return object
}

// object reads the members of the outermost object, from behind its brace to
// behind its partner. It returns -1 for what is not JSON, as all of these do.
func (s *splitter) object(b []byte, i int) int {
	if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		var m member
		if i = skipSpace(b, i); i == len(b) || b[i] != '"' {
			return -1
		}
		start := i + 1
		if i, m.keyEscaped = skipString(b, start); i < 0 {
			return -1
		}
		m.key = b[start : i-1]
		if i = skipColon(b, i); i < 0 {
			return -1
		}
		start = i
		if i, m.escaped = s.value(b, start); i < 0 {
			return -1
		}
		m.value = b[start:i]
		s.members = append(s.members, m)
		if i = skipSpace(b, i); i == len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

func (s *splitter) value(b []byte, i int) (end int, escaped bool) {
	switch b[i] {
	case '"':
		return skipString(b, i+1)
	case '{', '[':
		return s.container(b, i), false
	}
	return skipScalar(b, i), false
}

// container reads a nested object or array, from its bracket to behind the
// partner.
func (s *splitter) container(b []byte, i int) int {
	const (
		opened = iota // an element or the end
		filled        // a comma or the end
		comma         // an element
	)
	s.open = append(s.open[:0], b[i])
	s.deepest = max(s.deepest, 1)
	i++
	for state := opened; ; {
		if i = skipSpace(b, i); i == len(b) {
			return -1
		}
		c, inside := b[i], s.open[len(s.open)-1]
		if state != comma && c == inside+2 { // '{' + 2 is '}', '[' + 2 is ']'
			i++
			if s.open = s.open[:len(s.open)-1]; len(s.open) == 0 {
				return i
			}
			state = filled
			continue
		}
		if state == filled {
			if c != ',' {
				return -1
			}
			i, state = i+1, comma
			continue
		}
		if inside == '{' {
			if i = skipKey(b, i); i < 0 {
				return -1
			}
			c = b[i]
		}
		if c == '{' || c == '[' {
			s.open = append(s.open, c)
			s.deepest = max(s.deepest, len(s.open))
			i, state = i+1, opened
			continue
		}
		if i = skipScalar(b, i); i < 0 {
			return -1
		}
		state = filled
	}
}

// skipKey reads a key and its colon, up to the value.
func skipKey(b []byte, i int) int {
	if b[i] != '"' {
		return -1
	}
	if i, _ = skipString(b, i+1); i < 0 {
		return -1
	}
	return skipColon(b, i)
}

func skipColon(b []byte, i int) int {
	if i = skipSpace(b, i); i == len(b) || b[i] != ':' {
		return -1
	}
	if i = skipSpace(b, i+1); i == len(b) {
		return -1
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString reads the rest of a string, to behind its closing quote.
func skipString(b []byte, i int) (end int, escaped bool) {
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			n := escapeLength(b[i:])
			if n == 0 {
				return -1, true
			}
			escaped = true
			i += n
		case c < ' ':
			return -1, escaped
		default:
			i++
		}
	}
	return -1, escaped
}

// escapeLength is the length of the escape at the start of b, 0 if it is none.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func skipScalar(b []byte, i int) int {
	switch b[i] {
	case '"':
		end, _ := skipString(b, i+1)
		return end
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	}
	return skipNumber(b, i)
}

func skipWord(b []byte, i int, word string) int {
	if !bytes.HasPrefix(b[i:], []byte(word)) {
		return -1
	}
	return i + len(word)
}

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	start := i
	if i = skipDigits(b, i); i == start || b[start] == '0' && i > start+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = skipDigits(b, start); i == start {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = skipDigits(b, start); i == start {
			return -1
		}
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// appendUnescaped appends what the body of a valid string stands for. A surrogate
// without its partner becomes U+FFFD.
func appendUnescaped(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		if s[1] == 'u' {
			r, n := unicodeEscape(s)
			dst, s = utf8.AppendRune(dst, r), s[n:]
			continue
		}
		dst, s = append(dst, plainEscape(s[1])), s[2:]
	}
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unicodeEscape reads the \u escape, or pair of them, at the start of s.
func unicodeEscape(s []byte) (r rune, length int) {
	r, _ = hex4(s[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		low, _ := hex4(s[8:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// appendMended appends valid JSON as written, but for escaped surrogates without
// a partner, which readers of JSON may refuse: they become \ufffd.
func appendMended(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i:]
		n := 2
		if raw[1] == 'u' {
			var r rune
			if r, n = unicodeEscape(raw); r == utf8.RuneError && n == 6 {
				dst, raw = append(dst, `\ufffd`...), raw[6:]
				continue
			}
		}
		dst, raw = append(dst, raw[:n]...), raw[n:]
	}
}

package record

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendCanonical appends the canonical JSON of a payload value: no spaces,
// nothing escaped that need not be, and the fields of an object in the order
// given, which is that of their names. It is the form that any JSON library
// gives with sorted keys and without escapes for HTML, JavaScript or ASCII, at a
// fraction of encoding/json's cost: every record of a first night passes here.
func appendCanonical(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendString(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case []string:
		b = append(b, '[')
		for i, s := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, s)
		}
		return append(b, ']'), nil
	case []Field:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, f.Name), ':')
			if b, err = appendCanonical(b, f.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("no canonical form for a %T", v)
}

// appendString escapes what JSON wants escaped and copies the rest; bytes that
// are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			b = append(b, '\\', `"\bfnrt`[at])
			continue
		}
		const digits = "0123456789abcdef"
		b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

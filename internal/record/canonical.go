package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Canonical is JSON with sorted keys, no spaces, and nothing escaped for HTML,
// of any value that JSON has a form for.
func Canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// appendCanonical appends the JSON of a payload value: no spaces, nothing
// escaped that need not be, and the fields of an object in the order given,
// which is that of their names. It gives what Canonical
// gives at a fraction of the cost: every record of a first night passes here.
func appendCanonical(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case []string:
		b = append(b, '[')
		for i, s := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendString(b, s); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case []Field:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendString(b, f.Name); err != nil {
				return nil, err
			}
			b = append(b, ':')
			if b, err = appendCanonical(b, f.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("no canonical form for a %T", v)
}

// appendString copies a string that needs no escape, and leaves the others to
// encoding/json.
func appendString(b []byte, s string) ([]byte, error) {
	if plain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"'), nil
	}
	escaped, err := Canonical(s)
	return append(b, escaped...), err
}

// plain says that JSON writes s as it is.
func plain(s string) bool {
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	// encoding/json escapes the two separators that JavaScript takes for line ends.
	return ascii || utf8.ValidString(s) && !strings.ContainsAny(s, "\u2028\u2029")
}

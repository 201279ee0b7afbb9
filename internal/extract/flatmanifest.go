package extract

import (
	"bytes"
	"unicode/utf8"
)

// flatManifest reads the manifests that nearly every session has, lines of
//
//	key: "text"
//	key: text
//
// with nothing in them that YAML could read otherwise, some fifty times as fast
// as the YAML parser. It gives up (ok false) on everything it is not sure of; when
// it does not, the result is the parser's to the byte.
func flatManifest(content []byte) (m manifest, ok bool) {
	var given [manifestKeys]bool
	for len(content) > 0 {
		var text []byte
		text, content, _ = bytes.Cut(content, []byte{'\n'})
		key, value, found := bytes.Cut(text, []byte(": "))
		if !found || !flatKey(key) || len(value) == 0 {
			return manifest{}, false
		}
		read, ok := flatScalar(value)
		if !ok {
			return manifest{}, false
		}
		at, known := manifestKey(string(key))
		if !known {
			continue
		}
		if given[at] {
			return manifest{}, false
		}
		given[at], m.values[at], m.read = true, read, true
	}
	return m, m.read
}

func flatKey(key []byte) bool {
	for _, c := range key {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return len(key) > 0 && len(key) <= 64 && key[0] != '_'
}

// flatScalar is the text of a scalar that ends with its line.
func flatScalar(value []byte) (text string, ok bool) {
	if !printable(value) {
		return "", false
	}
	if value[0] == '"' {
		return flatQuoted(value[1:])
	}
	return flatPlain(value)
}

// flatQuoted reads a double-quoted scalar behind its first quote. Of escapes it
// knows those that the YAML parser shares with JSON.
func flatQuoted(b []byte) (text string, ok bool) {
	end, escaped := skipString(b, 0)
	if end != len(b) {
		return "", false
	}
	b = b[:end-1]
	if !escaped {
		return string(b), true
	}
	// The parser refuses \/ and surrogates.
	if bytes.Contains(b, []byte(`\/`)) || bytes.Contains(b, []byte(`\u`)) {
		return "", false
	}
	return string(appendUnescaped(nil, b)), true
}

// flatPlain reads a plain scalar that begins with a letter, a digit or anything
// beyond ASCII, and holds no comment and no key.
func flatPlain(b []byte) (text string, ok bool) {
	if c := b[0]; c < utf8.RuneSelf && !letterOrDigit(c) {
		return "", false
	}
	for i, c := range b {
		switch c {
		case '#':
			return "", false
		case ':':
			if i+1 == len(b) || !letterOrDigit(b[i+1]) {
				return "", false
			}
		}
	}
	if b[len(b)-1] == ' ' {
		return "", false
	}
	switch text = string(b); text {
	case "null", "Null", "NULL":
		return "", true
	}
	return text, true
}

func letterOrDigit(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// printable says that valid UTF-8 holds nothing that YAML refuses or breaks lines
// at: no controls, no NEL, LS or PS, no byte order mark, no non-character.
func printable(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if c := b[i]; c >= ' ' && c < 0x7f {
			continue
		} else if c < utf8.RuneSelf {
			return false
		}
		r, size := utf8.DecodeRune(b[i:])
		if r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0xfff0 && r <= 0xffff {
			return false
		}
		i += size - 1
	}
	return true
}

package report

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// Data is looked at on terminals too, and some of the bytes in it drive them.

// visible writes what drives a terminal as \xNN. Tabs and line ends stay.
func visible(text string) string {
	if strings.IndexFunc(text, drives) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if drives(r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func drives(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' }

// visibleJSON escapes the control characters that encoding/json leaves as they
// are, DEL and U+0080 to U+009F. In a document they stand in strings only, where
// the escape means the same.
func visibleJSON(document []byte) []byte {
	if bytes.IndexByte(document, 0x7f) < 0 && bytes.IndexByte(document, 0xc2) < 0 {
		return document
	}
	out := make([]byte, 0, len(document)+64)
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case c == 0x7f:
			out = append(out, `\u007f`...)
		case c == 0xc2 && i+1 < len(document) && document[i+1] < 0xa0:
			i++
			out = fmt.Appendf(out, `\u%04x`, document[i])
		default:
			out = append(out, c)
		}
	}
	return out
}

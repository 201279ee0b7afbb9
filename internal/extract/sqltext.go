package extract

import (
	"bytes"
	"unicode/utf8"
)

// Reasons for which an approved SQL is no good.
const (
	reasonSQLEmpty = "empty"
	reasonSQLUTF8  = "not UTF-8"
)

// sqlText is the statement that a file holds, or why there is none: without a
// byte order mark, with line ends LF, without white space (Unicode's) at either
// end. It may share the memory of content.
func sqlText(content []byte) (text []byte, reason string) {
	if !utf8.Valid(content) {
		return nil, reasonSQLUTF8
	}
	text = bytes.TrimPrefix(content, []byte(byteOrderMark))
	if bytes.IndexByte(text, '\r') >= 0 {
		text = withLF(text)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, reasonSQLEmpty
	}
	return text, ""
}

// withLF is a copy of text with CRLF and CR turned into LF.
func withLF(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for {
		i := bytes.IndexByte(text, '\r')
		if i < 0 {
			return append(out, text...)
		}
		out = append(append(out, text[:i]...), '\n')
		text = bytes.TrimPrefix(text[i+1:], []byte{'\n'})
	}
}

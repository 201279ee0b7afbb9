package model

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// firstWord finds the first whole word in s that is prefix and digits, and
// gives the digits; "" when there is none. A whole word has no letter, digit or
// underscore before or after it.
func firstWord(prefix, s string) string {
	for at := range s {
		if !strings.HasPrefix(s[at:], prefix) {
			continue
		}
		if before, _ := utf8.DecodeLastRuneInString(s[:at]); at > 0 && wordRune(before) {
			continue
		}
		rest := s[at+len(prefix):]
		n := 0
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		if n == 0 {
			continue
		}
		if after, _ := utf8.DecodeRuneInString(rest[n:]); n < len(rest) && wordRune(after) {
			continue
		}
		return rest[:n]
	}
	return ""
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// smallNumber reads digits; what is beyond 64 bits names nothing.
func smallNumber(digits string) (int64, bool) {
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || !n.IsInt64() {
		return 0, false
	}
	return n.Int64(), true
}

// wording is a text without what does not make it another text: NFC, lower
// case, runs of white space as one space, trimmed.
func wording(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFC.String(s))), " ")
}

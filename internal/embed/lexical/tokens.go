package lexical

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

type kind uint8

const (
	kindWord   kind = iota // of letters, perhaps with digits
	kindNumber             // of digits, canonical
	kindWhole              // an identifier of several parts, which follow as words
)

// token is a stretch of the lower-case buffer of a scanner.
type token struct {
	start, end int
	kind       kind
	// stop tokens say nothing of what a text is about.
	stop    bool
	meaning *meaning // never nil
}

// scanner cuts a text into tokens. Its buffers are used again for the next one.
type scanner struct {
	vocabulary vocabulary
	plain      meaning // of what the vocabulary does not hold
	folded     []byte  // the text without marks
	lower      []byte  // what the tokens point into
	tokens     []token
	words      int // looked up so far
	// function counts function words, ending other words that end as the
	// words of a language mostly do.
	function, ending [languages]int
}

// scan fills tokens from text.
func (s *scanner) scan(text string) {
	s.fold(text)
	s.lower, s.tokens = s.lower[:0], s.tokens[:0]
	s.words, s.function, s.ending = 0, [languages]int{}, [languages]int{}
	b := s.folded
	for i := 0; i < len(b); {
		r, size := decode(b[i:])
		switch {
		case isDigit(r):
			i = s.scanNumber(i)
		case isWord(r):
			i = s.scanCompound(i)
		default:
			i += size
		}
	}
}

// fold writes text to folded in compatibility decomposition (NFKD) and without
// the marks that this sets free, so that "perché", "perche" and a decomposed
// "perché" are one word. Letters keep their case: it shows where the parts of
// an identifier meet.
func (s *scanner) fold(text string) {
	s.folded = s.folded[:0]
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && text[j] < utf8.RuneSelf {
			j++
		}
		s.folded = append(s.folded, text[i:j]...)
		i = j
		for j < len(text) && text[j] >= utf8.RuneSelf {
			j++
		}
		if i == j {
			continue
		}
		at := len(s.folded)
		s.folded = norm.NFKD.AppendString(s.folded, text[i:j])
		s.folded = append(s.folded[:at], dropMarks(s.folded[at:])...)
		i = j
	}
}

func dropMarks(b []byte) []byte {
	kept := b[:0]
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if !unicode.Is(unicode.Mn, r) {
			kept = append(kept, b[:size]...)
		}
		b = b[size:]
	}
	return kept
}

// scanNumber reads digits with points and commas between them. Where letters
// follow, it was no number but the start of a word such as "2023Q1".
func (s *scanner) scanNumber(start int) int {
	b := s.folded
	end := start
	for end < len(b) {
		r, size := decode(b[end:])
		if isDigit(r) {
			end += size
			continue
		}
		if (r == '.' || r == ',') && end+1 < len(b) && b[end+1] >= '0' && b[end+1] <= '9' {
			end++
			continue
		}
		if isWord(r) {
			return s.scanCompound(start)
		}
		break
	}
	s.addNumber(b[start:end])
	return end
}

// addNumber writes a number without grouping: a separator that is followed by
// exactly three digits groups thousands, any other is a decimal point, so that
// "1.200", "1,200" and "1200" are one number and "1,5" and "1.5" another.
func (s *scanner) addNumber(digits []byte) {
	at := len(s.lower)
	for i := 0; i < len(digits); i++ {
		c := digits[i]
		if c != '.' && c != ',' {
			s.lower = append(s.lower, c)
			continue
		}
		group := digits[i+1:]
		if n := bytes.IndexAny(group, ".,"); n >= 0 {
			group = group[:n]
		}
		if len(group) != 3 {
			s.lower = append(s.lower, '.')
		}
	}
	s.tokens = append(s.tokens, token{start: at, end: len(s.lower), kind: kindNumber, meaning: &s.plain})
}

// scanCompound reads a word, or an identifier: words joined by underscores,
// by points with no space around, or by a change of case.
func (s *scanner) scanCompound(start int) int {
	end, points := s.compoundEnd(start)
	if points {
		at := len(s.lower)
		s.lower = appendLower(s.lower, s.folded[start:end])
		s.tokens = append(s.tokens, token{start: at, end: len(s.lower), kind: kindWhole, meaning: &s.plain})
	}
	for from := start; from < end; {
		to := from
		for to < end && s.folded[to] != '.' {
			to++
		}
		s.scanIdentifier(from, to)
		from = to + 1
	}
	return end
}

func (s *scanner) compoundEnd(start int) (end int, points bool) {
	b := s.folded
	for end = start; end < len(b); {
		r, size := decode(b[end:])
		if isWord(r) {
			end += size
			continue
		}
		if r == '.' && end > start && end+1 < len(b) {
			if next, _ := decode(b[end+1:]); isWord(next) && next != '_' {
				end, points = end+1, true
				continue
			}
		}
		break
	}
	return end, points
}

// scanIdentifier reads what lies between two points: one word, or the whole of
// several and then each of them. The whole is written with underscores, however
// the parts were joined.
func (s *scanner) scanIdentifier(start, end int) {
	first, at := len(s.tokens), len(s.lower)
	s.tokens = append(s.tokens, token{start: at, kind: kindWhole, meaning: &s.plain})
	for from := start; from < end; {
		if s.folded[from] == '_' {
			from++
			continue
		}
		if len(s.tokens) > first+1 {
			s.lower = append(s.lower, '_')
		}
		to := from + partEnd(s.folded[from:end])
		s.addPart(from, to)
		from = to
	}
	if len(s.tokens) < first+3 {
		s.tokens = append(s.tokens[:first], s.tokens[first+1:]...)
		return
	}
	all := &s.tokens[first]
	all.end = len(s.lower)
	if m := s.vocabulary[string(s.lower[at:])]; m != nil && m.stop {
		// What is dropped whole is dropped with its parts.
		all.stop = true
		s.tokens = s.tokens[:first+1]
	}
}

// partEnd is the length of the first part of an identifier: up to an
// underscore, before an upper-case letter that follows a lower-case one, and
// before the last of several upper-case letters that a lower-case one follows.
func partEnd(b []byte) int {
	var last rune
	for i := 0; i < len(b); {
		r, size := decode(b[i:])
		if r == '_' {
			return i
		}
		if i > 0 && unicode.IsUpper(r) {
			next, _ := decode(b[i+size:])
			if unicode.IsLower(last) || unicode.IsUpper(last) && unicode.IsLower(next) {
				return i
			}
		}
		last = r
		i += size
	}
	return len(b)
}

// addPart writes one word in lower case and looks it up.
func (s *scanner) addPart(from, to int) {
	at := len(s.lower)
	s.lower = appendLower(s.lower, s.folded[from:to])
	w := s.lower[at:]
	t := token{start: at, end: len(s.lower), meaning: s.vocabulary[string(w)]}
	if t.meaning == nil {
		t.meaning = &s.plain
	}
	if allDigits(w) {
		t.kind = kindNumber
	} else {
		t.stop = s.stops(from, to, t.meaning.stop)
		s.countSigns(w, t)
		s.words++
	}
	s.tokens = append(s.tokens, t)
}

// stops tells whether a word says nothing. A single letter that an apostrophe
// joins to a word does, as in "c'è" and "patient's". An upper-case one that
// does not begin the text names something, as in "epatite A".
func (s *scanner) stops(from, to int, known bool) bool {
	if to-from != 1 {
		return known
	}
	if isApostrophe(s.folded[:from], bytes.HasSuffix) || isApostrophe(s.folded[to:], bytes.HasPrefix) {
		return true
	}
	return known && (s.words == 0 || !unicode.IsUpper(rune(s.folded[from])))
}

func isApostrophe(b []byte, at func(b, mark []byte) bool) bool {
	return at(b, []byte("'")) || at(b, []byte("\u2019"))
}

// countSigns collects what language guesses from.
func (s *scanner) countSigns(w []byte, t token) {
	for l, yes := range t.meaning.of {
		if yes {
			s.function[l]++
		}
	}
	if t.stop {
		return
	}
	switch w[len(w)-1] {
	case 'a', 'e', 'i', 'o', 'u':
		s.ending[italian]++
	default:
		s.ending[english]++
	}
}

// language of the text as a whole: the one with more function words, else the
// one whose words mostly end as these do: Italian ones in a vowel.
func (s *scanner) language() language {
	it, en := s.function[italian], s.function[english]
	if it == en {
		it, en = s.ending[italian], s.ending[english]
	}
	if en > it {
		return english
	}
	return italian
}

func decode(b []byte) (rune, int) {
	if len(b) > 0 && b[0] < utf8.RuneSelf {
		return rune(b[0]), 1
	}
	return utf8.DecodeRune(b)
}

func isDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return unicode.IsDigit(r)
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func appendLower(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		c := src[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		i += size
	}
	return dst
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

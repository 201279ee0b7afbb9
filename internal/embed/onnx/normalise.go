package onnx

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// normaliser makes what a tokenizer.json does to a text before it is cut into
// words. Format: https://huggingface.co/docs/tokenizers/api/normalizers
func normaliser(raw json.RawMessage) (func(string) string, error) {
	var n struct {
		Type        string            `json:"type"`
		Normalizers []json.RawMessage `json:"normalizers"`
		Clean       bool              `json:"clean_text"`
		Chinese     bool              `json:"handle_chinese_chars"`
		Accents     *bool             `json:"strip_accents"`
		Lower       bool              `json:"lowercase"`
		Map         string            `json:"precompiled_charsmap"`
		Left        bool              `json:"strip_left"`
		Right       bool              `json:"strip_right"`
		Prepend     string            `json:"prepend"`
		Content     string            `json:"content"`
		Pattern     struct {
			String *string
			Regex  *string
		} `json:"pattern"`
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &n); err != nil {
			return nil, fmt.Errorf("the normalizer is not one")
		}
	}
	switch n.Type {
	case "":
		return func(s string) string { return s }, nil
	case "Sequence":
		var all []func(string) string
		for _, raw := range n.Normalizers {
			one, err := normaliser(raw)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return func(s string) string {
			for _, one := range all {
				s = one(s)
			}
			return s
		}, nil
	case "BertNormalizer":
		// Where nothing is said, accents go with the upper case.
		accents := n.Lower
		if n.Accents != nil {
			accents = *n.Accents
		}
		return bert(n.Clean, n.Chinese, accents, n.Lower), nil
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Lowercase":
		return lower, nil
	case "StripAccents":
		return without(unicode.M), nil
	case "Strip":
		return func(s string) string {
			if n.Left {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if n.Right {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		}, nil
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return n.Prepend + s
		}, nil
	case "Replace":
		if n.Pattern.String != nil {
			return func(s string) string { return strings.ReplaceAll(s, *n.Pattern.String, n.Content) }, nil
		}
		if n.Pattern.Regex != nil {
			if expression, err := regexp.Compile(*n.Pattern.Regex); err == nil {
				return func(s string) string { return expression.ReplaceAllLiteralString(s, n.Content) }, nil
			}
		}
	case "Precompiled":
		return precompiled(n.Map)
	}
	return nil, fmt.Errorf("a normalizer that is not known")
}

// bert is the normalisation of BERT's own tokenizer.
func bert(clean, chinese, accents, small bool) func(string) string {
	withoutAccents := without(unicode.Mn)
	return func(s string) string {
		var b strings.Builder
		for _, c := range s {
			switch {
			case clean && (c == 0 || c == unicode.ReplacementChar || control(c)):
			case clean && unicode.IsSpace(c):
				b.WriteByte(' ')
			case chinese && ideograph(c):
				b.WriteByte(' ')
				b.WriteRune(c)
				b.WriteByte(' ')
			default:
				b.WriteRune(c)
			}
		}
		s = b.String()
		if accents {
			s = withoutAccents(norm.NFD.String(s))
		}
		if small {
			s = lower(s)
		}
		return s
	}
}

// control characters are not those that Unicode has not assigned, though unicode.C
// has them too: they stay, as unknown tokens.
func control(c rune) bool {
	return c != '\t' && c != '\n' && c != '\r' && unicode.In(c, unicode.Cc, unicode.Cf, unicode.Co)
}

func without(marks *unicode.RangeTable) func(string) string {
	return func(s string) string {
		return strings.Map(func(c rune) rune {
			if unicode.Is(marks, c) {
				return -1
			}
			return c
		}, s)
	}
}

// lower keeps the dot of İ, as Unicode's own rule does and strings.ToLower does not.
func lower(s string) string { return strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")) }

// evenSpaces makes white space of every kind and length one blank.
func evenSpaces(s string) string { return strings.Join(strings.Fields(s), " ") }

// ideograph: the blocks of CJK ideographs that BERT sets apart.
func ideograph(c rune) bool {
	for _, block := range [][2]rune{
		{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
		{0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
	} {
		if c >= block[0] && c <= block[1] {
			return true
		}
	}
	return false
}

// precompiled reads the character map of SentencePiece: the size of a trie in
// bytes, the trie as a double array, and texts that end with a NUL. Format:
// https://github.com/google/sentencepiece (normalizer.cc, builder.cc) and
// https://github.com/s-yata/darts-clone.
func precompiled(encoded string) (func(string) string, error) {
	blob, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(blob) < 4 {
		return nil, fmt.Errorf("the character map is not base64")
	}
	size := int(binary.LittleEndian.Uint32(blob))
	if size%4 != 0 || size > len(blob)-4 {
		return nil, fmt.Errorf("the character map is cut short")
	}
	trie := make([]uint32, size/4)
	for i := range trie {
		trie[i] = binary.LittleEndian.Uint32(blob[4+4*i:])
	}
	m := charMap{trie, blob[4+size:]}
	return m.normalise, nil
}

type charMap struct {
	trie  []uint32
	texts []byte
}

// normalise looks every short grapheme up as a whole, and else its characters.
func (m charMap) normalise(s string) string {
	var b strings.Builder
	for rest, state := s, -1; rest != ""; {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(grapheme) < 6 {
			if text, ok := m.lookup(grapheme); ok {
				b.WriteString(text)
				continue
			}
		}
		for _, c := range grapheme {
			if text, ok := m.lookup(string(c)); ok {
				b.WriteString(text)
			} else {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// lookup is the text for the shortest beginning of key that the trie has.
func (m charMap) lookup(key string) (string, bool) {
	at := uint32(0)
	if len(m.trie) == 0 {
		return "", false
	}
	at ^= offset(m.trie[0])
	for i := range len(key) {
		at ^= uint32(key[i])
		if int(at) >= len(m.trie) {
			return "", false
		}
		unit := m.trie[at]
		if unit&(1<<31|0xFF) != uint32(key[i]) {
			return "", false
		}
		at ^= offset(unit)
		if unit>>8&1 == 1 { // it has a value, which is the unit at its offset
			if int(at) >= len(m.trie) {
				return "", false
			}
			return m.text(m.trie[at] & (1<<31 - 1))
		}
	}
	return "", false
}

// offset of a unit of the double array.
func offset(unit uint32) uint32 { return (unit >> 10) << ((unit & (1 << 9)) >> 6) }

func (m charMap) text(from uint32) (string, bool) {
	if int(from) > len(m.texts) {
		return "", false
	}
	text, _, found := strings.Cut(string(m.texts[from:]), "\x00")
	return text, found
}

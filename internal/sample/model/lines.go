package model

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// line is a line of a JSON Lines file that is not blank.
type line struct {
	number int64
	object map[string]json.RawMessage // nil when it is no JSON object
	torn   bool                       // the last line, without a newline, and not JSON
}

func readLines(data []byte) []line {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var out []line
	parts := bytes.Split(data, []byte("\n"))
	for i, text := range parts {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l := line{number: int64(i + 1)}
		// encoding/json replaces bad UTF-8 instead of refusing it.
		isJSON := utf8.Valid(text) && json.Valid(text)
		switch {
		case !isJSON:
			l.torn = i == len(parts)-1
		case bytes.TrimSpace(text)[0] == '{':
			if err := json.Unmarshal(text, &l.object); err != nil {
				l.object = nil
			}
		}
		out = append(out, l)
	}
	return out
}

// text reads a string; missing and null are empty.
func text(raw json.RawMessage) (string, bool) {
	if isNull(raw) {
		return "", true
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

var digits = regexp.MustCompile(`^[0-9]+$`)

// number reads a JSON number as an exact fraction. Exponents are taken only
// where the value can still be an integer of 64 bits.
func number(raw json.RawMessage) (*big.Rat, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return nil, false
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err != nil || f > 1e20 || f < -1e20 || (f != 0 && f < 1e-20 && f > -1e-20) {
		return nil, false
	}
	return new(big.Rat).SetString(string(raw))
}

// seq reads an integer 1..2^63-1, also as 3.0 and "3".
func seq(raw json.RawMessage) (int64, bool) {
	if s, ok := text(raw); ok {
		n, good := new(big.Int).SetString(s, 10)
		if !digits.MatchString(s) || !good || !n.IsInt64() || n.Sign() == 0 {
			return 0, false
		}
		return n.Int64(), true
	}
	r, ok := number(raw)
	if !ok || !r.IsInt() || !r.Num().IsInt64() || r.Sign() <= 0 {
		return 0, false
	}
	return r.Num().Int64(), true
}

var phaseText = regexp.MustCompile(`^F?[1-8]$`)

// phase reads 1..8, also as 4.0, "4" and "F4"; the caller asked for null.
func phase(raw json.RawMessage) (int64, bool) {
	if s, ok := text(raw); ok {
		if !phaseText.MatchString(s) {
			return 0, false
		}
		return int64(s[len(s)-1] - '0'), true
	}
	n, ok := seq(raw)
	return n, ok && n <= 8
}

var timeText = regexp.MustCompile(
	`^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$`)

// instant reads a time as microseconds of the epoch.
func instant(raw json.RawMessage) (int64, bool) {
	if isNull(raw) {
		return 0, false
	}
	if r, ok := number(raw); ok {
		micros := new(big.Rat).Mul(r, big.NewRat(1e6, 1))
		whole := new(big.Int).Quo(micros.Num(), micros.Denom())
		return whole.Int64(), whole.IsInt64()
	}
	s, ok := text(raw)
	m := timeText.FindStringSubmatch(s)
	if !ok || m == nil {
		return 0, false
	}
	clock, seconds, fraction, offset := m[2], m[3], m[4], m[5]
	if clock == "" {
		clock = "00:00"
	}
	if seconds == "" {
		seconds = "00"
	}
	switch {
	case offset == "":
		offset = "Z"
	case len(offset) == 3:
		offset += ":00"
	case len(offset) == 5:
		offset = offset[:3] + ":" + offset[3:]
	}
	t, err := time.Parse("2006-01-02T15:04:05Z07:00", m[1]+"T"+clock+":"+seconds+offset)
	if err != nil {
		return 0, false
	}
	micros, _ := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
	return t.Unix()*1e6 + micros, true
}

// list reads a list of strings; missing and null are empty.
func list(raw json.RawMessage) bool {
	if isNull(raw) {
		return true
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return false
	}
	for _, e := range elements {
		if _, ok := text(e); !ok || isNull(e) {
			return false
		}
	}
	return true
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

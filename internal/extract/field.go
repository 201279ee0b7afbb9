package extract

import (
	"bytes"
)

// Reasons for which a field breaks its rule. They are public: analysts group by
// them. They name fields and rules, never values.
const (
	reasonSeqMissing = "seq: missing"
	reasonSeq        = "seq: not an integer from 1 to 9223372036854775807"
	reasonTSMissing  = "ts: missing"
	reasonTS         = "ts: not an ISO 8601 date and time"
	reasonType       = "type: not a string"
	reasonTypeEmpty  = "type: empty"
	reasonPhase      = "phase: not an integer from 1 to 8"
)

// fields reads the values of one line. Texts that had to be unescaped live in its
// arena and are valid until reset, as texts that had not are until the line's
// buffer is used again.
type fields struct {
	arena []byte
	keys  map[string]int // of extra, when there are many
	order []int
	last  []int
}

func (f *fields) reset() { f.arena = f.arena[:0] }

// body is what a string stands for.
func (f *fields) body(raw []byte, escaped bool) []byte {
	if !escaped {
		return raw
	}
	start := len(f.arena)
	f.arena = appendUnescaped(f.arena, raw)
	return f.arena[start:len(f.arena):len(f.arena)]
}

func (f *fields) key(m *member) []byte { return f.body(m.key, m.keyEscaped) }

// text reads a string; a missing or null one is empty.
func (f *fields) text(m *member) (text []byte, ok bool) {
	if absent(m) {
		return nil, true
	}
	if m.kind() != '"' {
		return nil, false
	}
	return f.body(m.text(), m.escaped), true
}

// absent says that a field is missing or null.
func absent(m *member) bool { return m == nil || m.kind() == 'n' }

// seq reads an integer from 1 to 2^63-1: 3, 3.0, 3e0 or "3".
func (f *fields) seq(m *member) (int64, bool) {
	n, ok := f.integer(m)
	return n, ok && n >= 1
}

// phase reads an integer from 1 to 8: 4, 4.0, "4" or "F4".
func (f *fields) phase(m *member) (int8, bool) {
	if m.kind() != '"' {
		n, ok := f.integer(m)
		return int8(n), ok && 1 <= n && n <= 8
	}
	s := bytes.TrimPrefix(f.body(m.text(), m.escaped), []byte("F"))
	if len(s) != 1 || s[0] < '1' || s[0] > '8' {
		return 0, false
	}
	return int8(s[0] - '0'), true
}

func (f *fields) integer(m *member) (int64, bool) {
	switch m.kind() {
	case '0':
		if n, ok := readDigits(m.value); ok {
			return n, true
		}
		return readDecimal(m.value, f.scratch()).integer(0, false)
	case '"':
		return readDigits(f.body(m.text(), m.escaped))
	}
	return 0, false
}

// ts reads a date and time, or a number of seconds of the epoch, as
// microseconds of the epoch.
func (f *fields) ts(m *member) (int64, bool) {
	switch m.kind() {
	case '0':
		return epochMicros(m.value, f.scratch())
	case '"':
		return parseTime(f.body(m.text(), m.escaped))
	}
	return 0, false
}

// scratch is the free end of the arena.
func (f *fields) scratch() []byte { return f.arena[len(f.arena):] }

// manyKeys is how many other fields are told apart without a map.
const manyKeys = 16

// extra makes a JSON object of the members that keep: keys in the order of their
// first appearance, of a repeated key the last value, values as written. It is
// nil when there are none.
func (f *fields) extra(members []member, keep []int) []byte {
	if len(keep) == 0 {
		return nil
	}
	f.distinct(members, keep)
	start := len(f.arena)
	f.arena = append(f.arena, '{')
	for i, at := range f.order {
		if i > 0 {
			f.arena = append(f.arena, ',')
		}
		f.arena = append(f.arena, '"')
		f.arena = appendMended(f.arena, members[at].key)
		f.arena = append(f.arena, '"', ':')
		f.arena = appendMended(f.arena, members[f.last[i]].value)
	}
	f.arena = append(f.arena, '}')
	return f.arena[start:len(f.arena):len(f.arena)]
}

// distinct fills order with the first and last with the last member of each key.
func (f *fields) distinct(members []member, keep []int) {
	f.order, f.last = f.order[:0], f.last[:0]
	if len(keep) > manyKeys {
		f.keys = make(map[string]int, len(keep))
		defer func() { f.keys = nil }()
	}
	for _, at := range keep {
		if i := f.find(members, f.key(&members[at])); i >= 0 {
			f.last[i] = at
			continue
		}
		f.order, f.last = append(f.order, at), append(f.last, at)
	}
}

// find is the place of a key in order, or -1; a key that is new to the map is put
// there.
func (f *fields) find(members []member, key []byte) int {
	if f.keys != nil {
		if i, ok := f.keys[string(key)]; ok {
			return i
		}
		f.keys[string(key)] = len(f.order)
		return -1
	}
	for i, at := range f.order {
		if bytes.Equal(f.key(&members[at]), key) {
			return i
		}
	}
	return -1
}

package extract

import (
	"bytes"
	"iter"
	"unicode/utf8"
)

// Reasons for which a line is no record at all.
const (
	reasonTorn      = "torn tail"
	reasonUTF8      = "not UTF-8"
	reasonJSON      = "not valid JSON"
	reasonObject    = "not a JSON object"
	reasonDepth     = "nested deeper than 9000 levels"
	byteOrderMark   = "\uFEFF"
	linesBetweenCtx = 4096 // lines between two looks at the context
)

// line is one physical line of a file.
type line struct {
	number int64  // from 1
	offset int64  // of its first byte in the file, a byte order mark included
	text   []byte // without a line end or byte order mark
	ended  bool   // by a newline
}

func (l line) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

// lines cuts content into physical lines. What follows the last newline is a line
// if there is anything.
func lines(content []byte) iter.Seq[line] {
	return func(yield func(line) bool) {
		l := line{number: 1}
		rest := bytes.TrimPrefix(content, []byte(byteOrderMark))
		for next := int64(0); len(rest) > 0; l.number++ {
			l.text, rest, l.ended = bytes.Cut(rest, []byte{'\n'})
			l.offset, next = next, int64(len(content)-len(rest))
			l.text = bytes.TrimSuffix(l.text, []byte{'\r'})
			if !yield(l) {
				return
			}
		}
	}
}

// recordReader reads the objects of a JSON Lines file.
type recordReader struct {
	splitter splitter
	fields   fields
	other    []int // members that are no field of ours
	utf8     bool  // the file as a whole is UTF-8
}

func (r *recordReader) start(content []byte) { r.utf8 = utf8.Valid(content) }

// object cuts a line into members, or says why it is no record. Both end with
// the next call.
func (r *recordReader) object(l line) (members []member, reason string) {
	r.fields.reset()
	r.other = r.other[:0]
	valid := r.utf8 || utf8.Valid(l.text)
	shape := notJSON
	if valid {
		shape = r.splitter.split(l.text)
	}
	switch {
	case shape == notJSON && !l.ended:
		return nil, reasonTorn
	case !valid:
		return nil, reasonUTF8
	case shape == notJSON:
		return nil, reasonJSON
	case shape == notObject:
		return nil, reasonObject
	case shape == tooDeep:
		return nil, reasonDepth
	}
	return r.splitter.members, ""
}

func (r *recordReader) extra() []byte {
	return r.fields.extra(r.splitter.members, r.other)
}

// forget lets go of what an uncommonly large file left behind.
func (r *recordReader) forget() {
	if cap(r.fields.arena) > keptBuffer {
		r.fields.arena = nil
	}
	if cap(r.splitter.members) > keptBuffer>>8 {
		r.splitter.members, r.other, r.fields.order, r.fields.last = nil, nil, nil, nil
	}
	if cap(r.splitter.open) > keptBuffer {
		r.splitter.open = nil
	}
}

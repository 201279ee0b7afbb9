package sample

import (
	"bytes"
	"fmt"
)

// fault is one of the ways in which a directory is odd.
type fault string

const (
	plain      fault = ""
	crlf       fault = "crlf"
	bom        fault = "bom"
	torn       fault = "torn"
	badLine    fault = "bad line"
	repeat     fault = "repeat"
	clash      fault = "clash"
	shuffled   fault = "shuffled"
	spelled    fault = "spelled"
	noManifest fault = "no manifest"
	otherID    fault = "other id"
	empty      fault = "empty"
)

var faults = [...]fault{crlf, bom, torn, badLine, repeat, clash, shuffled, spelled, noManifest, otherID, empty}

// ledger is the file, with its fault.
func (s *session) ledger(f fault) []byte {
	lines := make([][]byte, 0, len(s.decisions)+1)
	for _, d := range s.decisions {
		lines = append(lines, mustJSON(d))
	}
	last := lines[len(lines)-1]
	switch f {
	case empty:
		return nil
	case crlf:
		return append(bytes.Join(lines, []byte("\r\n")), "\r\n"...)
	case bom:
		return append([]byte("\ufeff"), joined(lines)...)
	case torn:
		return append(joined(lines), last[:len(last)/2]...)
	case badLine:
		i := s.IntN(len(lines))
		lines[i] = lines[i][:len(lines[i])-7]
	case repeat:
		lines = append(lines, lines[0])
	case clash:
		other := s.decisions[0]
		other.Detail = "something else"
		lines = append(lines, mustJSON(other))
	case shuffled:
		s.Shuffle(len(lines), func(a, b int) { lines[a], lines[b] = lines[b], lines[a] })
	case spelled:
		return s.spelled()
	}
	return joined(lines)
}

func joined(lines [][]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }

// spelled writes numbers as other tools do, and a blank line at the end.
func (s *session) spelled() []byte {
	var out []byte
	for _, d := range s.decisions {
		phase := ""
		if d.Phase != 0 {
			phase = fmt.Sprintf(`, "phase": "F%d"`, d.Phase)
		}
		out = fmt.Appendf(out, `{"seq": "%d", "ts": "%s", "type": "%s", "subject": %s, "detail": %s, "rationale": %s%s}`+"\n",
			d.Seq, d.TS, d.Type, mustJSON(d.Subject), mustJSON(d.Detail), mustJSON(d.Rationale), phase)
	}
	return append(out, '\n')
}

package model

import (
	"encoding/json"
	"slices"
)

// The types that have a meaning of their own here.
const (
	withdrawalType = "decision_withdrawn"
	reopeningType  = "phase_reopened"
	promotedType   = "memory_promoted"
	declinedType   = "memory_promotion_declined"
)

// phaseOf is the phase of a type when a line names none; others have phase 1.
var phaseOf = map[string]int64{
	"memory_rejected": 2,
	"table_promoted":  4, "table_excluded": 4, "column_promoted": 4,
	"question_rewritten": 5,
	"cte_approved":       6,
	"sql_approved":       7,
	"datamart_requested": 8, "datamart_declined": 8, promotedType: 8, declinedType: 8,
}

// decision is a readable line of a ledger, and what was found out about it.
type decision struct {
	written
	line int64

	inForce bool   // of a control record
	reason  string // of any other: "", "withdrawn" or "stale"
	bySeq   int64
}

// written is what has to be equal for a repeated seq to be the same line.
type written struct {
	seq, ts                          int64
	kind, subject, detail, rationale string
	phase                            int64
}

func (d *decision) control() bool { return d.kind == withdrawalType || d.kind == reopeningType }

func (d *decision) marker() bool { return d.kind == promotedType || d.kind == declinedType }

func (d *decision) effective() bool { return !d.control() && d.reason == "" }

func (s *session) readLedger(data []byte) {
	for _, l := range readLines(data) {
		if l.torn {
			s.bad = append(s.bad, l.number)
			continue
		}
		w, ok := readDecision(l.object)
		if !ok {
			s.spoil(l.number)
			continue
		}
		first := s.find(w.seq)
		switch {
		case first == nil:
			s.decisions = append(s.decisions, &decision{written: w, line: l.number})
		case first.written != w:
			s.spoil(l.number)
		}
	}
	slices.SortFunc(s.decisions, func(a, b *decision) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
}

// spoil puts a line into quarantine and degrades the session.
func (s *session) spoil(line int64) {
	s.bad = append(s.bad, line)
	s.degraded = true
}

func (s *session) find(seq int64) *decision {
	for _, d := range s.decisions {
		if d.seq == seq {
			return d
		}
	}
	return nil
}

func readDecision(o map[string]json.RawMessage) (w written, ok bool) {
	if o == nil {
		return w, false
	}
	good := make([]bool, 7)
	w.seq, good[0] = seq(o["seq"])
	w.ts, good[1] = instant(o["ts"])
	w.kind, good[2] = text(o["type"])
	w.subject, good[3] = text(o["subject"])
	w.detail, good[4] = text(o["detail"])
	w.rationale, good[5] = text(o["rationale"])
	if isNull(o["phase"]) {
		w.phase, good[6] = max(phaseOf[w.kind], 1), true
	} else {
		w.phase, good[6] = phase(o["phase"])
	}
	return w, w.kind != "" && !slices.Contains(good, false)
}

// judge works out what is in force and effective, from the last line to the
// first: only a later withdrawal can undo a control record.
func (s *session) judge(inclusive bool) {
	for _, d := range slices.Backward(s.decisions) {
		d.inForce = true
		for _, c := range s.decisions {
			if c.seq > d.seq && c.withdraws(d.seq) {
				d.inForce = false
			}
		}
	}
	for _, d := range s.decisions {
		if d.control() {
			continue
		}
		for _, c := range s.decisions { // by seq: the first that fits is the lowest
			if c.seq > d.seq && c.withdraws(d.seq) {
				d.reason, d.bySeq = "withdrawn", c.seq
				break
			}
		}
		if d.reason != "" {
			continue
		}
		for _, c := range s.decisions {
			k, ok := c.reopens()
			if ok && c.seq > d.seq && (k < d.phase || inclusive && k == d.phase) {
				d.reason, d.bySeq = "stale", c.seq
				break
			}
		}
	}
}

// withdraws says whether d is a withdrawal in force that names target.
func (d *decision) withdraws(target int64) bool {
	if d.kind != withdrawalType || !d.inForce {
		return false
	}
	named, ok := d.names()
	return ok && named == target
}

// names is the target of a withdrawal: of the detail, else of the subject.
func (d *decision) names() (int64, bool) {
	if found := firstWord("seq:", d.detail); found != "" {
		return smallNumber(found)
	}
	return smallNumber(firstWord("seq:", d.subject))
}

// reopens is the phase that a reopening in force names.
func (d *decision) reopens() (int64, bool) {
	k, ok := d.namesPhase()
	return k, ok && d.inForce
}

func (d *decision) namesPhase() (int64, bool) {
	if d.kind != reopeningType {
		return 0, false
	}
	found := firstWord("phase:", d.subject)
	if found == "" {
		found = firstWord("phase:", d.detail)
	}
	k, ok := smallNumber(found)
	return k, ok && 1 <= k && k <= 8
}

// marks is the decision that a marker names.
func (s *session) marks(d *decision) *decision {
	n, ok := smallNumber(firstWord("seq:", d.detail))
	if !ok {
		return nil
	}
	return s.find(n)
}

// checkReferences quarantines the control records and the markers that name
// nothing; the former degrade the session.
func (s *session) checkReferences() {
	for _, d := range s.decisions {
		switch {
		case d.kind == withdrawalType:
			n, ok := d.names()
			if !ok || n >= d.seq || s.find(n) == nil {
				s.spoil(d.line)
			}
		case d.kind == reopeningType:
			if _, ok := d.namesPhase(); !ok {
				s.spoil(d.line)
			}
		case d.marker() && s.marks(d) == nil:
			s.bad = append(s.bad, d.line)
		}
	}
}

func (d *decision) row(s *session) Decision {
	r := Decision{SessionID: s.id, Seq: d.seq, Type: d.kind, Phase: d.phase}
	if s.invalid || d.control() {
		return r
	}
	effective := d.effective()
	r.IsEffective = &effective
	if !effective {
		r.Reason, r.BySeq = &d.reason, &d.bySeq
	}
	return r
}

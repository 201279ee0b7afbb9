package model

import (
	"regexp"
	"slices"
	"strings"
)

// questionContext is the detail of the last effective rewriting that says
// something, else the manifest's question; untrimmed.
func (s *session) questionContext() string {
	question := s.manifest.question
	for _, d := range s.decisions {
		if d.kind == "question_rewritten" && d.effective() && !blank(d.detail) {
			question = d.detail
		}
	}
	return question
}

// outcome is what the latest effective marker says of a decision: "approved",
// "declined" or "".
func (s *session) outcome(target *decision) string {
	out := ""
	for _, m := range s.decisions {
		if !m.marker() || !m.effective() || s.marks(m) != target {
			continue
		}
		out = "declined"
		if m.kind == promotedType {
			out = "approved"
		}
	}
	return out
}

func (s *session) candidates(registry []registryRecord, most int) []Candidate {
	var list []*decision
	for _, d := range s.decisions {
		if d.kind == reusable && d.effective() && !(blank(d.subject) && blank(d.detail)) {
			list = append(list, d)
		}
	}
	settled := make([]string, len(list)) // promoted, declined or ""
	for i, d := range list {
		outcome := s.outcome(d)
		switch {
		case s.registered(d, registry) || outcome == "approved":
			settled[i] = "promoted"
		case outcome == "declined":
			settled[i] = "declined"
		}
	}
	var out []Candidate
	rank := int64(0)
	for i, d := range list {
		c := Candidate{SessionID: s.id, Seq: d.seq, Status: settled[i], QuestionContext: s.questionContext(), Reuses: reuses(d, registry)}
		if c.Status == "" {
			c.DuplicateOf = saidBefore(list, settled, i)
		}
		switch {
		case c.Status != "":
		case c.DuplicateOf != nil:
			c.Status = "duplicate"
		default:
			rank++
			r := rank
			c.Rank, c.Status = &r, "proposed"
			if rank > int64(most) {
				c.Status = "overflow"
			}
		}
		out = append(out, c)
	}
	return out
}

func (s *session) registered(d *decision, registry []registryRecord) bool {
	for _, r := range registry {
		if r.kind == reusable && r.session == s.id && r.seq != nil && *r.seq == d.seq {
			return true
		}
	}
	return false
}

// saidBefore is the lowest seq that says the same as list[i] among the earlier
// ones and the settled ones.
func saidBefore(list []*decision, settled []string, i int) *int64 {
	for j, other := range list { // by seq: the first that fits is the lowest
		if j == i || j > i && settled[j] == "" {
			continue
		}
		if wording(other.subject) == wording(list[i].subject) && wording(other.detail) == wording(list[i].detail) {
			seq := other.seq
			return &seq
		}
	}
	return nil
}

// reuses is the Memory that the rationale cites: the first id in it, if that is
// the id of an indexable record. No other is looked for.
func reuses(d *decision, registry []registryRecord) *string {
	digits := firstWord("mem-", d.rationale)
	if digits == "" {
		return nil
	}
	id := "mem-" + digits
	for _, r := range registry {
		if r.indexable && r.id == id {
			return &id
		}
	}
	return nil
}

func (s *session) solved(o Options) (Solved, bool) {
	var approval *decision
	if !s.invalid {
		for _, d := range s.decisions {
			if d.kind == "sql_approved" && d.effective() {
				approval = d
			}
		}
	}
	row := Solved{SessionID: s.id}
	if !s.sql.exists && approval == nil {
		return row, false
	}
	if approval == nil || !s.usable(o) || !s.sql.good || !slices.Contains(o.Statuses, s.manifest.status) {
		return row, true
	}
	for _, d := range s.decisions {
		if k, ok := d.reopens(); ok && k <= 7 && d.seq > approval.seq {
			return row, true
		}
	}
	row.Question, row.SQL = s.questionContext(), s.sql.text
	row.Indexable = !blank(row.Question)
	if row.Indexable {
		row.Tables = s.tables()
	}
	return row, true
}

// tables are those promoted and not excluded later; [] when there is none.
func (s *session) tables() []string {
	out := []string{}
	for _, d := range s.decisions {
		if d.kind != "table_promoted" || !d.effective() {
			continue
		}
		excluded := false
		for _, x := range s.decisions {
			if x.kind == "table_excluded" && x.effective() && x.seq > d.seq && x.subject == d.subject {
				excluded = true
			}
		}
		if !excluded && !slices.Contains(out, d.subject) {
			out = append(out, d.subject)
		}
	}
	slices.Sort(out) // bytes of UTF-8 sort as code points do
	return out
}

// \w is what a whole word is made of: letters and digits of any script.
var tableName = regexp.MustCompile(`^(?i:fact|dim)_[\p{L}\p{Nd}_]+$`)

func (s *session) memories() []SessionMemory {
	var out []SessionMemory
	for _, outcome := range []string{"approved", "declined"} {
		for _, d := range s.decisions {
			if d.kind == reusable && s.outcome(d) == outcome && !s.hidden(d) {
				out = append(out, SessionMemory{SessionID: s.id, Position: int64(len(out) + 1), Outcome: outcome, Seq: d.seq, Subject: d.subject})
			}
		}
	}
	return out
}

// hidden says that a decision is about a table and not about a concept.
func (s *session) hidden(d *decision) bool {
	subject := strings.TrimSpace(d.subject)
	if tableName.MatchString(subject) {
		return true
	}
	lower := strings.ToLower(subject) // as a wording is; folding would go further
	for _, t := range s.decisions {
		if (t.kind == "table_promoted" || t.kind == "table_excluded") && t.effective() && strings.ToLower(t.subject) == lower {
			return true
		}
	}
	return false
}

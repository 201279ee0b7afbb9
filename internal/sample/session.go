package sample

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// session is one question on its way through the phases.
type session struct {
	*rand.Rand
	id        string
	started   time.Time
	now       time.Time
	topic     topic
	decisions []decision
	promoted  []int // seqs that are in the registry
	solved    bool
}

type decision struct {
	Seq       int    `json:"seq"`
	TS        string `json:"ts"`
	Type      string `json:"type"`
	Subject   string `json:"subject"`
	Detail    string `json:"detail"`
	Rationale string `json:"rationale"`
	Phase     int    `json:"phase,omitempty"`
}

func newSession(id string, started time.Time, rng *rand.Rand) *session {
	s := &session{Rand: rng, id: id, started: started, now: started}
	s.topic = newTopic(rng)
	return s
}

func (s *session) chance(p float64) bool { return s.Float64() < p }

func (s *session) add(kind, subject, detail, rationale string, phase int) int {
	s.now = s.now.Add(time.Duration(5+s.IntN(235)) * time.Second)
	d := decision{Seq: len(s.decisions) + 1, TS: s.now.Format("2006-01-02T15:04:05-07:00"), Type: kind, Subject: subject, Detail: detail, Rationale: rationale}
	if s.chance(0.8) {
		d.Phase = phase
	}
	s.decisions = append(s.decisions, d)
	return d.Seq
}

// work takes the session through F1 to F8. One in ten is left half way.
func (s *session) work() {
	concepts := s.clarify()
	if s.chance(0.1) {
		return
	}
	s.solved = true
	s.chooseTables("")
	if s.chance(0.3) {
		s.add("table_excluded", pick(s.Rand, "audit_log", "stg_import", s.topic.tables[0]), s.topic.say("non serve", "not needed"), "", 4)
	}
	if s.chance(0.75) {
		s.add("question_rewritten", "question", s.topic.rewritten(s.Rand), "", 5)
	}
	if s.chance(0.2) {
		s.add("cte_approved", "base", "WITH base AS (...)", "", 6)
	}
	if s.chance(0.12) {
		s.add("phase_reopened", fmt.Sprintf("phase:%d", 1+s.IntN(5)), "", s.topic.say("il revisore vuole tornare indietro", "the reviewer wants to go back"), 0)
		if s.chance(0.7) {
			s.chooseTables(s.topic.say("di nuovo", "again"))
			s.add("question_rewritten", "question", s.topic.rewritten(s.Rand), "", 5)
		}
	}
	if s.chance(0.88) {
		s.add("sql_approved", "phase:7", "", "", 7)
	}
	if s.chance(0.5) {
		s.add(pick(s.Rand, "datamart_requested", "datamart_declined"), "datamart", "", "", 8)
	}
	s.decide(concepts)
}

// clarify gives the seqs of the concepts, withdrawn ones too.
func (s *session) clarify() []int {
	var seqs []int
	said := pick(s.Rand, 1, 1, 2, 2, 2, 3, 3, 4, 6, 7)
	for range said {
		subject, detail := s.topic.concept(s.Rand)
		seqs = append(seqs, s.add("concept_clarified", subject, detail, s.topic.reason(s.Rand), 1))
	}
	first := s.decisions[0]
	if s.chance(0.1) {
		w := s.add("decision_withdrawn", first.Subject, "seq:1", s.topic.say("definizione sbagliata", "wrong definition"), 0)
		if s.chance(0.3) {
			s.add("decision_withdrawn", first.Subject, fmt.Sprintf("seq:%d", w), s.topic.say("era giusta", "it was right after all"), 0)
		}
	}
	if s.chance(0.1) {
		seqs = append(seqs, s.add("concept_clarified", strings.ToUpper(first.Subject), "  "+strings.ReplaceAll(first.Detail, " ", "  "), "", 1))
	}
	if s.chance(0.15) {
		subject, detail := s.topic.concept(s.Rand)
		seqs = append(seqs, s.add("concept_clarified", subject, detail, fmt.Sprintf(s.topic.say("applicata da mem-%04d", "applied from mem-%04d"), 1+s.IntN(60)), 2))
	}
	return seqs
}

func (s *session) chooseTables(detail string) {
	for _, table := range s.topic.tables {
		s.add("table_promoted", table, detail, "", 4)
	}
}

func (s *session) decide(concepts []int) {
	for _, seq := range concepts {
		marker := ""
		switch p := s.Float64(); {
		case p < 0.35:
			marker = "memory_promoted"
			if s.chance(0.9) {
				s.promoted = append(s.promoted, seq)
			}
		case p < 0.55:
			marker = "memory_promotion_declined"
		default:
			continue
		}
		s.add(marker, s.decisions[seq-1].Subject, fmt.Sprintf("seq:%d", seq), "", 8)
	}
}

// registry gives the records of what was promoted, and now and then one of a
// table, as older versions of the assistant wrote them; without their ids.
func (s *session) registry() []string {
	var out []string
	record := func(d decision, tables, concepts []string) {
		encoded := mustJSON(struct {
			TS        string   `json:"ts"`
			SessionID string   `json:"session_id"`
			Seq       int      `json:"decision_seq"`
			Type      string   `json:"type"`
			Subject   string   `json:"subject"`
			Detail    string   `json:"detail"`
			Rationale string   `json:"rationale"`
			Question  string   `json:"question_context"`
			Tables    []string `json:"tables"`
			Concepts  []string `json:"concepts"`
		}{d.TS, s.id, d.Seq, d.Type, d.Subject, d.Detail, d.Rationale, s.topic.question, tables, concepts})
		out = append(out, string(encoded[1:len(encoded)-1]))
	}
	for _, seq := range s.promoted {
		d := s.decisions[seq-1]
		record(d, []string{}, []string{d.Subject})
	}
	for _, d := range s.decisions {
		if d.Type == "table_promoted" && s.chance(0.02) {
			record(d, []string{d.Subject}, []string{})
		}
	}
	return out
}

func (s *session) manifest(f fault) []byte {
	if f == otherID {
		return []byte("id: another\nquestion: x\n")
	}
	status := "open"
	if s.solved && s.chance(0.9) {
		status = "finalized"
	}
	stamp := "2006-01-02T15:04:05-07:00"
	return fmt.Appendf(nil, "id: %q\ncreated_at: %q\nquestion: %s\ndatabase: %q\nschema: public\nstatus: %s\nupdated_at: %q\nupdated_by: %s\n",
		s.id, s.started.Format(stamp), mustJSON(s.topic.question), s.topic.database, status, s.now.Format(stamp), pick(s.Rand, "desk-1", "desk-2", "desk-3"))
}

func (s *session) sql() []byte { return []byte(s.topic.sql(s.Rand)) }

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func mustJSON(v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return encoded
}

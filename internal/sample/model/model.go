// Package model is a second, slow implementation of the contract's sections 1
// to 4: it reads an artifacts tree and says what the public views must show,
// with loops over one session at a time. The program computes the same with
// SQL over the whole corpus; tests hold one against the other. Nothing but
// tests imports it, and it imports nothing of the program, so that the two can
// only agree by both being right.
//
// Left out on purpose: symbolic links, sessions that are gone, and retractions.
// They depend on what an earlier run saw; their own packages test them.
package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options are the settings that change what the views show. The zero value is
// the program's defaults.
type Options struct {
	// Accept lists the degraded sessions that a person accepted.
	Accept []string
	// AcceptAll accepts every degraded session.
	AcceptAll bool
	// Inclusive makes a reopening reach its own phase too.
	Inclusive bool
	// Cap is how many candidates are proposed; 0 is five.
	Cap int
	// Statuses are the manifest statuses of a solved pair; nil is "finalized".
	Statuses []string
}

// Views are the rows of the public views, each sorted by its key. The fields
// without a JSON name are further columns that hold for indexable rows and for
// candidates.
type Views struct {
	Sessions        []Session       `json:"sessions"`
	Decisions       []Decision      `json:"decisions"`
	Candidates      []Candidate     `json:"promotion_candidates"`
	Memories        []Memory        `json:"memories"`
	SolvedQuestions []Solved        `json:"solved_questions"`
	SessionMemories []SessionMemory `json:"session_memories"`
	Quarantine      []Quarantined   `json:"quarantine"`
}

// Session is a row of the view sessions.
type Session struct {
	ID          string `json:"session_id"`
	State       string `json:"state"`
	Decisions   int    `json:"decisions"`
	Quarantined int    `json:"quarantined"`
}

// Decision is a row of the view decisions. The last three are nil on control
// records and in invalid sessions.
type Decision struct {
	SessionID   string  `json:"session_id"`
	Seq         int64   `json:"seq"`
	Type        string  `json:"type"`
	Phase       int64   `json:"phase"`
	IsEffective *bool   `json:"is_effective"`
	Reason      *string `json:"ineffective_reason"`
	BySeq       *int64  `json:"ineffective_by_seq"`
}

// Candidate is a row of the view promotion_candidates.
type Candidate struct {
	SessionID       string  `json:"session_id"`
	Seq             int64   `json:"decision_seq"`
	Status          string  `json:"status"`
	Rank            *int64  `json:"rank"`
	DuplicateOf     *int64  `json:"duplicate_of_seq"`
	Reuses          *string `json:"reuses_memory_id"`
	QuestionContext string  `json:"-"`
}

// Memory is a row of the view memories.
type Memory struct {
	ID        string `json:"memory_id"`
	Line      int64  `json:"line"`
	Indexable bool   `json:"indexable"`
}

// Solved is a row of the view solved_questions. Tables is nil unless indexable.
type Solved struct {
	SessionID string   `json:"session_id"`
	Indexable bool     `json:"indexable"`
	Tables    []string `json:"tables"`
	Question  string   `json:"-"`
	SQL       string   `json:"-"`
}

// SessionMemory is a row of the view session_memories.
type SessionMemory struct {
	SessionID string `json:"session_id"`
	Position  int64  `json:"position"`
	Outcome   string `json:"outcome"`
	Seq       int64  `json:"decision_seq"`
	Subject   string `json:"subject"`
}

// Quarantined is a row of the view quarantine that has a line. SessionID is nil
// for the registry's.
type Quarantined struct {
	SessionID *string `json:"session_id"`
	Line      int64   `json:"line"`
}

// reusable is written out here once more: the program's own constant is what
// the tests examine.
const reusable = "concept_clarified"

// Read computes the views of the tree at artifacts.
func Read(artifacts string, o Options) (Views, error) {
	if o.Cap == 0 {
		o.Cap = 5
	}
	if o.Statuses == nil {
		o.Statuses = []string{"finalized"}
	}
	var v Views
	registry, bad, err := readRegistry(filepath.Join(artifacts, "memory", "registry.jsonl"))
	if err != nil {
		return v, err
	}
	for _, r := range registry {
		v.Memories = append(v.Memories, Memory{ID: r.id, Line: r.line, Indexable: r.indexable})
	}
	for _, line := range bad {
		v.Quarantine = append(v.Quarantine, Quarantined{Line: line})
	}
	root := filepath.Join(artifacts, "sessions")
	entries, err := os.ReadDir(root)
	if err != nil {
		return v, fmt.Errorf("sessions: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") {
			continue
		}
		s, err := readSession(filepath.Join(root, e.Name()), e.Name(), o)
		if err != nil {
			return v, err
		}
		s.show(&v, registry, o)
	}
	return v, nil
}

// session is everything that is known of one directory.
type session struct {
	id        string
	invalid   bool
	degraded  bool
	manifest  manifest
	decisions []*decision // by seq
	bad       []int64     // lines in quarantine, in file order
	sql       sqlText
}

func readSession(dir, id string, o Options) (*session, error) {
	s := &session{id: id}
	var ok bool
	s.manifest, ok = readManifest(filepath.Join(dir, "manifest.yaml"))
	s.invalid = !ok || s.manifest.id != id
	data, err := os.ReadFile(filepath.Join(dir, "review_decisions.jsonl"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.degraded = true
	default:
		s.readLedger(data)
	}
	s.sql, err = readSQL(filepath.Join(dir, "sql_final.sql"))
	if err != nil {
		return nil, err
	}
	if !s.invalid {
		s.judge(o.Inclusive)
		s.checkReferences()
	}
	slices.Sort(s.bad)
	return s, nil
}

func (s *session) usable(o Options) bool {
	return !s.invalid && (!s.degraded || o.AcceptAll || slices.Contains(o.Accept, s.id))
}

func (s *session) state() string {
	switch {
	case s.invalid:
		return "invalid"
	case s.degraded:
		return "degraded"
	}
	return "ok"
}

func (s *session) show(v *Views, registry []registryRecord, o Options) {
	v.Sessions = append(v.Sessions, Session{ID: s.id, State: s.state(), Decisions: len(s.decisions), Quarantined: len(s.bad)})
	for _, line := range s.bad {
		id := s.id
		v.Quarantine = append(v.Quarantine, Quarantined{SessionID: &id, Line: line})
	}
	for _, d := range s.decisions {
		v.Decisions = append(v.Decisions, d.row(s))
	}
	if s.usable(o) {
		v.Candidates = append(v.Candidates, s.candidates(registry, o.Cap)...)
	}
	if row, ok := s.solved(o); ok {
		v.SolvedQuestions = append(v.SolvedQuestions, row)
	}
	if !s.invalid {
		v.SessionMemories = append(v.SessionMemories, s.memories()...)
	}
}

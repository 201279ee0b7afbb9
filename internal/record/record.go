// Package record builds what the index holds: the content that is embedded,
// the hashes that decide whether anything has to be written, and the payload.
// It is pure: no clock, no I/O.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Kinds of index records that are ours. A record of any other kind is never
// planned, written or counted.
const (
	KindMemory = "memory"
	KindSolved = "solved_question"
)

// ReusableType is the only decision type that may become Memory.
const ReusableType = "concept_clarified"

// Reusable is the door: candidates, registry, records, loads, searches and
// reports all ask it.
func Reusable(decisionType string) bool { return decisionType == ReusableType }

// Layout is the shape of a payload in the index.
type Layout string

// Metadata beside the other fields, or in an object of its own.
const (
	Flat   Layout = "flat"
	Nested Layout = "nested"
)

const titleLength = 120 // code points

// Memory is a registry record, as read.
type Memory struct {
	ID, Type, Subject, Detail, Rationale, QuestionContext string
	Tables, Concepts                                      []string
	SessionID                                             string
	DecisionSeq                                           *int64
	TS                                                    *time.Time
}

// Solved is a question and the SQL that was approved for it.
type Solved struct {
	SessionID, Question, SQL string
	Tables                   []string
}

// Record is one record of the index, without its vector.
type Record struct {
	Key, Kind, Ref, Title, Content string
	ContentHash, TextHash          string
	PayloadHash                    string
	Workspace                      string
	Layout                         Layout
	Metadata                       []Field // in the order of their names
}

// Field is one field of a payload: a string, an int64, a []string, nil, or an
// object of fields.
type Field struct {
	Name  string
	Value any
}

// Builder makes records for one workspace, layout and content template.
type Builder struct {
	Workspace string
	Layout    Layout
	Template  Template
}

// MemoryKey is the record_key of a registry id.
func MemoryKey(id string) string { return "memory:" + id }

// SolvedKey is the record_key of a session.
func SolvedKey(sessionID string) string { return "solved:" + sessionID }

// PointID is the UUID (version 5, name space URL) under which a record of this
// key is inserted.
func PointID(key string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("tht:"+key)).String()
}

// Memory builds the record of a registry line. A type that is not reusable is
// refused: the caller should have withheld it.
func (b Builder) Memory(m Memory) (Record, error) {
	if !Reusable(m.Type) {
		return Record{}, fmt.Errorf("record %s: type %q is not reusable", MemoryKey(m.ID), m.Type)
	}
	content := b.Template.Content(m)
	hash := Hash(content)
	var seq, ts any
	if m.DecisionSeq != nil {
		seq = *m.DecisionSeq
	}
	if m.TS != nil {
		ts = m.TS.UTC().Format(time.RFC3339Nano)
	}
	r := Record{
		Key: MemoryKey(m.ID), Kind: KindMemory, Ref: m.ID,
		Title: firstCodePoints(m.Subject, titleLength), Content: content,
		ContentHash: hash, TextHash: hash,
		// In the order of their names, as the canonical form wants them.
		Metadata: []Field{
			{"concepts", list(m.Concepts)}, {"decision_seq", seq}, {"detail", m.Detail},
			{"question_context", m.QuestionContext}, {"rationale", m.Rationale}, {"session_id", m.SessionID},
			{"subject", m.Subject}, {"tables", list(m.Tables)}, {"ts", ts}, {"type", m.Type},
		},
	}
	return b.finish(r)
}

// Solved builds the record of a solved pair. Only the question is embedded;
// the hash covers the SQL too, so that a corrected query is written.
func (b Builder) Solved(s Solved) (Record, error) {
	return b.finish(Record{
		Key: SolvedKey(s.SessionID), Kind: KindSolved, Ref: s.SessionID,
		Title: firstCodePoints(s.Question, titleLength), Content: s.Question,
		ContentHash: Hash(s.Question + "\n" + s.SQL), TextHash: Hash(s.Question),
		Metadata: []Field{
			{"question", s.Question}, {"session_id", s.SessionID}, {"sql", s.SQL}, {"tables", list(s.Tables)},
		},
	})
}

func (b Builder) finish(r Record) (Record, error) {
	r.Workspace, r.Layout = b.Workspace, b.Layout
	canonical, err := appendCanonical(make([]byte, 0, 2048), r.owned())
	if err != nil {
		return Record{}, fmt.Errorf("record %s: %w", r.Key, err)
	}
	sum := sha256.Sum256(canonical)
	r.PayloadHash = hex.EncodeToString(sum[:])
	return r, nil
}

// owned are the fields that payload_hash covers, in the order of their names
// and in the layout as written: a change of the layout is a change of the
// payload.
func (r Record) owned() []Field {
	top := []Field{
		{"content", r.Content}, {"content_hash", r.ContentHash}, {"kind", r.Kind}, {"record_key", r.Key},
		{"ref", r.Ref}, {"text_hash", r.TextHash}, {"title", r.Title}, {"workspace", r.Workspace},
	}
	if r.Layout == Nested {
		return slices.Insert(top, 3, Field{"metadata", r.Metadata})
	}
	// Both lists are sorted, and no name is in both.
	out := make([]Field, 0, len(top)+len(r.Metadata))
	for _, m := range r.Metadata {
		for len(top) > 0 && top[0].Name < m.Name {
			out, top = append(out, top[0]), top[1:]
		}
		out = append(out, m)
	}
	return append(out, top...)
}

// Payload is the whole payload of a point, as the index stores it.
func (r Record) Payload(embedSpace, runID string, indexedAt time.Time) map[string]any {
	p := object(r.owned())
	p["payload_hash"] = r.PayloadHash
	p["embed_space"] = embedSpace
	p["run_id"] = runID
	p["indexed_at"] = indexedAt.UTC().Format(time.RFC3339Nano)
	return p
}

func object(fields []Field) map[string]any {
	out := make(map[string]any, len(fields)+4)
	for _, f := range fields {
		if nested, ok := f.Value.([]Field); ok {
			out[f.Name] = object(nested)
			continue
		}
		out[f.Name] = f.Value
	}
	return out
}

// Size is about what the record takes in a batch, in bytes: its texts.
func (r Record) Size() int {
	n := len(r.Title) + len(r.Content)
	for _, m := range r.Metadata {
		if text, ok := m.Value.(string); ok {
			n += len(text)
		}
	}
	return n
}

// Hash is the SHA-256 of s in lower-case hex.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// list never is nil, so that an empty list is [] in JSON and not null.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func firstCodePoints(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

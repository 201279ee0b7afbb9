// Package record builds what the index holds: the content that is embedded,
// the hashes that decide whether anything has to be written, and the payload.
// It is pure: no clock, no I/O.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	Metadata                       map[string]any // string, int64, []string or nil
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
	r := Record{
		Key: MemoryKey(m.ID), Kind: KindMemory, Ref: m.ID,
		Title: firstCodePoints(m.Subject, titleLength), Content: content,
		ContentHash: hash, TextHash: hash,
		Metadata: map[string]any{
			"type": m.Type, "subject": m.Subject, "detail": m.Detail, "rationale": m.Rationale,
			"question_context": m.QuestionContext, "tables": list(m.Tables), "concepts": list(m.Concepts),
			"session_id": m.SessionID, "decision_seq": nil, "ts": nil,
		},
	}
	if m.DecisionSeq != nil {
		r.Metadata["decision_seq"] = *m.DecisionSeq
	}
	if m.TS != nil {
		r.Metadata["ts"] = m.TS.UTC().Format(time.RFC3339Nano)
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
		Metadata: map[string]any{
			"question": s.Question, "sql": s.SQL, "tables": list(s.Tables), "session_id": s.SessionID,
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

// owned are the fields that payload_hash covers, in the layout as written: a
// change of the layout is a change of the payload.
func (r Record) owned() map[string]any {
	p := map[string]any{
		"record_key": r.Key, "kind": r.Kind, "ref": r.Ref, "title": r.Title, "content": r.Content,
		"content_hash": r.ContentHash, "text_hash": r.TextHash, "workspace": r.Workspace,
	}
	if r.Layout == Nested {
		p["metadata"] = r.Metadata
		return p
	}
	for name, value := range r.Metadata {
		p[name] = value
	}
	return p
}

// Payload is the whole payload of a point, as the index stores it.
func (r Record) Payload(embedSpace, runID string, indexedAt time.Time) map[string]any {
	p := r.owned()
	p["payload_hash"] = r.PayloadHash
	p["embed_space"] = embedSpace
	p["run_id"] = runID
	p["indexed_at"] = indexedAt.UTC().Format(time.RFC3339Nano)
	return p
}

// Size is about what the record takes in a batch, in bytes: its texts.
func (r Record) Size() int {
	n := len(r.Title) + len(r.Content)
	for _, value := range r.Metadata {
		if text, ok := value.(string); ok {
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

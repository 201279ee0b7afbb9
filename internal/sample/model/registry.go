package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

// registryRecord is a readable line of the registry.
type registryRecord struct {
	line                  int64
	id, session           string
	kind, subject, detail string
	rationale, question   string
	seq                   *int64
	indexable             bool
}

// readRegistry gives the readable lines and the numbers of the others. A
// registry that does not exist is an empty one.
func readRegistry(path string) (records []registryRecord, bad []int64, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("registry: %w", err)
	}
	for _, l := range readLines(data) {
		r, ok := readRecord(l.object)
		if !ok {
			bad = append(bad, l.number)
			continue
		}
		r.line = l.number
		records = append(records, r)
	}
	markIndexable(records)
	return records, bad, nil
}

func readRecord(o map[string]json.RawMessage) (r registryRecord, ok bool) {
	if o == nil || isNull(o["id"]) {
		return r, false
	}
	for name, into := range map[string]*string{
		"id": &r.id, "session_id": &r.session, "type": &r.kind, "subject": &r.subject,
		"detail": &r.detail, "rationale": &r.rationale, "question_context": &r.question,
	} {
		if *into, ok = text(o[name]); !ok {
			return r, false
		}
	}
	if !list(o["tables"]) || !list(o["concepts"]) {
		return r, false
	}
	if !isNull(o["ts"]) {
		if _, ok := instant(o["ts"]); !ok {
			return r, false
		}
	}
	if !isNull(o["decision_seq"]) {
		n, ok := seq(o["decision_seq"])
		if !ok {
			return r, false
		}
		r.seq = &n
	}
	return r, true
}

var memoryID = regexp.MustCompile(`^mem-[0-9]+$`)

func markIndexable(records []registryRecord) {
	for i := range records {
		r := &records[i]
		r.indexable = memoryID.MatchString(r.id) && r.kind == reusable && !(blank(r.subject) && blank(r.detail))
		for _, earlier := range records[:i] {
			if earlier.id == r.id {
				r.indexable = false
			}
			if earlier.indexable && r.session != "" && earlier.session == r.session &&
				r.seq != nil && earlier.seq != nil && *earlier.seq == *r.seq {
				r.indexable = false
			}
		}
	}
}

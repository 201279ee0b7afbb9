package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Refusal is a record that the embedder or the store refused for a reason that
// will be the same the next time. It holds while record, content and space are
// the ones named here.
type Refusal struct {
	RecordKey   string    `json:"record_key"`
	ContentHash string    `json:"content_hash"`
	TextHash    string    `json:"text_hash,omitempty"`
	EmbedSpace  string    `json:"embed_space"`
	Reason      string    `json:"reason"` // a code, never a text
	At          time.Time `json:"at"`
}

// Refusals lists what is refused, by key, hash and space; of several lines about
// the same the last counts. A line that cannot be read costs one more attempt
// at that record, so it is damage beside the others.
func (d *Dir) Refusals() (refusals []Refusal, damage []*fault.Error, err error) {
	lines, damage, err := readLines(d.RefusalsFile(), func(r *Refusal) string {
		if r.RecordKey == "" || r.ContentHash == "" {
			return "no_key"
		}
		return ""
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(lines) // the last becomes the first, and the first of equals stays
	slices.SortStableFunc(lines, compareRefusals)
	lines = slices.CompactFunc(lines, func(a, b Refusal) bool { return compareRefusals(a, b) == 0 })
	return lines, damage, nil
}

func compareRefusals(a, b Refusal) int {
	return cmp.Or(strings.Compare(a.RecordKey, b.RecordKey),
		strings.Compare(a.ContentHash, b.ContentHash), strings.Compare(a.EmbedSpace, b.EmbedSpace))
}

// AddRefusals remembers a batch of refusals; on disk when it returns.
func (d *Dir) AddRefusals(batch ...Refusal) error { return appendLines(d.RefusalsFile(), batch...) }

// ForgetRefusals forgets those whose keys satisfy drop, so that these records are
// tried once more. The file is replaced as a whole; one without a line goes.
func (d *Dir) ForgetRefusals(drop func(key string) bool) error {
	refusals, _, err := d.Refusals() // a line that cannot be read holds nothing back
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(refusals, func(r Refusal) bool { return drop(r.RecordKey) })
	if len(kept) == 0 {
		err := os.Remove(d.RefusalsFile())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = errors.Join(err, syncDir(d.path)); err != nil {
			return notWritten(d.RefusalsFile(), err)
		}
		return nil
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, r := range kept {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("write %s: %w", d.RefusalsFile(), err)
		}
	}
	if err := writeFile(d.RefusalsFile(), lines.Bytes()); err != nil {
		return notWritten(d.RefusalsFile(), err)
	}
	return nil
}

// Retraction is one line of retractions.jsonl: what a reviewer decided about a
// record key. Action is "retract" or "restore"; of several lines about one key
// the last counts.
type Retraction struct {
	Key    string    `json:"key"`
	Action string    `json:"action"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

const (
	retract = "retract"
	restore = "restore"
)

// Retractions are the keys that are out of use now, each with the line that
// says so. A line that cannot be read is an error, unlike elsewhere: it may be
// the one that keeps a record out.
func (d *Dir) Retractions() (map[string]Retraction, error) {
	lines, damage, err := readLines(d.RetractionsFile(), func(r *Retraction) string {
		switch {
		case r.Key == "":
			return "no_key"
		case r.Action != retract && r.Action != restore:
			return "unknown_action"
		}
		return ""
	})
	if err != nil {
		return nil, err
	}
	if len(damage) > 0 {
		return nil, damage[0]
	}
	out := make(map[string]Retraction)
	for _, r := range lines {
		if r.Action == restore {
			delete(out, r.Key)
			continue
		}
		out[r.Key] = r
	}
	return out, nil
}

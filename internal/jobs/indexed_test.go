package jobs_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/embed/lexical"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/state"
)

// prepared collects points that an index holds before a run, made by us, by an
// earlier model or by another writer.
type prepared struct {
	d      *desk
	space  string
	writes []load.Write
}

func prepare(t *testing.T, d *desk) *prepared {
	t.Helper()
	embedder, err := lexical.New(d.settings.Embed.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	return &prepared{d: d, space: embedder.Space()}
}

func (p *prepared) builder(t *testing.T) record.Builder {
	t.Helper()
	template, err := record.ParseTemplate(p.d.settings.ContentTemplate)
	if err != nil {
		t.Fatal(err)
	}
	return record.Builder{Workspace: p.d.settings.Workspace, Layout: record.Layout(p.d.settings.Index.Layout), Template: template}
}

// memory is the payload that a run would write for a concept of the registry.
func (p *prepared) memory(t *testing.T, id, subject string) map[string]any {
	t.Helper()
	r, err := p.builder(t).Memory(record.Memory{ID: id, Type: record.ReusableType, Subject: subject, Detail: "what " + subject + " means"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Payload(p.space, "an earlier run", time.Now())
}

// solved is the payload that a run would write for a session of sessionText's.
func (p *prepared) solved(t *testing.T, session, sql string) map[string]any {
	t.Helper()
	r, err := p.builder(t).Solved(record.Solved{SessionID: session, Question: "How many " + session + "?", SQL: sql})
	if err != nil {
		t.Fatal(err)
	}
	return r.Payload(p.space, "an earlier run", time.Now())
}

// put adds a point under an id, "" for our own, with some fields changed: nil
// takes a field away. Its vector is like no other that an embedder makes.
func (p *prepared) put(id string, payload, changed map[string]any) string {
	maps.Copy(payload, changed)
	maps.DeleteFunc(payload, func(_ string, v any) bool { return v == nil })
	key, _ := payload["record_key"].(string)
	if id == "" {
		id = record.PointID(key)
	}
	vector := make([]float32, p.d.settings.Embed.Dimensions)
	vector[len(p.writes)%len(vector)] = 3
	p.writes = append(p.writes, load.Write{PointID: id, Key: key, Vector: vector, Payload: payload})
	return id
}

// anotherWriter takes away what only we write.
func anotherWriter(changed map[string]any) map[string]any {
	out := map[string]any{"embed_space": nil, "text_hash": nil, "payload_hash": nil, "workspace": nil, "run_id": nil, "indexed_at": nil}
	maps.Copy(out, changed)
	return out
}

// write makes the index, and then changes in its file what the store would
// refuse to write.
func (p *prepared) write(t *testing.T, statements ...string) {
	t.Helper()
	dir, err := state.Open(p.d.settings.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := local.Open(t.Context(), duck.Options{Path: dir.Index(), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Prepare(t.Context(), p.d.settings.Embed.Dimensions); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), p.writes); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		withFile(t, dir.Index(), false, func(ctx context.Context, db *duck.DB) error { return db.Exec(ctx, statement) })
	}
}

// legacy is a statement that makes the point of a key what a former program
// wrote when other types could become Memory.
func legacy(key, decisionType string) string {
	return "UPDATE points SET type = '" + decisionType + "', payload = json_merge_patch(payload, '{\"type\": \"" + decisionType + "\"}') WHERE record_key = '" + key + "'"
}

// kindOf is a statement that gives the point of an id another kind.
func kindOf(id, kind string) string {
	return "UPDATE points SET kind = '" + kind + "', payload = json_merge_patch(payload, '{\"kind\": \"" + kind + "\"}') WHERE point_id = '" + id + "'"
}

// retract writes down what a reviewer took out of use, or put back.
func (d *desk) retract(t *testing.T, action string, keys ...string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(d.settings.StateDir, "retractions.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, key := range keys {
		line, err := json.Marshal(state.Retraction{Key: key, Action: action, By: "a reviewer", At: time.Now().UTC(), Reason: "wrong"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
	}
}

package jobs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

// assistant is the other writer of a collection: metadata in an object, ids of its
// own, no embed_space, and fields that nobody else knows.
type assistant struct {
	server *qdranttest.Server
	desk   *desk
	n      int
}

// remember writes a Memory as the assistant does, whole.
func (a *assistant) remember(t *testing.T, memoryID, subject string) string {
	t.Helper()
	a.n++
	content := contentOf(subject)
	vector := make([]float32, dimensions)
	vector[a.n%dimensions] = 1
	id := record.PointID(fmt.Sprint("assistant ", memoryID))
	err := a.server.Plant(collection, id, vector, map[string]any{
		"record_key": record.MemoryKey(memoryID), "kind": record.KindMemory, "ref": memoryID, "title": subject, "content": content,
		"content_hash": record.Hash(content), "likes": int64(a.n), "seen_by": []any{"anna", "bruno"},
		"metadata": map[string]any{"type": record.ReusableType, "subject": subject, "detail": "what " + subject + " means", "session_id": "s-1", "colour": "green"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// contentOf is the text of a concept by the default template.
func contentOf(subject string) string {
	return "concept_clarified: " + subject + "\nwhat " + subject + " means"
}

// reads fails unless the assistant's reader finds what it needs of a Memory.
func (a *assistant) reads(t *testing.T, id, subject string, likes int64) {
	t.Helper()
	for _, p := range a.server.Points(collection) {
		if p.ID != id {
			continue
		}
		metadata, _ := p.Payload["metadata"].(map[string]any)
		if p.Payload["likes"] != likes || metadata["subject"] != subject || metadata["type"] != record.ReusableType ||
			metadata["colour"] != "green" || p.Payload["content"] != contentOf(subject) || fmt.Sprint(p.Payload["seen_by"]) != "[anna bruno]" {
			t.Errorf("the assistant reads %v", p.Payload)
		}
		return
	}
	t.Errorf("point %s is gone", id)
}

// Two writers, in turn: nothing of the other's is lost, nothing is written every
// night, and its reader still finds what it needs, in either layout of ours.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	for _, layout := range []record.Layout{record.Nested, record.Flat} {
		t.Run(string(layout), func(t *testing.T) {
			d := cleanDesk(t, 4)
			d.settings.Index.Layout = string(layout)
			server := d.onQdrant(t)
			d.run(t, fault.Done, "backfill")
			a := &assistant{server: server, desk: d}
			if err := server.Plant(collection, "7", make([]float32, dimensions), map[string]any{"kind": "schema_table", "name": "fact_visits"}); err != nil {
				t.Fatal(err)
			}
			lines := []string{}
			for i := range 4 {
				lines = append(lines, concept(fmt.Sprintf("mem-%04d", i+1), fmt.Sprintf("concept number %d", i)))
			}
			// One that it promotes itself: in the registry, and in the index under its id.
			lines = append(lines, concept("mem-0050", "of the assistant"))
			d.registry(t, lines...)
			d.age(t)
			id := a.remember(t, "mem-0050", "of the assistant")

			// Nobody knows its model: it is left as it is, and said.
			out := d.backfill(t)
			if out.actions()["foreign"] != 1 || out.Inserted != 0 {
				t.Fatalf("planned %v, inserted %d", out.actions(), out.Inserted)
			}
			a.reads(t, id, "of the assistant", 1)

			d.settings.Index.AdoptAs = d.space(t)
			out = d.backfill(t)
			if out.actions()["adopt"] != 1 || out.Repayloaded != 1 || out.Embedded != 0 {
				t.Fatalf("planned %v, wrote %d payloads, embedded %d", out.actions(), out.Repayloaded, out.Embedded)
			}
			a.reads(t, id, "of the assistant", 1)
			server.Reset()
			if out = d.backfill(t); !out.NothingNew() || server.Counts().Writes != 0 {
				t.Fatalf("the next night wrote: %v", out.actions())
			}

			// The assistant writes the point anew, as a whole, and another like ours.
			a.remember(t, "mem-0050", "of the assistant")
			twin := a.remember(t, "mem-0001", "concept number 0")
			out = d.backfill(t)
			if out.actions()["adopt"] != 1 || out.actions()["twin"] != 1 || out.Inserted+out.Updated != 0 {
				t.Fatalf("planned %v", out.actions())
			}
			a.reads(t, id, "of the assistant", 2)
			a.reads(t, twin, "concept number 0", 3)
			server.Reset()
			if out = d.backfill(t); out.actions()["twin"] != 1 || server.Counts().Writes != 0 {
				t.Fatalf("the night after wrote: %v", out.actions())
			}

			// The registry's line is corrected: the assistant's own point has it.
			lines[4] = concept("mem-0050", "of the assistant, corrected")
			d.registry(t, lines...)
			d.age(t)
			if out = d.backfill(t); out.Updated != 1 || out.Embedded != 1 {
				t.Fatalf("planned %v, updated %d", out.actions(), out.Updated)
			}
			a.reads(t, id, "of the assistant, corrected", 2)
			if n := len(server.Points(collection)); n != 4+4+1+1+1 {
				t.Errorf("%d points", n)
			}
			if server.Counts().Deletes != 0 {
				t.Error("something was deleted")
			}
		})
	}
}

// space is the embed_space of a desk's embedder.
func (d *desk) space(t *testing.T) string {
	t.Helper()
	var checked struct {
		Checks []struct {
			ID     string         `json:"check"`
			Detail map[string]any `json:"detail"`
		} `json:"checks"`
	}
	if err := json.Unmarshal([]byte(d.carryOut(t.Context(), "doctor").stdout), &checked); err != nil {
		t.Fatal(err)
	}
	for _, c := range checked.Checks {
		if c.ID == "doctor_space" {
			return c.Detail["space"].(string)
		}
	}
	t.Fatal("doctor names no space")
	return ""
}

func TestDoctorShowsAForeignPointBesideOurs(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 3)
	server := d.onQdrant(t)
	d.run(t, fault.Done, "backfill")
	a := &assistant{server: server, desk: d}
	a.remember(t, "mem-0002", "a secret subject")
	out := d.run(t, fault.Done, "doctor")
	var checked struct {
		Checks []struct {
			ID     string `json:"check"`
			Beside []struct{ Field, Theirs, Ours string }
		} `json:"checks"`
	}
	if err := json.Unmarshal([]byte(out.stdout), &checked); err != nil {
		t.Fatal(err)
	}
	rows := map[string][2]string{}
	for _, c := range checked.Checks {
		for _, row := range c.Beside {
			rows[row.Field] = [2]string{row.Theirs, row.Ours}
		}
	}
	for field, want := range map[string][2]string{
		"kind": {"memory", "memory"}, "metadata.type": {record.ReusableType, ""}, "type": {"", record.ReusableType},
		"embed_space": {"", d.space(t)}, "metadata.subject": {"(16)", ""}, "likes": {"#", ""},
	} {
		if rows[field] != want {
			t.Errorf("%s: %v, want %v", field, rows[field], want)
		}
	}
	if showsText(out.stdout) {
		t.Error("a text is shown")
	}
}

func showsText(text string) bool {
	return slices.ContainsFunc([]string{"secret subject", "concept number"}, func(s string) bool { return strings.Contains(text, s) })
}

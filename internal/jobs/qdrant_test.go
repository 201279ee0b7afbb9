package jobs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

// onQdrant moves a desk's index to a server.
func (d *desk) onQdrant(t *testing.T) *qdranttest.Server {
	t.Helper()
	server, err := qdranttest.Start(qdranttest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	d.settings.Index.Store, d.settings.Index.URL = "qdrant", server.URL()
	return server
}

const collection = "test"

// served is what a server holds, as index has it of a file: without who wrote it
// and when, and without nulls.
func served(t *testing.T, s *qdranttest.Server) map[string]point {
	t.Helper()
	out := map[string]point{}
	for _, p := range s.Points(collection) {
		payload := withoutNulls(p.Payload)
		delete(payload, "run_id")
		delete(payload, "indexed_at")
		out[p.ID] = point{Payload: payload}
	}
	return out
}

func withoutNulls(payload map[string]any) map[string]any {
	out := maps.Clone(payload)
	for name, value := range out {
		if object, ok := value.(map[string]any); ok {
			out[name] = withoutNulls(object)
		}
	}
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

// withoutVectors keeps ids and payloads.
func withoutVectors(points map[string]point) map[string]point {
	out := map[string]point{}
	for id, p := range points {
		out[id] = point{Payload: withoutNulls(p.Payload)}
	}
	return out
}

func TestSameIndexOnBothStores(t *testing.T) {
	t.Parallel()
	for _, layout := range []record.Layout{record.Flat, record.Nested} {
		d := randomDesk(t, rand.New(rand.NewPCG(23, 0)), 40)
		d.settings.Index.Layout = string(layout)
		d.backfill(t)
		other := d.elsewhere(t)
		server := other.onQdrant(t)
		first := other.backfill(t)
		samePoints(t, string(layout), served(t, server), withoutVectors(d.index(t)))

		// Another layout, and back: what is updated is what was inserted.
		for _, next := range []record.Layout{record.Nested, record.Flat, layout} {
			for _, desk := range []*desk{d, other} {
				desk.settings.Index.Layout = string(next)
				desk.backfill(t)
			}
			samePoints(t, string(layout)+" then "+string(next), served(t, server), withoutVectors(d.index(t)))
		}
		if again := other.backfill(t); !again.NothingNew() && again.Withheld == 0 || again.Unchanged != first.Inserted {
			t.Errorf("%s: %+v", layout, again.Actions)
		}
	}
}

// An unchanged night asks for no vector and writes nothing, and neither does a
// dry run on a server that has no collection.
func TestUnchangedNightOnQdrant(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 60)
	server := d.onQdrant(t)
	planned := d.run(t, fault.Done, "backfill", "--dry-run").summary
	if c := server.Counts(); planned.actions()["insert"] != 120 || c.Writes != 0 || server.Points(collection) != nil {
		t.Errorf("a dry run planned %v, made %d writes", planned.actions(), c.Writes)
	}
	first := d.run(t, fault.Done, "backfill").summary
	if first.Inserted != 120 || len(server.Points(collection)) != 120 || server.Counts().Deletes != 0 {
		t.Fatalf("inserted %d, the server has %d", first.Inserted, len(server.Points(collection)))
	}
	if wide := server.Counts().LargestRequest; wide > d.settings.Index.BatchBytes {
		t.Errorf("a request of %d bytes", wide)
	}
	server.Reset()
	again := d.run(t, fault.Done, "backfill").summary
	if c := server.Counts(); c.Writes != 0 || c.VectorsRead != 0 || c.Methods["Points/CreateFieldIndex"]+c.Methods["Collections/Create"] != 0 || !again.NothingNew() {
		t.Errorf("calls %v, %d vectors read, nothing new: %v", c.Methods, c.VectorsRead, again.NothingNew())
	}
	if ids := d.search(t, "search", "--top", "1", "concept number 7"); !slices.Equal(ids, []string{"mem-0008"}) {
		t.Errorf("found %v", ids)
	}
	if ids := d.search(t, "solved-search", "--top", "2", "how many visits"); len(ids) != 2 {
		t.Errorf("found %v", ids)
	}
}

func TestCollectionOfAnotherKind(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 5)
	server := d.onQdrant(t)
	d.run(t, fault.Done, "backfill")
	before := served(t, server)
	d.settings.Embed.Dimensions = dimensions * 2
	out := d.run(t, fault.Usage, "backfill")
	wantID(t, out.err, "dimension_differs")
	d.settings.Embed.Dimensions = dimensions
	d.settings.Index.Vector = "dense"
	out = d.run(t, fault.Usage, "backfill")
	wantID(t, out.err, "collection_differs")
	wantID(t, d.run(t, fault.Usage, "doctor").err, "doctor_bad")
	samePoints(t, "index", served(t, server), before)
	d.settings.Index.Vector = ""
	server.Close()
	out = d.run(t, fault.Failed, "backfill")
	wantID(t, out.err, "store_unreachable")
}

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

// One write in ten is applied and its reply lost, one call in twenty fails, and
// the process is killed at random: after reruns the content is that of an
// unbroken run, with no point twice.
func TestNothingIsLostOnABadNetwork(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	d := cleanDesk(t, 60)
	d.settings.Index.Batch = 8
	unbroken := d.elsewhere(t)
	quiet := unbroken.onQdrant(t)
	unbroken.run(t, fault.Done, "backfill")

	server := d.onQdrant(t)
	server.SetFaults(qdranttest.Losing(seed, 10, 20))
	for range 6 { // killed somewhere on the way
		child := d.start(t, order{Argv: []string{"backfill"}, DieAt: 20 + int64(random.IntN(160))})
		if code, log := child.wait(t); code != -1 && code != int(fault.Done) && code != int(fault.Failed) {
			t.Fatalf("exit %d:\n%s", code, log)
		}
	}
	for tries := 0; ; tries++ {
		out := d.carryOut(t.Context(), "backfill")
		if out.code == fault.Done && out.summary.Inserted+out.summary.Updated+out.summary.Repayloaded == 0 {
			break
		}
		if tries == 20 || out.code != fault.Done && out.code != fault.Failed {
			t.Fatalf("try %d: exit %d: %v", tries, out.code, out.err)
		}
	}
	samePoints(t, "after the trouble", served(t, server), served(t, quiet))
	keys := map[any]bool{}
	for _, p := range server.Points(collection) {
		if keys[p.Payload["record_key"]] {
			t.Errorf("%v is there twice", p.Payload["record_key"])
		}
		keys[p.Payload["record_key"]] = true
	}
	if server.Counts().Deletes != 0 {
		t.Error("something was deleted")
	}
}

// The server refuses one point, whatever its company: it is reported and
// remembered, and all others are in.
func TestBadPointStandsAlone(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 30)
	server := d.onQdrant(t)
	server.SetFaults(qdranttest.Refusing(record.PointID("memory:mem-0013")))
	out := d.run(t, fault.Partial, "backfill")
	s := out.summary
	if s.Failed != 1 || s.Inserted != 59 || len(s.Failures) != 1 || s.Failures[0].Key != "memory:mem-0013" || s.Failures[0].Reason != "refused_by_store" {
		t.Fatalf("failed %d %v, inserted %d", s.Failed, s.Failures, s.Inserted)
	}
	if n := len(server.Points(collection)); n != 59 {
		t.Errorf("%d points", n)
	}
	// The next night knows it.
	if s := d.run(t, fault.Done, "backfill").summary; s.Withheld != 1 || s.Failed != 0 {
		t.Errorf("withheld %d, failed %d", s.Withheld, s.Failed)
	}
	server.SetFaults(nil)
	if s := d.run(t, fault.Done, "backfill", "--retry-failed").summary; s.Inserted != 1 {
		t.Errorf("inserted %d", s.Inserted)
	}
}

// A run that is stopped while the server hangs ends at once.
func TestInterruptedWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 5)
	server := d.onQdrant(t)
	reached := make(chan struct{}, 64)
	server.SetFaults(func(c qdranttest.Call) qdranttest.Fault {
		if c.Method != "Points/Upsert" {
			return qdranttest.Fault{}
		}
		return qdranttest.Fault{Hang: true, Before: func() { reached <- struct{}{} }}
	})
	child := d.start(t, order{Argv: []string{"backfill"}})
	<-reached
	child.signal(t, syscall.SIGTERM)
	if code, log := child.wait(t); code != int(fault.Interrupted) {
		t.Fatalf("exit %d:\n%s", code, log)
	}
	server.SetFaults(nil)
	if s := d.run(t, fault.Done, "backfill").summary; s.Inserted != 10 {
		t.Errorf("inserted %d", s.Inserted)
	}
}

func TestKeysOfTheIndex(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 2)
	server, err := qdranttest.Start(qdranttest.Options{APIKey: "write-key", ReadOnlyKey: "read-key"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	d.settings.Index.Store, d.settings.Index.URL = "qdrant", server.URL()
	wantID(t, d.run(t, fault.Credential, "backfill").err, "store_denied")
	d.env = map[string]string{"THTBATCH_INDEX_KEY": "read-key"}
	wantID(t, d.run(t, fault.Credential, "backfill").err, "store_denied")
	d.env = nil
	d.settings.Index.KeyFile = d.artifact("..", "key")
	write(t, d.settings.Index.KeyFile, "write-key\n")
	out := d.run(t, fault.Credential, "backfill")
	var classified *fault.Error
	if !errors.As(out.err, &classified) || classified.ID != "secret_unusable" || classified.Path != d.settings.Index.KeyFile {
		t.Fatalf("a key that others can read: %v", out.err)
	}
	if err := os.Chmod(d.settings.Index.KeyFile, 0o600); err != nil {
		t.Fatal(err)
	}
	d.run(t, fault.Done, "backfill")
	if len(server.Points(collection)) != 4 {
		t.Errorf("%d points", len(server.Points(collection)))
	}
}

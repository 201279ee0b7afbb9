package jobs_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// The server refuses one point, whatever its company: it is reported, and all
// others are in.
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
	// Only the server knows why: it may be otherwise tomorrow, and is said until it is.
	if s := d.run(t, fault.Partial, "backfill").summary; s.Withheld != 0 || s.Failed != 1 {
		t.Errorf("withheld %d, failed %d", s.Withheld, s.Failed)
	}
	server.SetFaults(nil)
	if s := d.run(t, fault.Done, "backfill").summary; s.Inserted != 1 {
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

// A key file that is missing is said as that by every job, also where nothing was
// published yet.
func TestKeyFileThatIsMissing(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 2)
	server := d.onQdrant(t)
	missing := filepath.Join(t.TempDir(), "none")
	for _, published := range []bool{false, true} {
		d.settings.Index.KeyFile = missing
		wantID(t, d.run(t, fault.Credential, "doctor").err, "doctor_bad")
		wantID(t, d.run(t, fault.Credential, "backfill").err, "secret_unusable")
		if published {
			wantID(t, d.run(t, fault.Credential, "search", "concept").err, "secret_unusable")
		}
		d.settings.Index.KeyFile = ""
		d.run(t, fault.Done, "backfill")
	}
	if len(server.Points(collection)) != 4 {
		t.Errorf("%d points", len(server.Points(collection)))
	}
}

package qdrant_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	client "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/qdrant"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

// A point that is refused, whatever its company, stands alone in the end.
func TestOneBadPointAmongMany(t *testing.T) {
	server, s := prepared(t, nil)
	bad := []string{record.PointID("memory:mem-0077"), record.PointID("memory:mem-0200")}
	server.SetFaults(qdranttest.Refusing(bad...))
	err := s.Write(t.Context(), memories(0, 256))
	var refused *load.RefusedError
	want := []load.ItemError{{Key: "memory:mem-0077", Reason: load.ReasonServer}, {Key: "memory:mem-0200", Reason: load.ReasonServer}}
	if !errors.As(err, &refused) || !refused.OthersWritten || !slices.Equal(refused.Items, want) {
		t.Fatalf("%v", err)
	}
	if n := len(server.Points("c")); n != 254 {
		t.Errorf("%d points", n)
	}
	if n := server.Counts().Methods["Points/Upsert"]; n > 40 {
		t.Errorf("%d calls", n)
	}
}

// Where everything is refused it is not the points: none is named, and the server
// is not asked about each.
func TestCollectionThatRefusesEverything(t *testing.T) {
	server, s := prepared(t, nil)
	server.SetFaults(first("Points/Upsert", 100_000, qdranttest.Fault{Code: codes.InvalidArgument}))
	err := s.Write(t.Context(), memories(0, 256))
	wantFault(t, err, "store_failed", fault.Failed)
	if n := server.Counts().Methods["Points/Upsert"]; n > 120 {
		t.Errorf("%d calls", n)
	}
	err = s.Write(t.Context(), memories(0, 3))
	wantFault(t, err, "store_failed", fault.Failed)
	// One alone may be bad by itself.
	var refused *load.RefusedError
	if err := s.Write(t.Context(), memories(0, 1)); !errors.As(err, &refused) || len(refused.Items) != 1 {
		t.Errorf("%v", err)
	}
}

func TestMessagesKeepTheirLimits(t *testing.T) {
	server, s := prepared(t, func(o *qdrant.Options) { o.BatchPoints, o.BatchBytes = 64, 200_000 })
	writes := memories(0, 300)
	for i := range writes {
		writes[i].Payload["detail"] = strings.Repeat("x", 50*i)
	}
	if err := s.Write(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
	if c := server.Counts(); c.LargestRequest > 200_000 || c.Upserted != 300 || c.Methods["Points/Upsert"] < 5 {
		t.Errorf("largest %d, %d points, %v", c.LargestRequest, c.Upserted, c.Methods)
	}
	for i := range writes {
		writes[i].Payload["subject"] = "another"
	}
	server.Reset()
	if err := s.Write(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
	if c := server.Counts(); c.LargestRequest > 200_000 || c.Methods["Points/Upsert"] != 0 {
		t.Errorf("updates: largest %d, %v", c.LargestRequest, c.Methods)
	}
	// A page of a scan stays below what receivers take.
	if c := server.Counts(); c.LargestReply > 4<<20 {
		t.Errorf("a reply of %d bytes", c.LargestReply)
	}
}

// A receiver that takes 64 KiB: what is too large for it alone is named, and the
// rest arrives.
func TestPointThatIsTooLarge(t *testing.T) {
	server := serve(t, qdranttest.Options{MaxMessage: 2 << 20})
	o := options(server.URL(), "c")
	s := open(t, o)
	if err := s.Prepare(t.Context(), dims); err != nil {
		t.Fatal(err)
	}
	writes := memories(0, 30)
	writes[11].Payload["detail"] = strings.Repeat("x", 3<<20)
	err := s.Write(t.Context(), writes)
	var refused *load.RefusedError
	if !errors.As(err, &refused) || !slices.Equal(refused.Items, []load.ItemError{{Key: "memory:mem-0011", Reason: load.ReasonTooLarge}}) {
		t.Fatalf("%v", err)
	}
	if n := len(server.Points("c")); n != 29 {
		t.Errorf("%d points", n)
	}
}

func TestStrictMode(t *testing.T) {
	yes, no, one := true, false, uint32(100)
	size, conditions := uint64(10), uint64(20)
	server, _ := prepared(t, nil)
	server.SetStrict("c", &client.StrictModeConfig{
		Enabled: &yes, MaxQueryLimit: &one, UnindexedFilteringRetrieve: &no, SearchAllowExact: &no,
		UpsertMaxBatchsize: &size, FilterMaxConditions: &conditions, ConditionMaxSize: &size,
	})
	s := open(t, options(server.URL(), "c")) // one that asks anew
	if err := s.Prepare(t.Context(), dims); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), memories(0, 250)); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for n := range 250 {
		keys = append(keys, fmt.Sprintf("memory:mem-%04d", n))
	}
	points, err := s.Lookup(t.Context(), keys)
	if err != nil || len(points) != 250 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	hits, err := s.Search(t.Context(), load.Query{Vector: []float32{1, 0, 0, 0}, Kind: record.KindMemory, Limit: 20})
	if err != nil || len(hits) != 20 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	scanned := 0
	err = s.Scan(t.Context(), func(b arrow.RecordBatch) error {
		scanned += int(b.NumRows())
		return nil
	})
	if err != nil || scanned != 250 {
		t.Errorf("%d points scanned, %v", scanned, err)
	}
}

// What is not UTF-8 panics in the client's own conversion: it is refused before
// anything is sent.
func TestNoCallForWhatIsNotUTF8(t *testing.T) {
	server, s := prepared(t, nil)
	w := memory(1, 1, 0, 0, 0)
	w.Payload["subject"] = "a\xffb"
	if _, err := s.Lookup(t.Context(), []string{"memory:mem-0001"}); err != nil { // it knows the collection now
		t.Fatal(err)
	}
	server.Reset()
	var refused *load.RefusedError
	if err := s.Write(t.Context(), []load.Write{w}); !errors.As(err, &refused) || refused.Items[0].Reason != load.ReasonEncoding {
		t.Errorf("%v", err)
	}
	w = memory(1, 1, 0, 0, 0)
	w.PointID = "no-uuid"
	if err := s.Write(t.Context(), []load.Write{w}); !errors.As(err, &refused) || refused.Items[0].Reason != load.ReasonPointID {
		t.Errorf("%v", err)
	}
	if c := server.Counts(); len(c.Methods) != 0 {
		t.Errorf("calls %v", c.Methods)
	}
}

// Several messages of one Write are under way at once: the second arrives while
// the first has no answer.
func TestStreamsOverlap(t *testing.T) {
	server, s := prepared(t, func(o *qdrant.Options) { o.BatchPoints, o.Streams = 10, 2 })
	var both sync.WaitGroup
	both.Add(2)
	server.SetFaults(first("Points/Upsert", 2, qdranttest.Fault{Before: func() {
		both.Done()
		both.Wait()
	}}))
	if err := s.Write(t.Context(), memories(0, 40)); err != nil || len(server.Points("c")) != 40 {
		t.Errorf("%v, %d points", err, len(server.Points("c")))
	}
}

// A point goes while it is being updated: it is looked at again, and inserted.
func TestPointThatGoesMeanwhile(t *testing.T) {
	server, s := prepared(t, nil)
	if err := s.Write(t.Context(), memories(0, 5)); err != nil {
		t.Fatal(err)
	}
	server.SetFaults(first("Points/UpdateBatch", 1, qdranttest.Fault{Before: func() {
		server.Remove("c", record.PointID("memory:mem-0003"))
	}}))
	if err := s.Write(t.Context(), memories(0, 5)); err != nil || len(server.Points("c")) != 5 {
		t.Errorf("%v, %d points", err, len(server.Points("c")))
	}
}

// An update that is cut short has not written its hashes: the next plan does it
// again.
func TestHashesAreWrittenLast(t *testing.T) {
	server, s := prepared(t, nil)
	if err := s.Write(t.Context(), memories(0, 1)); err != nil {
		t.Fatal(err)
	}
	var seen *client.UpdateBatchPoints
	server.SetFaults(func(c qdranttest.Call) qdranttest.Fault {
		if r, ok := c.Data.(*client.UpdateBatchPoints); ok {
			seen = r
		}
		return qdranttest.Fault{}
	})
	w := memory(0, 0, 1, 0, 0)
	w.Payload["metadata"] = map[string]any{"team": "x"}
	if err := s.Write(t.Context(), []load.Write{w}); err != nil {
		t.Fatal(err)
	}
	operations := seen.GetOperations()
	last := operations[len(operations)-1].GetSetPayload()
	if last.GetKey() != "" || last.GetPayload()["payload_hash"] == nil {
		t.Fatalf("the last operation is %v", operations[len(operations)-1])
	}
	for _, o := range operations[:len(operations)-1] {
		if o.GetSetPayload().GetPayload()["payload_hash"] != nil {
			t.Error("hashes are written before the end")
		}
	}
}

func TestDeleter(t *testing.T) {
	server, s := prepared(t, nil)
	if err := s.Write(t.Context(), memories(0, 5)); err != nil {
		t.Fatal(err)
	}
	_, err := qdrant.NewDeleter(t.Context(), options(server.URL(), "c"), "")
	wantFault(t, err, "delete_key_missing", fault.Credential)
	d, err := qdrant.NewDeleter(t.Context(), options(server.URL(), "c"), "delete-key")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Delete(t.Context(), nil); err == nil {
		t.Error("deleting nothing is no error")
	}
	if err := d.Delete(t.Context(), []string{"x"}); err == nil {
		t.Error("deleting an id that is none is no error")
	}
	if n := server.Counts().Deletes; n != 0 || len(server.Points("c")) != 5 {
		t.Fatalf("%d calls, %d points", n, len(server.Points("c")))
	}
	if err := d.Delete(t.Context(), []string{record.PointID("memory:mem-0002"), "77"}); err != nil || len(server.Points("c")) != 4 {
		t.Errorf("%v, %d points", err, len(server.Points("c")))
	}
}

// Random batches under random trouble, sent again until they are taken, leave what
// an unbroken run leaves.
func TestAnyTroubleLeavesTheSame(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	quiet, unbroken := prepared(t, nil)
	server, s := prepared(t, func(o *qdrant.Options) { o.BatchPoints, o.Tries = 7, 3 })
	server.SetFaults(qdranttest.Losing(seed, 5, 10))
	held := map[int]bool{}
	for round := range 40 {
		var batch []load.Write
		for _, n := range random.Perm(60)[:1+random.IntN(30)] {
			w := memory(n)
			if !held[n] || random.IntN(2) == 0 {
				w.Vector = []float32{random.Float32() + 0.1, random.Float32(), -random.Float32(), 1}
			}
			w.Payload = maps.Clone(w.Payload)
			w.Payload["subject"] = fmt.Sprint("round ", round)
			held[n] = true
			batch = append(batch, w)
		}
		if err := unbroken.Write(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		for tries := 0; ; tries++ {
			err := s.Write(t.Context(), batch)
			if err == nil {
				break
			}
			if tries == 30 {
				t.Fatal(err)
			}
		}
		if got, want := content(server), content(quiet); got != want {
			t.Fatalf("round %d: the server holds\n%s\nwant\n%s", round, got, want)
		}
	}
}

package qdrant_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/qdrant"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

// Somebody puts another record under the id of a point between two tries, when
// part of the batch is written: that point is refused, the others are in, and the
// refusal says so.
func TestPointThatIsTakenMeanwhile(t *testing.T) {
	server, s := prepared(t, func(o *qdrant.Options) { o.BatchPoints, o.Streams = 4, 1 })
	taken := memory(9, 1, 0, 0, 0)
	theirs := map[string]any{"record_key": "memory:other", "kind": "memory", "note": "theirs"}
	server.SetFaults(first("Points/Upsert", 1, qdranttest.Fault{Code: codes.Unavailable, Before: func() {
		if err := server.Plant("c", taken.PointID, []float32{0, 0, 0, 1}, theirs); err != nil {
			t.Error(err)
		}
	}}))
	err := s.Write(t.Context(), append(memories(7, 11), memories(0, 6)...))
	var refused *load.RefusedError
	want := []load.ItemError{{Key: taken.Key, Reason: load.ReasonOtherRecord}}
	if !errors.As(err, &refused) || !refused.OthersWritten || !slices.Equal(refused.Items, want) {
		t.Fatalf("%v, want %v and the others written", err, want)
	}
	points := server.Points("c")
	if len(points) != 10 {
		t.Errorf("%d points, want 10", len(points))
	}
	for _, p := range points {
		if p.ID == taken.PointID && (p.Payload["note"] != "theirs" || p.Payload["record_key"] != "memory:other") {
			t.Errorf("another record was written over: %v", p.Payload)
		}
	}
}

// Another writer makes the point while our insert is lost on the way: the next try
// sees it, and takes nothing from it.
func TestPointThatComesMeanwhile(t *testing.T) {
	for name, after := range map[string]bool{"not applied": false, "applied": true} {
		t.Run(name, func(t *testing.T) {
			server, s := prepared(t, nil)
			w := memory(3, 1, 0, 0, 0)
			looks := 0
			lose := first("Points/Upsert", 1, qdranttest.Fault{Code: codes.DeadlineExceeded, After: after})
			server.SetFaults(func(c qdranttest.Call) qdranttest.Fault {
				if c.Method != "Points/Get" {
					return lose(c)
				}
				if looks++; looks == 2 {
					held := memory(3).Payload
					held["likes"] = int64(3)
					if err := server.Plant("c", w.PointID, []float32{0, 1, 0, 0}, held); err != nil {
						t.Error(err)
					}
				}
				return qdranttest.Fault{}
			})
			if err := s.Write(t.Context(), memories(0, 5)); err != nil {
				t.Fatal(err)
			}
			points := server.Points("c")
			at := slices.IndexFunc(points, func(p qdranttest.Point) bool { return p.ID == w.PointID })
			if len(points) != 5 || points[at].Payload["likes"] != int64(3) || points[at].Vector[0] == 0 {
				t.Errorf("%d points, %v", len(points), points[at])
			}
		})
	}
}

// A rate of writes that is smaller than a message: it is halved until it fits,
// and no point is blamed.
func TestRateBelowAMessage(t *testing.T) {
	yes, rate := true, uint32(100)
	now := time.Unix(0, 0)
	server := serve(t, qdranttest.Options{Now: func() time.Time {
		now = now.Add(time.Minute) // under the server's lock of the collection, one stream
		return now
	}})
	o := options(server.URL(), "c")
	o.Streams = 1
	s := open(t, o)
	if err := s.Prepare(t.Context(), dims); err != nil {
		t.Fatal(err)
	}
	server.SetStrict("c", &client.StrictModeConfig{Enabled: &yes, WriteRateLimit: &rate})
	for _, what := range []string{"inserts", "updates"} {
		if err := s.Write(t.Context(), memories(0, 256)); err != nil || len(server.Points("c")) != 256 {
			t.Fatalf("%s: %v, %d points", what, err, len(server.Points("c")))
		}
	}
}

// What never fits a rate is no fault of a record.
func TestRateOfNothing(t *testing.T) {
	server, s := prepared(t, nil)
	server.SetFaults(first("Points/Upsert", 100_000, qdranttest.Fault{Code: codes.ResourceExhausted}))
	for _, n := range []int{1, 200} {
		err := s.Write(t.Context(), memories(0, n))
		wantFault(t, err, "store_failed", fault.Failed)
		var refused *load.RefusedError
		if errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	}
	if n := server.Counts().Methods["Points/Upsert"]; n > 20 {
		t.Errorf("%d calls", n)
	}
}

// Many bad points among more good ones are each named: a batch does not fail for
// its bad ones, however many.
func TestManyBadPointsAmongMore(t *testing.T) {
	server, s := prepared(t, nil)
	var bad []string
	var want []load.ItemError
	for n := 0; n < 256; n += 8 {
		key := fmt.Sprintf("memory:mem-%04d", n)
		bad, want = append(bad, record.PointID(key)), append(want, load.ItemError{Key: key, Reason: load.ReasonServer})
	}
	server.SetFaults(qdranttest.Refusing(bad...))
	err := s.Write(t.Context(), memories(0, 256))
	var refused *load.RefusedError
	if !errors.As(err, &refused) || !refused.OthersWritten || !slices.Equal(refused.Items, want) {
		t.Fatalf("%v", err)
	}
	if n := len(server.Points("c")); n != 256-len(bad) {
		t.Errorf("%d points", n)
	}
}

// A collection that takes no new points takes updates: the new ones are not bad
// for it, also where half of the batch is written.
func TestCollectionThatIsFull(t *testing.T) {
	server, s := prepared(t, nil)
	if err := s.Write(t.Context(), memories(0, 128)); err != nil {
		t.Fatal(err)
	}
	server.SetFaults(first("Points/Upsert", 100_000, qdranttest.Fault{Code: codes.InvalidArgument}))
	wantFault(t, s.Write(t.Context(), memories(0, 256)), "store_failed", fault.Failed)
}

// Points that are too large are so by themselves, also where there are no others.
func TestOnlyPointsThatAreTooLarge(t *testing.T) {
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.OutOfRange} {
		server := serve(t, qdranttest.Options{MaxMessage: 2 << 20, Oversized: code})
		s := open(t, options(server.URL(), "c"))
		if err := s.Prepare(t.Context(), dims); err != nil {
			t.Fatal(err)
		}
		writes := memories(0, 2)
		for i := range writes {
			writes[i].Payload["detail"] = strings.Repeat("x", 3<<20)
		}
		var refused *load.RefusedError
		err := s.Write(t.Context(), writes)
		if !errors.As(err, &refused) || len(refused.Items) != 2 || refused.Items[0].Reason != load.ReasonTooLarge {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// Nothing of a Write goes on when it has returned, however it ended.
func TestNothingGoesOn(t *testing.T) {
	for name, f := range map[string]qdranttest.Fault{
		"an error":             {Code: codes.Internal},
		"the end of a context": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, s := prepared(t, func(o *qdrant.Options) { o.BatchPoints, o.Streams = 5, 4 })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var calls atomic.Int64
			server.SetFaults(func(c qdranttest.Call) qdranttest.Fault {
				if c.Method != "Points/Upsert" {
					return qdranttest.Fault{}
				}
				if f.Hang && calls.Add(1) == 4 {
					cancel() // all streams are under way
				}
				return f
			})
			if err := s.Write(ctx, memories(0, 60)); err == nil {
				t.Fatal("no error")
			}
			var stacks strings.Builder
			if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(stacks.String(), "qdrant.(*writing)") {
				t.Errorf("a message is still under way:\n%s", stacks.String())
			}
			server.SetFaults(nil)
			if err := s.Write(t.Context(), memories(0, 60)); err != nil || len(server.Points("c")) != 60 {
				t.Errorf("afterwards: %v, %d points", err, len(server.Points("c")))
			}
		})
	}
}

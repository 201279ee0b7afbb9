package qdrant_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/qdrant"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

const dims = 4

// memory is a write under our own id.
func memory(n int, vector ...float32) load.Write {
	ref := fmt.Sprintf("mem-%04d", n)
	key := record.MemoryKey(ref)
	return load.Write{PointID: record.PointID(key), Key: key, Vector: vector, Payload: map[string]any{
		"record_key": key, "kind": record.KindMemory, "ref": ref, "type": record.ReusableType, "workspace": "w",
		"subject": "subject " + ref, "content_hash": record.Hash(ref), "payload_hash": record.Hash("p" + ref), "embed_space": "s",
	}}
}

func memories(from, to int) []load.Write {
	var out []load.Write
	for n := from; n < to; n++ {
		out = append(out, memory(n, 1, float32(n), 0, 1))
	}
	return out
}

// prepared is a server with an empty collection, and a store on it.
func prepared(t testing.TB, change func(*qdrant.Options)) (*qdranttest.Server, *qdrant.Store) {
	t.Helper()
	server := serve(t, qdranttest.Options{})
	o := options(server.URL(), "c")
	if change != nil {
		change(&o)
	}
	s := open(t, o)
	if err := s.Prepare(t.Context(), dims); err != nil {
		t.Fatal(err)
	}
	server.Reset()
	return server, s
}

func wantFault(t *testing.T, err error, id string, code fault.Code) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.ID != id || f.Code != code {
		t.Fatalf("%v, want %s with exit %d", err, id, code)
	}
	if strings.Contains(err.Error(), "on demand") {
		t.Errorf("what the server said is told: %v", err)
	}
}

// content is all payloads by id, and the number of points.
func content(server *qdranttest.Server) string {
	var b strings.Builder
	for _, p := range server.Points("c") {
		fmt.Fprintf(&b, "%s %v %.4f\n", p.ID, p.Payload, p.Vector)
	}
	return b.String()
}

// first lets the first n calls of a method have a fault.
func first(method string, n int, f qdranttest.Fault) func(qdranttest.Call) qdranttest.Fault {
	var seen atomic.Int64
	return func(c qdranttest.Call) qdranttest.Fault {
		if c.Method == method && seen.Add(1) <= int64(n) {
			return f
		}
		return qdranttest.Fault{}
	}
}

// Every kind of call survives what passes, done once and not lost or doubled.
func TestWhatPassesIsTriedAgain(t *testing.T) {
	updated := func() []load.Write {
		out := memories(0, 5)
		for i := range out {
			out[i].Payload["subject"] = "another"
		}
		return out
	}
	for name, f := range map[string]qdranttest.Fault{
		"unavailable":           {Code: codes.Unavailable},
		"aborted":               {Code: codes.Aborted},
		"deadline":              {Code: codes.DeadlineExceeded},
		"reply lost":            {Code: codes.Unavailable, After: true},
		"deadline, but applied": {Code: codes.DeadlineExceeded, After: true},
		"exhausted, come again": {Code: codes.ResourceExhausted, RetryAfter: -1},
	} {
		for _, method := range []string{"Qdrant/HealthCheck", "Collections/CollectionExists", "Collections/Get", "Points/Count",
			"Points/Scroll", "Points/Get", "Points/Upsert", "Points/UpdateBatch", "Points/Query"} {
			t.Run(name+" "+method, func(t *testing.T) {
				server, s := prepared(t, nil)
				if err := s.Write(t.Context(), memories(0, 5)); err != nil {
					t.Fatal(err)
				}
				server.SetFaults(first(method, 3, f))
				fresh := open(t, options(server.URL(), "c"))
				info, err := fresh.Info(t.Context())
				if err != nil || info.Points != 5 || info.Version != "1.17.0" {
					t.Fatalf("%+v, %v", info, err)
				}
				if err := fresh.Write(t.Context(), append(updated(), memories(5, 9)...)); err != nil {
					t.Fatal(err)
				}
				points, err := fresh.Lookup(t.Context(), []string{"memory:mem-0001", "memory:mem-0007"})
				if err != nil || len(points) != 2 {
					t.Fatalf("%v, %v", points, err)
				}
				hits, err := fresh.Search(t.Context(), load.Query{Vector: []float32{1, 0, 0, 1}, Limit: 20})
				if err != nil || len(hits) != 9 || load.String(hits[0].Payload, "subject") != "another" {
					t.Fatalf("%d hits, %v", len(hits), err)
				}
				if server.Counts().Deletes != 0 {
					t.Error("something was deleted")
				}
			})
		}
	}
}

func TestWhatDoesNotPass(t *testing.T) {
	for name, c := range map[string]struct {
		fault qdranttest.Fault
		id    string
		code  fault.Code
		most  int // calls
	}{
		"down":           {qdranttest.Fault{Code: codes.Unavailable}, "store_unreachable", fault.Failed, 8},
		"no key":         {qdranttest.Fault{Code: codes.Unauthenticated}, "store_denied", fault.Credential, 1},
		"may not write":  {qdranttest.Fault{Code: codes.PermissionDenied}, "store_denied", fault.Credential, 1},
		"internal":       {qdranttest.Fault{Code: codes.Internal}, "store_failed", fault.Failed, 1},
		"gone":           {qdranttest.Fault{Code: codes.NotFound}, "store_vanished", fault.Failed, 1},
		"not understood": {qdranttest.Fault{Code: codes.Unimplemented}, "store_failed", fault.Failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server, s := prepared(t, nil)
			server.SetFaults(first("Points/Upsert", 1000, c.fault))
			err := s.Write(t.Context(), memories(0, 40))
			wantFault(t, err, c.id, c.code)
			if n := server.Counts().Methods["Points/Upsert"]; n > c.most {
				t.Errorf("%d calls", n)
			}
			if name == "gone" && !errors.Is(err, load.ErrNotPrepared) {
				t.Errorf("%v is not load.ErrNotPrepared", err)
			}
			server.SetFaults(nil)
			if err := s.Write(t.Context(), memories(0, 40)); err != nil || len(server.Points("c")) != 40 {
				t.Errorf("afterwards: %v, %d points", err, len(server.Points("c")))
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	server := serve(t, qdranttest.Options{})
	server.Close()
	o := options(server.URL(), "c")
	o.Tries = 3
	_, err := open(t, o).Info(t.Context())
	wantFault(t, err, "store_unreachable", fault.Failed)
}

// Whoever waits for a pause, or for a server that hangs, can leave.
func TestWaitingEndsWithTheContext(t *testing.T) {
	for name, f := range map[string]qdranttest.Fault{
		"a pause of an hour":  {Code: codes.ResourceExhausted, RetryAfter: 600},
		"a server that hangs": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, s := prepared(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			f.Before = cancel
			if f.Hang {
				f.Before = func() { go cancel() }
			}
			server.SetFaults(first("Points/Upsert", 1000, f))
			if err := s.Write(ctx, memories(0, 3)); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A call has a deadline of its own: a server that hangs once costs one of them.
func TestCallThatHangs(t *testing.T) {
	server, s := prepared(t, func(o *qdrant.Options) { o.Timeout = 200 * time.Millisecond })
	server.SetFaults(first("Points/Upsert", 1, qdranttest.Fault{Hang: true}))
	if err := s.Write(t.Context(), memories(0, 3)); err != nil || len(server.Points("c")) != 3 {
		t.Errorf("%v, %d points", err, len(server.Points("c")))
	}
}

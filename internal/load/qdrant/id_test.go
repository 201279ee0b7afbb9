package qdrant_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/qdrant"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

// An address of six parts is one, and IPv4 within it is loopback as well.
func TestAddressInBrackets(t *testing.T) {
	server := serve(t, qdranttest.Options{APIKey: "k"})
	o := options(strings.Replace(server.URL(), "127.0.0.1", "[::ffff:127.0.0.1]", 1), "c")
	o.Key, o.Tries = "k", 1
	if err := open(t, o).Prepare(t.Context(), dims); err != nil {
		t.Error(err)
	}
}

// What an address has behind the port would be told wherever the store is named,
// and may be a key.
func TestAddressWithMore(t *testing.T) {
	for _, url := range []string{"http://localhost:6334?api-key=k-secret", "http://localhost/k-secret", "https://localhost#k-secret"} {
		_, err := qdrant.Open(t.Context(), qdrant.Options{URL: url, Collection: "c"})
		wantFault(t, err, "store_url", fault.Usage)
		if strings.Contains(err.Error(), "k-secret") {
			t.Errorf("%v", err)
		}
	}
	if _, err := qdrant.Open(t.Context(), qdrant.Options{URL: "http://localhost:6334/", Collection: "c"}); err != nil {
		t.Error(err)
	}
}

// The server tells a UUID in one form. In another it would not be found in the
// answer, and the point be taken for a new one and replaced.
func TestOneFormOfAnID(t *testing.T) {
	server, s := prepared(t, nil)
	w := memory(1, 1, 0, 0, 0)
	held := memory(1).Payload
	held["likes"] = int64(3)
	if err := server.Plant("c", w.PointID, []float32{1, 0, 0, 0}, held); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{strings.ToUpper(w.PointID), "urn:uuid:" + w.PointID, strings.ReplaceAll(w.PointID, "-", ""), "007", "+7", "-7", "18446744073709551616"} {
		w.PointID = id
		var refused *load.RefusedError
		if err := s.Write(t.Context(), []load.Write{w}); !errors.As(err, &refused) || refused.Items[0].Reason != load.ReasonPointID {
			t.Errorf("%s: %v", id, err)
		}
	}
	if p := server.Points("c"); len(p) != 1 || p[0].Payload["likes"] != int64(3) {
		t.Errorf("%v", p)
	}
	w = memory(2, 1, 0, 0, 0)
	w.PointID = "18446744073709551615"
	if err := s.Write(t.Context(), []load.Write{w}); err != nil {
		t.Error(err)
	}
}

// No record has a key that is not UTF-8: it is unknown like any other.
func TestKeyThatIsNotUTF8(t *testing.T) {
	_, s := prepared(t, nil)
	if err := s.Write(t.Context(), memories(0, 2)); err != nil {
		t.Fatal(err)
	}
	points, err := s.Lookup(t.Context(), []string{"\xff", "memory:mem-0001"})
	if err != nil || len(points) != 1 {
		t.Errorf("%v, %v", points, err)
	}
}

package qdrant_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"strconv"
	"testing"
	"time"

	client "github.com/qdrant/go-client/qdrant"

	"github.com/thtbatch/thtbatch/internal/load/loadtest"
	"github.com/thtbatch/thtbatch/internal/load/qdrant"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

// options are those of a test: no pause is long enough to notice.
func options(url, collection string) qdrant.Options {
	return qdrant.Options{URL: url, Collection: collection, Tries: 8, Pause: time.Microsecond, Timeout: time.Minute, Streams: 3}
}

func open(t testing.TB, o qdrant.Options) *qdrant.Store {
	t.Helper()
	s, err := qdrant.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func serve(t testing.TB, o qdranttest.Options) *qdranttest.Server {
	t.Helper()
	s, err := qdranttest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// planted is a store on the test server.
type planted struct {
	*qdrant.Store
	server     *qdranttest.Server
	collection string
}

func (p planted) Plant(_ context.Context, id string, vector []float32, payload map[string]any) error {
	return p.server.Plant(p.collection, id, vector, payload)
}

func TestConformance(t *testing.T) {
	for name, vector := range map[string]string{"unnamed": "", "named": "dense"} {
		t.Run(name, func(t *testing.T) {
			loadtest.Run(t, func(t *testing.T) loadtest.Store {
				server := serve(t, qdranttest.Options{MaxMessage: 64 << 20}) // the real one decodes any size
				o := options(server.URL(), "c")
				o.Vector = vector
				return planted{open(t, o), server, "c"}
			})
		})
	}
}

// real is a store on a real server.
type real struct {
	*qdrant.Store
	client     *client.Client
	collection string
}

func (r real) Plant(ctx context.Context, id string, vector []float32, payload map[string]any) error {
	values := map[string]any{}
	for name, v := range payload {
		values[name] = asClient(v)
	}
	fields, err := client.TryValueMap(values)
	if err != nil {
		return err
	}
	pointID := client.NewID(id)
	if n, err := strconv.ParseUint(id, 10, 64); err == nil {
		pointID = client.NewIDNum(n)
	}
	wait := true
	_, err = r.client.Upsert(ctx, &client.UpsertPoints{CollectionName: r.collection, Wait: &wait,
		Points: []*client.PointStruct{{Id: pointID, Vectors: client.NewVectors(vector...), Payload: fields}}})
	return err
}

func asClient(v any) any {
	switch v := v.(type) {
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[name] = asClient(inner)
		}
		return out
	}
	return v
}

// THTBATCH_TEST_QDRANT is the address of a real server, and
// THTBATCH_TEST_QDRANT_KEY its key. Collections with random names are made there
// and deleted. With THTBATCH_TEST_QDRANT_REQUIRED the suite may not be skipped.
func TestConformanceOnARealServer(t *testing.T) {
	url, key := os.Getenv("THTBATCH_TEST_QDRANT"), os.Getenv("THTBATCH_TEST_QDRANT_KEY")
	if url == "" {
		if os.Getenv("THTBATCH_TEST_QDRANT_REQUIRED") != "" {
			t.Fatal("THTBATCH_TEST_QDRANT names no server, and one is required")
		}
		t.Skip("set THTBATCH_TEST_QDRANT=http://localhost:6334 to run the suite on a real Qdrant (docker compose up -d qdrant)")
	}
	loadtest.Run(t, func(t *testing.T) loadtest.Store {
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails
		o := options(url, "thtbatch-test-"+hex.EncodeToString(random[:]))
		o.Key = key
		host, port, tls := qdrant.Address(t, url)
		c, err := client.NewClient(&client.Config{Host: host, Port: port, UseTLS: tls, APIKey: key, SkipCompatibilityCheck: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.DeleteCollection(context.WithoutCancel(t.Context()), o.Collection); err != nil {
				t.Error(err)
			}
			_ = c.Close()
		})
		return real{open(t, o), c, o.Collection}
	})
}

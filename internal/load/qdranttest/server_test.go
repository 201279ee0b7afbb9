package qdranttest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

func TestHealth(t *testing.T) {
	for given, want := range map[string]string{"": "1.17.0", "1.12.4": "1.12.4"} {
		reply, err := dial(t, serve(t, qdranttest.Options{Version: given, APIKey: "k"})).HealthCheck(t.Context()) // no key is needed
		if err != nil || reply.GetVersion() != want {
			t.Errorf("%v, %v", reply, err)
		}
	}
}

func TestCollections(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	ctx := t.Context()
	refused(t, b.client.CreateCollection(ctx, collection("c", 2)), codes.AlreadyExists)
	refused(t, b.client.CreateCollection(ctx, collection("huge", 65537)), codes.InvalidArgument)
	sparse, multiple := collection("s", 2), collection("m", 2)
	sparse.SparseVectorsConfig = qdrant.NewSparseVectorsConfig(map[string]*qdrant.SparseVectorParams{"w": {}})
	multiple.VectorsConfig.GetParams().MultivectorConfig = &qdrant.MultiVectorConfig{}
	refused(t, b.client.CreateCollection(ctx, sparse), codes.Unimplemented)
	refused(t, b.client.CreateCollection(ctx, multiple), codes.Unimplemented)
	b.must(b.client.CreateCollection(ctx, collection("a", 3)))
	names, err := b.client.ListCollections(ctx)
	if err != nil || !slices.Equal(names, []string{"a", "c"}) {
		t.Errorf("%v, %v", names, err)
	}
	b.put(1, nil)
	_, err = b.client.CreateFieldIndex(ctx, index("kind"))
	b.must(err)
	_, err = b.client.CreateFieldIndex(ctx, &qdrant.CreateFieldIndexCollection{CollectionName: "c", FieldName: "x"})
	refused(t, err, codes.InvalidArgument)
	b.must(b.client.UpdateCollection(ctx, &qdrant.UpdateCollection{CollectionName: "c", StrictModeConfig: &qdrant.StrictModeConfig{MaxQueryLimit: qdrant.PtrOf(uint32(7))}}))
	info, err := b.client.GetCollectionInfo(ctx, "c")
	b.must(err)
	params := info.GetConfig().GetParams().GetVectorsConfig().GetParams()
	if params.GetSize() != 2 || params.GetDistance() != qdrant.Distance_Cosine || info.GetPointsCount() != 1 ||
		info.GetPayloadSchema()["kind"].GetDataType() != qdrant.PayloadSchemaType_Keyword || info.GetConfig().GetStrictModeConfig().GetMaxQueryLimit() != 7 {
		t.Errorf("%v", info)
	}
	b.must(b.client.DeleteCollection(ctx, "a"))
	for name, want := range map[string]bool{"a": false, "c": true} {
		if is, err := b.client.CollectionExists(ctx, name); is != want || err != nil {
			t.Errorf("%s exists: %t, %v", name, is, err)
		}
	}
}

func TestNoCollection(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	ctx, c := t.Context(), b.client.GetPointsClient()
	for name, call := range map[string]func() error{
		"info": func() error { _, err := b.client.GetCollectionInfo(ctx, "no"); return err },
		"index": func() error {
			_, err := c.CreateFieldIndex(ctx, &qdrant.CreateFieldIndexCollection{CollectionName: "no"})
			return err
		},
		"upsert": func() error { _, err := c.Upsert(ctx, &qdrant.UpsertPoints{CollectionName: "no"}); return err },
		"vectors": func() error {
			_, err := c.UpdateVectors(ctx, &qdrant.UpdatePointVectors{CollectionName: "no"})
			return err
		},
		"set": func() error { _, err := c.SetPayload(ctx, &qdrant.SetPayloadPoints{CollectionName: "no"}); return err },
		"batch": func() error {
			_, err := c.UpdateBatch(ctx, &qdrant.UpdateBatchPoints{CollectionName: "no"})
			return err
		},
		"delete": func() error { _, err := c.Delete(ctx, &qdrant.DeletePoints{CollectionName: "no"}); return err },
		"get":    func() error { _, err := c.Get(ctx, &qdrant.GetPoints{CollectionName: "no"}); return err },
		"scroll": func() error { _, err := c.Scroll(ctx, &qdrant.ScrollPoints{CollectionName: "no"}); return err },
		"count":  func() error { _, err := c.Count(ctx, &qdrant.CountPoints{CollectionName: "no"}); return err },
		"query": func() error {
			_, err := c.Query(ctx, &qdrant.QueryPoints{CollectionName: "no", Query: qdrant.NewQuery(1, 0)})
			return err
		},
	} {
		t.Log(name)
		refused(t, call(), codes.NotFound)
	}
}

func TestKeys(t *testing.T) {
	server := serve(t, qdranttest.Options{APIKey: "writes", ReadOnlyKey: "reads"})
	for key, want := range map[string][2]codes.Code{ // of a read, of a write
		"writes": {codes.OK, codes.OK},
		"reads":  {codes.OK, codes.PermissionDenied},
		"other":  {codes.Unauthenticated, codes.Unauthenticated},
		"":       {codes.Unauthenticated, codes.Unauthenticated},
	} {
		client := dial(t, server, func(c *qdrant.Config) { c.APIKey = key })
		_, err := client.ListCollections(t.Context())
		refused(t, err, want[0])
		refused(t, client.CreateCollection(t.Context(), collection("c"+key, 2)), want[1])
	}
}

func TestTLS(t *testing.T) {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	defer web.Close()
	server := serve(t, qdranttest.Options{TLS: &tls.Config{Certificates: web.TLS.Certificates}})
	if !strings.HasPrefix(server.URL(), "https://127.0.0.1:") {
		t.Error(server.URL())
	}
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	client := dial(t, server, func(c *qdrant.Config) { c.UseTLS, c.TLSConfig = true, &tls.Config{RootCAs: roots} })
	if _, err := client.HealthCheck(t.Context()); err != nil {
		t.Error(err)
	}
	_, err := dial(t, server).HealthCheck(t.Context())
	refused(t, err, codes.Unavailable)
}

func TestOversizedMessages(t *testing.T) {
	long := pointOf(1, fields{"a": strings.Repeat("x", 3000)}, 1, 0)
	for code, o := range map[codes.Code]qdranttest.Options{
		codes.ResourceExhausted: {MaxMessage: 2000},
		codes.OutOfRange:        {MaxMessage: 2000, Oversized: codes.OutOfRange},
		codes.OK:                {},
	} {
		b := newBench(t, o)
		refused(t, b.upsert(long), code)
		b.put(2, nil)
		if n := b.server.Counts().LargestRequest; code == codes.OK && n < 3000 {
			t.Errorf("the largest request had %d bytes", n)
		}
	}
}

func TestFaults(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	only := func(f qdranttest.Fault) {
		b.server.Reset()
		b.server.SetFaults(func(c qdranttest.Call) qdranttest.Fault {
			if c.Method == "Points/Upsert" && c.N == 0 {
				return f
			}
			return qdranttest.Fault{}
		})
	}
	only(qdranttest.Fault{Code: codes.Unavailable})
	refused(t, b.upsert(pointOf(1, nil, 1, 0)), codes.Unavailable)
	if len(b.ids()) != 0 {
		t.Error("a call that failed was carried out")
	}
	b.put(1, nil) // the second

	only(qdranttest.Fault{Code: codes.DeadlineExceeded, After: true})
	refused(t, b.upsert(pointOf(2, nil, 1, 0)), codes.DeadlineExceeded)
	if len(b.ids()) != 2 {
		t.Error("the reply alone should be lost")
	}
	only(qdranttest.Fault{After: true})
	refused(t, b.upsert(pointOf(3, nil, 1, 0)), codes.Unavailable)
	only(qdranttest.Fault{Code: codes.Unavailable, After: true})
	refused(t, b.upsert(pointOf(3, nil, 1)), codes.InvalidArgument) // there was no reply to lose

	for seconds, want := range map[int]int{3: 3, -1: 0} {
		only(qdranttest.Fault{Code: codes.ResourceExhausted, RetryAfter: seconds})
		var exhausted *qdrant.QdrantResourceExhaustedError
		if err := b.upsert(pointOf(4, nil, 1, 0)); !errors.As(err, &exhausted) || exhausted.RetryAfterS != want {
			t.Errorf("%v: %v", seconds, err)
		}
	}
	only(qdranttest.Fault{Code: codes.ResourceExhausted})
	refused(t, b.upsert(pointOf(4, nil, 1, 0)), codes.ResourceExhausted)

	reached := make(chan struct{})
	only(qdranttest.Fault{Hang: true, Before: func() { close(reached) }})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	_, err := b.client.Upsert(ctx, &qdrant.UpsertPoints{CollectionName: "c", Points: []*qdrant.PointStruct{pointOf(5, nil, 1, 0)}})
	refused(t, err, codes.Canceled)
	if len(b.ids()) != 3 {
		t.Errorf("a call that hung was carried out: %v", b.ids())
	}
	b.server.SetFaults(nil)
	b.put(5, nil)
}

func TestCallsAreTold(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.server.Reset()
	var calls []string
	b.server.SetFaults(func(c qdranttest.Call) qdranttest.Fault {
		if r, ok := c.Data.(*qdrant.UpsertPoints); c.Method == "Points/Upsert" && (!ok || len(r.GetPoints()) != 1) {
			t.Errorf("%v", c.Data)
		}
		calls = append(calls, fmt.Sprint(c.Method, c.N, c.Total))
		return qdranttest.Fault{}
	})
	b.put(1, nil)
	b.found(nil)
	b.put(2, nil)
	if want := []string{"Points/Upsert0 0", "Points/Scroll0 1", "Points/Upsert1 2"}; !slices.Equal(calls, want) {
		t.Errorf("%q, want %q", calls, want)
	}
	if c := b.server.Counts(); c.Writes != 2 || c.Upserted != 2 || c.Methods["Points/Scroll"] != 1 || c.LargestReply == 0 {
		t.Errorf("%+v", c)
	}
}

func TestRefusingAndLosing(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.server.SetFaults(qdranttest.Refusing("2"))
	refused(t, b.upsert(pointOf(1, nil, 1, 0), pointOf(2, nil, 1, 0)), codes.InvalidArgument)
	b.put(1, nil)
	run := func(seed uint64) (out []bool) {
		b.server.SetFaults(qdranttest.Losing(seed, 3, 5))
		for range 60 {
			out = append(out, b.upsert(pointOf(3, nil, 1, 0)) == nil)
		}
		return out
	}
	first := run(1)
	if !slices.Contains(first, false) || !slices.Contains(first, true) || !slices.Equal(first, run(1)) || slices.Equal(first, run(2)) {
		t.Errorf("%v", first)
	}
}

func TestCloseEndsCallsThatHang(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	reached := make(chan struct{})
	b.server.SetFaults(func(qdranttest.Call) qdranttest.Fault {
		return qdranttest.Fault{Hang: true, Before: func() { close(reached) }}
	})
	go func() { <-reached; b.server.Close() }()
	refused(t, b.upsert(pointOf(1, nil, 1, 0)), codes.Unavailable)
}

// Writers, readers and a test that looks on at once: for the race detector.
func TestManyAtOnce(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	ctx := t.Context()
	var wait sync.WaitGroup
	for w := range uint64(4) {
		wait.Go(func() {
			for i := range uint64(30) {
				id := w*1000 + i
				err := b.upsert(pointOf(id, fields{"record_key": fmt.Sprint(id), "o": fields{"x": 1}}, 1, 0))
				if err == nil {
					err = b.setPayload(fields{"y": 2}, "o", id)
				}
				if err == nil {
					err = b.vectors(pair(id, 0, 1))
				}
				if err == nil {
					_, err = b.client.Query(ctx, &qdrant.QueryPoints{CollectionName: "c", Query: qdrant.NewQuery(1, 0), WithPayload: qdrant.NewWithPayload(true), WithVectors: qdrant.NewWithVectors(true)})
				}
				if err == nil {
					_, err = b.client.Scroll(ctx, &qdrant.ScrollPoints{CollectionName: "c", WithPayload: qdrant.NewWithPayloadInclude("o", "o.x"), Filter: must(qdrant.NewMatchKeyword("record_key", fmt.Sprint(id)))})
				}
				if err != nil {
					t.Error(err)
					return
				}
				b.server.Counts()
			}
		})
	}
	for range 30 {
		b.server.Points("c")
		b.must(b.server.Plant("c", "9999", []float32{1, 0}, nil))
		b.server.SetStrict("c", nil)
	}
	wait.Wait()
	if n := len(b.ids()); n != 121 {
		t.Errorf("%d points", n)
	}
}

// clock is one that a test turns.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

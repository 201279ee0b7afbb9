package qdranttest_test

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

func serve(t testing.TB, o qdranttest.Options) *qdranttest.Server {
	t.Helper()
	server, err := qdranttest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func dial(t testing.TB, s *qdranttest.Server, change ...func(*qdrant.Config)) *qdrant.Client {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	config := &qdrant.Config{Host: host, SkipCompatibilityCheck: true}
	if config.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	for _, fn := range change {
		fn(config)
	}
	client, err := qdrant.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// bench is a server, a client and a collection "c" of two dimensions.
type bench struct {
	*testing.T
	server *qdranttest.Server
	client *qdrant.Client
}

func newBench(t *testing.T, o qdranttest.Options) bench {
	t.Helper()
	server := serve(t, o)
	b := bench{t, server, dial(t, server)}
	b.must(b.client.CreateCollection(t.Context(), collection("c", 2)))
	return b
}

// in is the bench for a subtest.
func (b bench) in(t *testing.T) bench { return bench{t, b.server, b.client} }

func collection(name string, size uint64) *qdrant.CreateCollection {
	return &qdrant.CreateCollection{CollectionName: name,
		VectorsConfig: qdrant.NewVectorsConfig(&qdrant.VectorParams{Size: size, Distance: qdrant.Distance_Cosine})}
}

func (b bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// refused checks the code of an error.
func refused(t testing.TB, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
}

type fields = map[string]any

// put upserts a point with a number and the vector (1, 0).
func (b bench) put(n uint64, payload fields) {
	b.Helper()
	b.must(b.upsert(pointOf(n, payload, 1, 0)))
}

func pointOf(n uint64, payload fields, vector ...float32) *qdrant.PointStruct {
	return &qdrant.PointStruct{Id: qdrant.NewIDNum(n), Vectors: qdrant.NewVectors(vector...), Payload: qdrant.NewValueMap(payload)}
}

func (b bench) upsert(list ...*qdrant.PointStruct) error {
	_, err := b.client.Upsert(b.Context(), &qdrant.UpsertPoints{CollectionName: "c", Points: list})
	return err
}

// payload is the one of a point as the server holds it.
func (b bench) payload(id string) fields {
	b.Helper()
	return b.held(id).Payload
}

func (b bench) held(id string) qdranttest.Point {
	b.Helper()
	list := b.server.Points("c")
	i := slices.IndexFunc(list, func(p qdranttest.Point) bool { return p.ID == id })
	if i < 0 {
		b.Fatalf("no point %s", id)
	}
	return list[i]
}

func (b bench) ids() (out []string) {
	for _, p := range b.server.Points("c") {
		out = append(out, p.ID)
	}
	return out
}

// plain is a payload of a reply in Go's own types.
func plain(payload map[string]*qdrant.Value) fields {
	out := fields{}
	for name, v := range payload {
		out[name] = plainValue(v)
	}
	return out
}

func plainValue(v *qdrant.Value) any {
	switch k := v.GetKind().(type) {
	case *qdrant.Value_StringValue:
		return k.StringValue
	case *qdrant.Value_IntegerValue:
		return k.IntegerValue
	case *qdrant.Value_ListValue:
		out := []any{}
		for _, item := range k.ListValue.GetValues() {
			out = append(out, plainValue(item))
		}
		return out
	case *qdrant.Value_StructValue:
		return plain(k.StructValue.GetFields())
	}
	return nil
}

func selector(ids ...uint64) *qdrant.PointsSelector {
	list := make([]*qdrant.PointId, len(ids))
	for i, n := range ids {
		list[i] = qdrant.NewIDNum(n)
	}
	return qdrant.NewPointsSelectorIDs(list)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

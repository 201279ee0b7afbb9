package qdranttest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"

	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

const dims = 768

func batches(n, each int) (out [][]*qdrant.PointStruct) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var batch []*qdrant.PointStruct
		for range each {
			v := make([]float32, dims)
			for i := range v {
				v[i] = random.Float32() - 0.5
			}
			batch = append(batch, &qdrant.PointStruct{Id: qdrant.NewID(uuid.NewString()), Vectors: qdrant.NewVectors(v...),
				Payload: qdrant.NewValueMap(fields{"record_key": uuid.NewString(), "kind": "memory", "title": "t"})})
		}
		out = append(out, batch)
	}
	return out
}

func BenchmarkUpsert256(b *testing.B) {
	server := serve(b, qdranttest.Options{})
	client := dial(b, server)
	if err := client.CreateCollection(b.Context(), collection("c", dims)); err != nil {
		b.Fatal(err)
	}
	list := batches(8, 256)
	i := 0
	for b.Loop() {
		if _, err := client.Upsert(b.Context(), &qdrant.UpsertPoints{CollectionName: "c", Points: list[i%len(list)]}); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.N*256)/b.Elapsed().Seconds(), "points/s")
}

// BenchmarkOf100k fills 100,000 points and asks.
func BenchmarkOf100k(b *testing.B) {
	server := serve(b, qdranttest.Options{})
	client := dial(b, server)
	if err := client.CreateCollection(b.Context(), collection("c", dims)); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	query := make([]float32, dims)
	for range 100_000 {
		v := make([]float32, dims)
		for i := range v {
			v[i] = random.Float32() - 0.5
		}
		copy(query, v)
		if err := server.Plant("c", uuid.NewString(), v, fields{"record_key": uuid.NewString(), "kind": "memory"}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			if _, err := client.Query(b.Context(), &qdrant.QueryPoints{CollectionName: "c", Query: qdrant.NewQuery(query...)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scroll", func(b *testing.B) {
		for b.Loop() {
			for offset := (*qdrant.PointId)(nil); ; {
				r, err := client.GetPointsClient().Scroll(b.Context(), &qdrant.ScrollPoints{CollectionName: "c", Offset: offset,
					Limit: qdrant.PtrOf(uint32(4096)), WithPayload: qdrant.NewWithPayloadInclude("record_key", "kind")})
				if err != nil {
					b.Fatal(err)
				}
				if offset = r.GetNextPageOffset(); offset == nil {
					break
				}
			}
		}
	})
}

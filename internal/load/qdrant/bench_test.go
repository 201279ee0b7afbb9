package qdrant_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

// records are writes of Memory of some 700 bytes of text, as a backfill builds
// them.
func records(b *testing.B, n, dimensions int) []load.Write {
	b.Helper()
	template, err := record.ParseTemplate(record.DefaultTemplate())
	if err != nil {
		b.Fatal(err)
	}
	builder := record.Builder{Workspace: "w", Layout: record.Flat, Template: template}
	random := rand.New(rand.NewPCG(1, 0))
	out := make([]load.Write, n)
	for i := range out {
		r, err := builder.Memory(record.Memory{
			ID: fmt.Sprintf("mem-%04d", i+1), Type: record.ReusableType, Subject: fmt.Sprint("degenza media ", i),
			Detail: strings.Repeat("giorni di ricovero ordinario ", 12), Rationale: "approvato", QuestionContext: "quanti giorni?",
		})
		if err != nil {
			b.Fatal(err)
		}
		vector := make([]float32, dimensions)
		for k := range vector {
			vector[k] = random.Float32() - 0.5
		}
		out[i] = load.Write{PointID: record.PointID(r.Key), Key: r.Key, Vector: vector, Payload: r.Payload("s", "run", time.Unix(0, 0))}
	}
	return out
}

func BenchmarkWrite(b *testing.B) {
	writes := records(b, 10_000, 768)
	for b.Loop() {
		server := serve(b, qdranttest.Options{})
		s := open(b, options(server.URL(), "c"))
		if err := s.Prepare(b.Context(), 768); err != nil {
			b.Fatal(err)
		}
		for at := 0; at < len(writes); at += 256 {
			if err := s.Write(b.Context(), writes[at:min(at+256, len(writes))]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(writes)*b.N)/b.Elapsed().Seconds(), "points/s")
}

func BenchmarkScan(b *testing.B) {
	writes := records(b, 10_000, 8)
	server := serve(b, qdranttest.Options{})
	s := open(b, options(server.URL(), "c"))
	if err := s.Prepare(b.Context(), 8); err != nil {
		b.Fatal(err)
	}
	if err := s.Write(b.Context(), writes); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n := 0
		err := s.Scan(b.Context(), func(batch arrow.RecordBatch) error {
			n += int(batch.NumRows())
			return nil
		})
		if err != nil || n != len(writes) {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(len(writes)*b.N)/b.Elapsed().Seconds(), "points/s")
}

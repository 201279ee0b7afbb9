//go:build duckdb_arrow

package local_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/record"
)

// The benchmarks use 5,000 records, or as many as THTBATCH_BENCH_RECORDS says:
// the figures in the documents are of 100,000.
const benchDims = 512

func benchRecords(b *testing.B) int {
	text := os.Getenv("THTBATCH_BENCH_RECORDS")
	if text == "" {
		return 5000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// benchBatch makes writes with payloads of some 1,500 bytes.
func benchBatch(random *rand.Rand, from, n int, vectors bool) []load.Write {
	writes := make([]load.Write, n)
	for i := range writes {
		ref := fmt.Sprintf("mem-%06d", from+i)
		key := record.MemoryKey(ref)
		text := strings.Repeat(fmt.Sprintf("un concetto chiarito in %s, ", ref), 18)
		writes[i] = load.Write{PointID: record.PointID(key), Key: key, Payload: map[string]any{
			"record_key": key, "kind": record.KindMemory, "ref": ref, "type": record.ReusableType,
			"title": text[:100], "subject": text[:100], "detail": text, "content": text, "workspace": "w",
			"session_id": fmt.Sprintf("s%d", from+i), "content_hash": record.Hash(text), "text_hash": record.Hash(text),
			"payload_hash": record.Hash(key), "embed_space": "bench/512", "tables": []string{"fact_a", "dim_b"},
		}}
		if vectors {
			v := make([]float32, benchDims)
			for d := range v {
				v[d] = float32(random.NormFloat64())
			}
			writes[i].Vector = v
		}
	}
	return writes
}

// cpu is the processor time of this process so far.
func cpu() time.Duration {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func reportUse(b *testing.B, records int, began time.Duration) {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric((cpu()-began).Seconds()/float64(b.N), "CPU-s/op")
	b.ReportMetric(float64(use.Maxrss)/1024, "peak-MB")
}

func benchStore(b *testing.B, batch int) (*local.Store, string) {
	path := filepath.Join(b.TempDir(), "index.duckdb")
	s := open(b, duck.Options{Path: path})
	if err := s.Prepare(b.Context(), benchDims); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	n := benchRecords(b)
	for at := 0; at < n; at += batch {
		if err := s.Write(b.Context(), benchBatch(random, at, min(batch, n-at), true)); err != nil {
			b.Fatal(err)
		}
	}
	return s, path
}

func BenchmarkInsert(b *testing.B) {
	for _, batch := range []int{256, 1024} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			began := cpu()
			for b.Loop() {
				s, path := benchStore(b, batch)
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(fileMB(b, path), "file-MB")
			}
			reportUse(b, benchRecords(b), began)
		})
	}
}

func fileMB(b *testing.B, path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size()) / (1 << 20)
}

func BenchmarkRewrite(b *testing.B) {
	for _, vectors := range []bool{true, false} {
		b.Run(fmt.Sprintf("vectors=%v", vectors), func(b *testing.B) {
			s, path := benchStore(b, 1024)
			random := rand.New(rand.NewPCG(3, 4))
			n, began := benchRecords(b), cpu()
			for b.Loop() {
				for at := 0; at < n; at += 1024 {
					if err := s.Write(b.Context(), benchBatch(random, at, min(1024, n-at), vectors)); err != nil {
						b.Fatal(err)
					}
				}
			}
			reportUse(b, n, began)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(fileMB(b, path), "file-MB")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	made, path := benchStore(b, 1024)
	if err := made.Close(); err != nil {
		b.Fatal(err)
	}
	s := open(b, duck.Options{Path: path, ReadOnly: true})
	n := benchRecords(b)
	b.Run("scan", func(b *testing.B) {
		began := cpu()
		for b.Loop() {
			rows := int64(0)
			err := s.Scan(b.Context(), func(batch arrow.RecordBatch) error { rows += batch.NumRows(); return nil })
			if err != nil || rows != int64(n) {
				b.Fatal(rows, err)
			}
		}
		reportUse(b, n, began)
	})
	vector := benchBatch(rand.New(rand.NewPCG(5, 6)), 0, 1, true)[0].Vector
	for name, filter := range map[string]map[string]string{
		"search": nil, "search-session": {"session_id": "s77"}, "search-field": {"tables": "fact_a", "detail": "x"},
	} {
		b.Run(name, func(b *testing.B) {
			began := cpu()
			for b.Loop() {
				if _, err := s.Search(b.Context(), load.Query{Vector: vector, Kind: record.KindMemory, Limit: 10, Filter: filter}); err != nil {
					b.Fatal(err)
				}
			}
			reportUse(b, n, began)
		})
	}
	b.Run("open-and-search", func(b *testing.B) {
		began := cpu()
		for b.Loop() {
			reader := open(b, duck.Options{Path: path, ReadOnly: true})
			if _, err := reader.Search(b.Context(), load.Query{Vector: vector, Limit: 10}); err != nil {
				b.Fatal(err)
			}
			if err := reader.Close(); err != nil {
				b.Fatal(err)
			}
		}
		reportUse(b, n, began)
	})
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			if err := local.Copy(b.Context(), path, path+".published"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(fileMB(b, path), "file-MB")
	})
}

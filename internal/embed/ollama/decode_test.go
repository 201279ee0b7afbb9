package ollama

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/thtbatch/thtbatch/internal/embed/server"
)

func TestDecode(t *testing.T) {
	for reply, want := range map[string][][]float32{
		`{"model":"m","embeddings":[[1,2],[ 3 , -4.5e-1 ]],"total_duration":1}`: {{1, 2}, {3, -0.45}},
		`{"embeddings":[null,[]]}`:        {nil, {}},
		`{"embeddings":[[1],[2,3]]}`:      {{1}, {2, 3}},
		`{"embeddings":[[1e60,0],[1,1]]}`: {{float32(math.Inf(1)), 0}, {1, 1}},
	} {
		got, err := wire{}.Decode([]byte(reply), 2)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", reply, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for reply, want := range map[string]string{
		``: "half", `{`: "half", `{"embeddings":[[1,2],[3`: "half",
		`{"embeddings":[]}`: "count", `{"embeddings":[[1,2]]}`: "count", `{"embeddings":[[1],[2],[3]]}`: "count",
		`[]`: "", `null`: "", `{}`: "", `{"error":"Mario Rossi"}`: "", `{"embeddings":null}`: "", `{"embeddings":7}`: "",
		`{"embeddings":[1,2]}`: "", `{"embeddings":[["a"],[1]]}`: "", `{"embeddings":[[[1]],[1]]}`: "", `{"embeddings":[{},[1]]}`: "",
		`{"embeddings":["AACAPw==",[1]]}`: "", `{"embeddings":[[NaN],[1]]}`: "", `<html>`: "",
	} {
		v, err := wire{}.Decode([]byte(reply), 2)
		var count *server.CountError
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) != (want == "half") || errors.As(err, &count) != (want == "count") {
			t.Errorf("%s: %v, %v, want %q", reply, v, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"embeddings":[[1,2],[3,4]]}`), 2)
	f.Add([]byte(`{"embeddings":[null,[]]}`), 2)
	f.Add([]byte(`{"embeddings":[[null,1e99],[-0.0,1E-7]]}`), 2)
	f.Add([]byte(`{"embeddings":[[1,`), 1)
	f.Fuzz(func(t *testing.T, reply []byte, texts int) {
		if texts < 0 || texts > 1000 {
			return
		}
		v, err := wire{}.Decode(reply, texts)
		if err != nil {
			return
		}
		if len(v) != texts {
			t.Errorf("%d vectors for %d texts", len(v), texts)
		}
		// encoding/json reads the same numbers, where it reads them at all.
		var plain struct{ Embeddings [][]*float32 }
		if json.Unmarshal(reply, &plain) != nil {
			return
		}
		for i := range plain.Embeddings {
			for k, want := range plain.Embeddings[i] {
				if got := v[i][k]; want == nil && got == got || want != nil && got != *want {
					t.Errorf("vector %d, %d: %v", i, k, got)
				}
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	vectors := make([][]float32, 256)
	for i := range vectors {
		vectors[i] = make([]float32, 768)
		for k := range vectors[i] {
			vectors[i][k] = float32(math.Sin(float64(i*768 + k)))
		}
	}
	reply, err := json.Marshal(map[string]any{"embeddings": vectors})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(reply)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (wire{}).Decode(reply, len(vectors)); err != nil {
			b.Fatal(err)
		}
	}
}

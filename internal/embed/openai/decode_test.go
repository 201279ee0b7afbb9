package openai

import (
	"encoding/base64"
	"encoding/binary"
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
		`{"object":"list","data":[{"object":"embedding","index":1,"embedding":[3,4]},{"object":"embedding","index":0,"embedding":[1,2]}],"usage":{}}`: {{1, 2}, {3, 4}},
		`{"data":[{"embedding":[1]},{"embedding":[2]}]}`:                                      {{1}, {2}},
		`{"data":[{"index":1,"embedding":"AACAPwAAAEA="},{"index":0,"embedding":[ 1 , 2 ]}]}`: {{1, 2}, {1, 2}},
		`{"data":[{"index":0,"embedding":null},{"index":1,"embedding":""}]}`:                  {nil, {}},
		`{"data":[{"index":0},{"index":1,"embedding":[]}]}`:                                   {nil, {}},
		`{"data":[{"index":0,"embedding":[1e60]},{"index":1,"embedding":"AACAfw=="}]}`:        {{float32(math.Inf(1))}, {float32(math.Inf(1))}},
	} {
		got, err := wire{}.Decode([]byte(reply), 2)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", reply, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for reply, want := range map[string]string{
		``: "half", `{`: "half", `{"data":[{"index":0,"embedding":"AACA`: "half",
		`{"data":[]}`: "count", `{"data":[{"index":0,"embedding":[1]}]}`: "count",
		`[]`: "", `null`: "", `{}`: "", `{"error":{"message":"Mario Rossi"}}`: "", `{"data":null}`: "", `{"data":7}`: "", `<html>`: "",
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`:  "",
		`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`:  "",
		`{"data":[{"index":-1,"embedding":[1]},{"index":0,"embedding":[1]}]}`: "",
		`{"data":[{"index":1,"embedding":[1]},{"embedding":[1]}]}`:            "",
		`{"data":[{"embedding":["a"]},{"embedding":[1]}]}`:                    "",
		`{"data":[{"embedding":"AAA"},{"embedding":[1]}]}`:                    "",
		`{"data":[{"embedding":"AAAA"},{"embedding":[1]}]}`:                   "",
		`{"data":[{"embedding":7},{"embedding":[1]}]}`:                        "",
	} {
		v, err := wire{}.Decode([]byte(reply), 2)
		var count *server.CountError
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) != (want == "half") || errors.As(err, &count) != (want == "count") {
			t.Errorf("%s: %v, %v, want %q", reply, v, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":"AACAPwAAAEA="}]}`), 2)
	f.Add([]byte(`{"data":[{"embedding":null},{"embedding":[]}]}`), 2)
	f.Add([]byte(`{"data":[{"embedding":[null,1e99]},{"embedding":"AA"}]}`), 2)
	f.Add([]byte(`{"data":[{"index":9`), 1)
	f.Fuzz(func(t *testing.T, reply []byte, texts int) {
		if texts < 0 || texts > 1000 {
			return
		}
		if v, err := (wire{}).Decode(reply, texts); err == nil && len(v) != texts {
			t.Errorf("%d vectors for %d texts", len(v), texts)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	type entry struct {
		Index     int `json:"index"`
		Embedding any `json:"embedding"`
	}
	numbers, packed := make([]entry, 256), make([]entry, 256)
	for i := range numbers {
		v, raw := make([]float32, 768), make([]byte, 0, 4*768)
		for k := range v {
			v[k] = float32(math.Sin(float64(i*768 + k)))
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v[k]))
		}
		numbers[i], packed[i] = entry{i, v}, entry{i, base64.StdEncoding.EncodeToString(raw)}
	}
	for name, data := range map[string][]entry{"float": numbers, "base64": packed} {
		b.Run(name, func(b *testing.B) {
			reply, err := json.Marshal(map[string]any{"data": data})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(reply)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (wire{}).Decode(reply, len(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

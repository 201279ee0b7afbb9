package ollama

import (
	"testing"
)

func TestDecodeRefuses(t *testing.T) {
	for _, reply := range []string{
		"", "{", "[]", "null", "{}", `{"error":"x"}`, `{"embeddings":[[1,2]],"data":[{"index":0,"embedding":[1]}]}`,
		`{"embeddings":[["a"],[1]],"data":[{"index":0,"embedding":["a"]},{"index":1,"embedding":[1]}]}`,
		`{"embeddings":[[1e60],[1]],"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		`{"embeddings":7,"data":[{"index":2,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		`{"embeddings":[1,2],"data":[{"index":0,"embedding":"AAA"},{"index":1,"embedding":"AAAA"}]}`,
	} {
		if v, err := (wire{}).Decode([]byte(reply), 2); err == nil {
			t.Errorf("%s: %v", reply, v)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"embeddings":[[1,2],[3,4]],"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":"AACAPwAAAEA="}]}`), 2)
	f.Add([]byte(`{"embeddings":[null,[]],"data":[{"embedding":null},{"embedding":[]}]}`), 2)
	f.Fuzz(func(t *testing.T, reply []byte, texts int) {
		if texts < 0 || texts > 1000 {
			return
		}
		if v, err := (wire{}).Decode(reply, texts); err == nil && len(v) != texts {
			t.Errorf("%d vectors for %d texts", len(v), texts)
		}
	})
}

package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/embed/ollama"
	"github.com/thtbatch/thtbatch/internal/embed/openai"
	"github.com/thtbatch/thtbatch/internal/embed/server"
	"github.com/thtbatch/thtbatch/internal/fault"
)

const dims = 4

// peer is an embedding server: answer gets the texts of a request and its
// number, and returns a status and a body, or says with status 0 that the vectors
// are to be sent as its provider sends them.
type peer struct {
	*httptest.Server
	openai  bool
	answer  func(n int, texts []string, w http.ResponseWriter) (status int, body string)
	mu      sync.Mutex
	seen    [][]string
	asked   []map[string]any
	key     string
	longest int64 // body
}

func newPeer(t *testing.T, isOpenAI bool, answer func(n int, texts []string, w http.ResponseWriter) (int, string)) *peer {
	t.Helper()
	p := &peer{openai: isOpenAI, answer: answer}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask map[string]any
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, "no JSON", http.StatusTeapot)
		return
	}
	var texts []string
	list, _ := ask["input"].([]any)
	for _, v := range list {
		texts = append(texts, v.(string))
	}
	p.mu.Lock()
	n := len(p.seen)
	p.seen, p.asked, p.key = append(p.seen, texts), append(p.asked, ask), r.Header.Get("Authorization")
	p.longest = max(p.longest, r.ContentLength)
	p.mu.Unlock()
	want := "/api/embed"
	if p.openai {
		want = "/v1/embeddings"
	}
	if r.URL.Path != want {
		http.NotFound(w, r)
		return
	}
	status, body := 0, ""
	if p.answer != nil {
		status, body = p.answer(n, texts, w)
	}
	if status == 0 {
		status, body = http.StatusOK, p.vectors(texts)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (p *peer) vectors(texts []string) string {
	if p.openai {
		var data []string
		for i, text := range texts {
			data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, list(vectorOf(text))))
		}
		return `{"object":"list","data":[` + strings.Join(data, ",") + `],"usage":{"prompt_tokens":1}}`
	}
	var data []string
	for _, text := range texts {
		data = append(data, list(vectorOf(text)))
	}
	return `{"model":"m","embeddings":[` + strings.Join(data, ",") + `]}`
}

func list(v []float32) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func vectorOf(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	n := h.Sum64()
	v := make([]float32, dims)
	for i := range v {
		v[i] = float32(n>>(16*i)&0xffff) + 1
	}
	return v
}

func (p *peer) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen)
}

func (p *peer) options() server.Options {
	return server.Options{
		URL: p.URL, Model: "m", Dimensions: dims, Truncate: server.Refuse, BatchCount: 32, BatchTokens: 16_000,
		Timeout: time.Minute, Tries: 4, Pause: time.Microsecond,
	}
}

func (p *peer) embedder(t *testing.T, change func(*server.Options)) *server.Embedder {
	t.Helper()
	o := p.options()
	if change != nil {
		change(&o)
	}
	make := ollama.New
	if p.openai {
		make = openai.New
	}
	e, err := make(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func both(t *testing.T, run func(t *testing.T, isOpenAI bool)) {
	for name, isOpenAI := range map[string]bool{"ollama": false, "openai": true} {
		t.Run(name, func(t *testing.T) { run(t, isOpenAI) })
	}
}

func wantFault(t *testing.T, err error, id string, code fault.Code) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.ID != id || f.Code != code {
		t.Fatalf("%v, want %s with exit %d", err, id, code)
	}
}

func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("text number ", i)
	}
	return out
}

package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/ollama"
	"github.com/thtbatch/thtbatch/internal/embed/openai"
	"github.com/thtbatch/thtbatch/internal/embed/server"
	"github.com/thtbatch/thtbatch/internal/fault"
)

func TestAddresses(t *testing.T) {
	const key = "sk-very-secret"
	for _, c := range []struct {
		url, key string
		id       string
	}{
		{"http://localhost:1", "", ""},
		{"http://localhost:1", key, ""},
		{"http://127.0.0.1:1", key, ""},
		{"http://[::1]:1", key, ""},
		{"https://api.example.org", key, ""},
		{"http://10.0.0.5:1", "", ""},
		{"http://10.0.0.5:1", key, "embedder_plain_key"},
		{"http://host.example:1", key, "embedder_plain_key"},
		{"ftp://localhost", "", "embedder_url"},
		{"localhost:11434", "", "embedder_url"},
		{"http://", "", "embedder_url"},
		{"http://user:" + key + "@localhost", "", "embedder_url"},
		{"http://localhost?key=" + key, "", "embedder_url"},
		{"http://local host", "", "embedder_url"},
	} {
		_, err := ollama.New(server.Options{URL: c.url, Key: c.key, Model: "m", Dimensions: 4, Truncate: server.Refuse})
		if c.id == "" {
			if err != nil {
				t.Errorf("%s: %v", c.url, err)
			}
			continue
		}
		wantFault(t, err, c.id, fault.Usage)
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), key) {
			t.Errorf("%s: the key is told: %v", c.url, err)
		}
	}
}

// It is the address of the connection that counts. None of these is reached: the
// connection is refused before it is made.
func TestRemoteAddressesNeedLeave(t *testing.T) {
	for _, address := range []string{"http://8.8.8.8:9", "https://[2606:4700::1111]:9", "http://[::ffff:8.8.4.4]:9", "http://0.0.0.0:9"} {
		e, err := ollama.New(server.Options{URL: address, Model: "m", Dimensions: 4, Truncate: server.Refuse, Tries: 3, Pause: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Embed(t.Context(), embed.Document, []string{"a"})
		wantFault(t, err, "embedder_remote", fault.Usage)
	}
}

// A redirect could lead anywhere, key and all.
func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	e, err := openai.New(server.Options{URL: first.URL, Key: "k", Model: "m", Dimensions: 4, Truncate: server.Refuse, BatchCount: 1, BatchTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Embed(context.Background(), embed.Document, []string{"a"})
	wantFault(t, err, "embedder_refused", fault.Failed)
	if reached {
		t.Error("the redirect was followed")
	}
}

func TestEndpoints(t *testing.T) {
	for base, want := range map[string]string{"": "/v1/embeddings", "/": "/v1/embeddings", "/v1": "/v1/embeddings", "/v1/": "/v1/embeddings", "/openai/v1": "/openai/v1/embeddings"} {
		path := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			_, _ = w.Write([]byte(`{"data":[{"embedding":[1,2,3,4]}]}`))
		}))
		e, err := openai.New(server.Options{URL: s.URL + base, Model: "m", Dimensions: 4, Truncate: server.Refuse, BatchCount: 1, BatchTokens: 100})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Embed(t.Context(), embed.Document, []string{"a"}); err != nil || path != want {
			t.Errorf("%q: %s, %v", base, path, err)
		}
		s.Close()
	}
}

func TestErrorCodes(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"x","type":"invalid_request_error","code":null}}`: "invalid_request_error",
		`{"error":{"message":"x","code":"model_not_found"}}`:                   "model_not_found",
		`{"error":"the text of somebody","error_type":"tokenizer"}`:            "tokenizer",
		`{"object":"error","message":"x","type":"BadRequestError","code":400}`: "BadRequestError",
		`{"error":"the text of somebody"}`:                                     "",
		`{"error":{"code":"the text of somebody"}}`:                            "",
		`{"error":{"code":"` + strings.Repeat("a", 41) + `"}}`:                 "",
		`<html>`: "", ``: "", `[]`: "", `null`: "",
	} {
		if got := server.ErrorCode([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func FuzzErrorCode(f *testing.F) {
	for _, body := range []string{`{"error":{"code":"a"}}`, `{"error":"a"}`, `{"code":7,"type":"x"}`, "\xff", `{`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if code := server.ErrorCode(body); len(code) > 40 || strings.ContainsAny(code, " \n\x00\"") {
			t.Errorf("%q", code)
		}
	})
}

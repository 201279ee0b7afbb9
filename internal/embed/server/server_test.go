package server_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/embed"
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
	openai bool
	answer func(n int, texts []string, w http.ResponseWriter) (status int, body string)
	mu     sync.Mutex
	seen   [][]string
	asked  []map[string]any
	key    string
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

func TestEveryTextGetsItsVector(t *testing.T) {
	both(t, func(t *testing.T, isOpenAI bool) {
		p := newPeer(t, isOpenAI, nil)
		e := p.embedder(t, func(o *server.Options) { o.BatchCount, o.Key = 10, "k-1" })
		in := texts(25)
		got, err := e.Embed(t.Context(), embed.Document, in)
		if err != nil || len(got) != 25 || p.requests() != 3 || p.key != "Bearer k-1" {
			t.Fatalf("%d vectors in %d requests with %q, %v", len(got), p.requests(), p.key, err)
		}
		for i := range in {
			if !slices.Equal(got[i], vectorOf(in[i])) {
				t.Errorf("text %d has the vector of another", i)
			}
		}
		if got, err := e.Embed(t.Context(), embed.Document, nil); err != nil || len(got) != 0 || p.requests() != 3 {
			t.Errorf("no text: %v, %v", got, err)
		}
	})
}

func TestPrefixesCutAndSpace(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*server.Options)
		document string
		query    string
		space    string
	}{
		"plain": {func(*server.Options) {}, "perché no", "perché no", "ollama/m;dim=4;norm=none;trunc=none;prefix="},
		"e5": {func(o *server.Options) { o.DocumentPrefix, o.QueryPrefix, o.Normalise = "passage: ", "query: ", true },
			"passage: perché no", "query: perché no", "ollama/m;dim=4;norm=l2;trunc=none;prefix=passage:%20"},
		"nomic": {func(o *server.Options) { o.DocumentPrefix, o.QueryPrefix = "search_document: ", "search_query: " },
			"search_document: perché no", "search_query: perché no", "ollama/m;dim=4;norm=none;trunc=none;prefix=search_document:%20"},
		"gemma": {func(o *server.Options) {
			o.DocumentPrefix, o.QueryPrefix = "title: none | text: ", "task: search result | query: "
		}, "title: none | text: perché no", "task: search result | query: perché no",
			"ollama/m;dim=4;norm=none;trunc=none;prefix=title:%20none%20%7C%20text:%20"},
		"head": {func(o *server.Options) { o.Truncate, o.DocumentPrefix = "head:6", "p " },
			"p perché", "perché", "ollama/m;dim=4;norm=none;trunc=head:6;prefix=p%20"},
		"revision": {func(o *server.Options) { o.Revision, o.Truncate = "2", server.ServerCut },
			"perché no", "perché no", "ollama/m@2;dim=4;norm=none;trunc=server;prefix="},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, false, nil)
			e := p.embedder(t, c.change)
			for role, want := range map[embed.Role]string{embed.Document: c.document, embed.Query: c.query} {
				if _, err := e.Embed(t.Context(), role, []string{"perché no"}); err != nil {
					t.Fatal(err)
				}
				if got := p.seen[len(p.seen)-1]; !slices.Equal(got, []string{want}) {
					t.Errorf("%s: sent %q, want %q", role, got, want)
				}
			}
			if e.Space() != c.space || e.Dimensions() != dims {
				t.Errorf("space %s, want %s", e.Space(), c.space)
			}
			if _, err := embed.ParseSpace(e.Space()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRequestSaysWhatIsAsked(t *testing.T) {
	for _, c := range []struct {
		truncate string
		send     bool
		cut      any
		asked    any
	}{{server.Refuse, false, false, nil}, {server.ServerCut, true, true, 4.0}, {"head:9", false, false, nil}} {
		p := newPeer(t, false, nil)
		e := p.embedder(t, func(o *server.Options) { o.Truncate, o.SendDimensions = c.truncate, c.send })
		if _, err := e.Embed(t.Context(), embed.Document, []string{"a"}); err != nil {
			t.Fatal(err)
		}
		ask := p.asked[0]
		if ask["truncate"] != c.cut || ask["dimensions"] != c.asked || ask["model"] != "m" {
			t.Errorf("%s: %v", c.truncate, ask)
		}
	}
}

// Ollama answers "" with 200 and no vector, OpenAI refuses the whole request.
func TestBlankTextsAreNeverSent(t *testing.T) {
	both(t, func(t *testing.T, isOpenAI bool) {
		p := newPeer(t, isOpenAI, nil)
		e := p.embedder(t, nil)
		got, err := e.Embed(t.Context(), embed.Document, []string{"a", "", " \n\t\u00a0", "b"})
		want := []embed.ItemError{{Index: 1, Reason: embed.ReasonNothing, Permanent: true}, {Index: 2, Reason: embed.ReasonNothing, Permanent: true}}
		if !slices.Equal(embed.Refused(err), want) || got[0] == nil || got[1] != nil || got[3] == nil || !slices.Equal(p.seen[0], []string{"a", "b"}) {
			t.Errorf("%v, %v, sent %q", got, err, p.seen)
		}
		if _, err := e.Embed(t.Context(), embed.Document, []string{"", " "}); len(embed.Refused(err)) != 2 || p.requests() != 1 {
			t.Errorf("%v after %d requests", err, p.requests())
		}
	})
}

func TestNormalisation(t *testing.T) {
	p := newPeer(t, true, func(_ int, texts []string, _ http.ResponseWriter) (int, string) {
		if texts[0] == "zero" {
			return 200, `{"data":[{"index":0,"embedding":[0,0,0,0]}]}`
		}
		return 200, `{"data":[{"index":0,"embedding":[3e20,4e20,0,0]}]}`
	})
	e := p.embedder(t, func(o *server.Options) { o.Normalise = true })
	got, err := e.Embed(t.Context(), embed.Document, []string{"a"})
	if err != nil || math.Abs(float64(got[0][0])-0.6) > 1e-6 || math.Abs(float64(got[0][1])-0.8) > 1e-6 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := e.Embed(t.Context(), embed.Document, []string{"zero"}); err != nil || got[0][0] != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRepliesInAnotherOrderAndInBase64(t *testing.T) {
	p := newPeer(t, true, func(_ int, texts []string, _ http.ResponseWriter) (int, string) {
		var data []string
		for i := len(texts) - 1; i >= 0; i-- {
			var packed []byte
			for _, x := range vectorOf(texts[i]) {
				packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(x))
			}
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":%q}`, i, base64.StdEncoding.EncodeToString(packed)))
		}
		return 200, `{"data":[` + strings.Join(data, ",") + `]}`
	})
	in := texts(7)
	got, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in {
		if !slices.Equal(got[i], vectorOf(in[i])) {
			t.Errorf("text %d has %v", i, got[i])
		}
	}
}

// What is worth another try is tried again, as long as the server asks.
func TestTransientTrouble(t *testing.T) {
	both(t, func(t *testing.T, isOpenAI bool) {
		for name, trouble := range map[string]func(w http.ResponseWriter) (int, string){
			"429": func(w http.ResponseWriter) (int, string) {
				w.Header().Set("Retry-After", "0")
				return 429, `{"error":{"message":"slow down","type":"rate_limit_exceeded"}}`
			},
			"429 with a date": func(w http.ResponseWriter) (int, string) {
				w.Header().Set("Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
				return 429, `{"error":"overloaded","error_type":"overloaded"}`
			},
			"503, the queue is full":  func(http.ResponseWriter) (int, string) { return 503, `{"error":"server busy"}` },
			"424, the backend failed": func(http.ResponseWriter) (int, string) { return 424, `{"error":"x","error_type":"backend"}` },
			"408":                     func(http.ResponseWriter) (int, string) { return 408, "" },
			"500":                     func(http.ResponseWriter) (int, string) { return 500, "oops" },
			"502":                     func(http.ResponseWriter) (int, string) { return 502, "<html>" },
			"504":                     func(http.ResponseWriter) (int, string) { return 504, "" },
			"half a reply": func(w http.ResponseWriter) (int, string) {
				w.Header().Set("Content-Length", "1000")
				return 200, `{"embeddings":[[1,2`
			},
			"no reply": func(http.ResponseWriter) (int, string) { panic(http.ErrAbortHandler) },
		} {
			t.Run(name, func(t *testing.T) {
				p := newPeer(t, isOpenAI, func(n int, _ []string, w http.ResponseWriter) (int, string) {
					if n < 2 {
						return trouble(w)
					}
					return 0, ""
				})
				got, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, []string{"a"})
				if err != nil || !slices.Equal(got[0], vectorOf("a")) || p.requests() != 3 {
					t.Errorf("%v, %v after %d requests", got, err, p.requests())
				}
			})
			t.Run(name+" for ever", func(t *testing.T) {
				p := newPeer(t, isOpenAI, func(_ int, _ []string, w http.ResponseWriter) (int, string) { return trouble(w) })
				_, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, []string{"a"})
				wantFault(t, err, "embedder_unreachable", fault.Failed)
				if !errors.Is(err, server.ErrUnavailable) || p.requests() > 8 {
					t.Errorf("%v after %d requests", err, p.requests())
				}
			})
		}
	})
}

// The server is asked to come back after an hour: whoever waits can leave.
func TestWaitingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newPeer(t, false, func(_ int, _ []string, w http.ResponseWriter) (int, string) {
		w.Header().Set("Retry-After", "600")
		defer cancel()
		return 429, ""
	})
	if _, err := p.embedder(t, nil).Embed(ctx, embed.Document, []string{"a"}); !errors.Is(err, context.Canceled) || p.requests() != 1 {
		t.Errorf("%v after %d requests", err, p.requests())
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	p := newPeer(t, false, nil)
	e := p.embedder(t, nil)
	p.Close()
	_, err := e.Embed(t.Context(), embed.Document, []string{"a"})
	wantFault(t, err, "embedder_unreachable", fault.Failed)
	if !errors.Is(err, server.ErrUnavailable) {
		t.Error(err)
	}
}

func TestTimeoutOfARequest(t *testing.T) {
	release := make(chan struct{})
	p := newPeer(t, false, func(n int, _ []string, _ http.ResponseWriter) (int, string) {
		if n == 0 {
			<-release // until the client has gone
		}
		return 0, ""
	})
	defer close(release)
	e := p.embedder(t, func(o *server.Options) { o.Timeout = 50 * time.Millisecond })
	// The second try may meet a slow machine: what counts is that the first ended.
	_, err := e.Embed(t.Context(), embed.Document, []string{"a"})
	if err != nil && !errors.Is(err, server.ErrUnavailable) || p.requests() < 2 {
		t.Errorf("%v after %d requests", err, p.requests())
	}
}

func TestConfigurationThatIsWrong(t *testing.T) {
	both(t, func(t *testing.T, isOpenAI bool) {
		for name, c := range map[string]struct {
			status int
			body   string
			id     string
			code   fault.Code
		}{
			"model missing":       {404, `{"error":"model \"m\" not found, try pulling it first"}`, "embedder_model_missing", fault.Usage},
			"model missing, code": {404, `{"error":{"message":"no","code":"model_not_found"}}`, "embedder_model_missing", fault.Usage},
			"no key":              {401, `{"error":{"message":"Incorrect API key provided: sk-abc"}}`, "embedder_denied", fault.Credential},
			"forbidden":           {403, ``, "embedder_denied", fault.Credential},
			"everything is bad":   {400, `{"object":"error","message":"dimensions are not supported","type":"BadRequestError","code":400}`, "embedder_refused", fault.Usage},
			"everything is large": {413, `{"error":"too long","error_type":"validation"}`, "embedder_refused", fault.Usage},
			"a redirect":          {302, ``, "embedder_refused", fault.Failed},
			"no JSON":             {200, `<html>`, "embedder_reply", fault.Failed},
			"too few vectors":     {200, `{"embeddings":[],"data":[]}`, "embedder_reply", fault.Failed},
			"another dimension":   {200, `{"embeddings":[[1,2,3]],"data":[{"index":0,"embedding":[1,2,3]}]}`, "embedder_dimension", fault.Usage},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPeer(t, isOpenAI, func(_ int, in []string, _ http.ResponseWriter) (int, string) { return c.status, c.body })
				_, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, []string{"a"})
				wantFault(t, err, c.id, c.code)
				if errors.Is(err, server.ErrUnavailable) || p.requests() > 2 {
					t.Errorf("%v after %d requests", err, p.requests())
				}
				if text := fmt.Sprint(err); strings.Contains(text, "sk-abc") || strings.Contains(text, "pulling") {
					t.Errorf("what the server said is told: %s", text)
				}
			})
		}
	})
}

// A text that a server refuses is found by halving, whatever the status, and the
// others have their vectors. llama.cpp answers 500 to one that is too long.
func TestBadTextStandsAlone(t *testing.T) {
	both(t, func(t *testing.T, isOpenAI bool) {
		for status, reason := range map[int]string{
			400: embed.ReasonServerRefuses, 413: embed.ReasonServerRefuses, 422: embed.ReasonServerRefuses, 500: embed.ReasonServerFails,
		} {
			p := newPeer(t, isOpenAI, func(_ int, in []string, _ http.ResponseWriter) (int, string) {
				if slices.ContainsFunc(in, func(s string) bool { return strings.Contains(s, "too long") }) {
					return status, `{"error":{"code":400,"message":"input is too large to process","type":"exceed_context_size_error"}}`
				}
				return 0, ""
			})
			in := texts(32)
			in[13], in[14] = "too long", "also too long"
			got, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, in)
			want := []embed.ItemError{{Index: 13, Reason: reason, Permanent: true}, {Index: 14, Reason: reason, Permanent: true}}
			if !slices.Equal(embed.Refused(err), want) {
				t.Fatalf("%d: %v, want %v", status, err, want)
			}
			for i := range in {
				if bad := i == 13 || i == 14; bad && got[i] != nil || !bad && !slices.Equal(got[i], vectorOf(in[i])) {
					t.Errorf("%d: text %d has %v", status, i, got[i])
				}
			}
			if n := p.requests(); n > 2*2*6+6 {
				t.Errorf("%d: %d requests", status, n)
			}
			// And one that has a request of its own.
			if _, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, []string{"too long"}); !slices.Equal(embed.Refused(err), []embed.ItemError{{Index: 0, Reason: reason, Permanent: true}}) {
				t.Errorf("%d: alone: %v", status, err)
			}
		}
	})
}

// text-embeddings-inference takes 32 texts: a larger request is refused as a
// whole, and halved until it fits.
func TestRequestsThatAreTooLargeAreHalved(t *testing.T) {
	p := newPeer(t, true, func(_ int, in []string, _ http.ResponseWriter) (int, string) {
		if len(in) > 32 {
			return 422, `{"error":"batch size 100 > maximum allowed batch size 32","error_type":"validation"}`
		}
		return 0, ""
	})
	in := texts(100)
	got, err := p.embedder(t, func(o *server.Options) { o.BatchCount = 100 }).Embed(t.Context(), embed.Document, in)
	if err != nil || !slices.Equal(got[99], vectorOf(in[99])) {
		t.Fatal(err)
	}
}

func TestRequestsKeepTheirLimits(t *testing.T) {
	p := newPeer(t, true, nil)
	long := strings.Repeat("parola ", 900) // 6,300 bytes
	in := append(texts(5), long, long, long, "x", strings.Repeat("y", 2_000_000), "z")
	e := p.embedder(t, func(o *server.Options) { o.BatchCount, o.BatchTokens = 4, 5000 })
	if _, err := e.Embed(t.Context(), embed.Document, in); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, request := range p.seen {
		sizes = append(sizes, len(request))
		bytes := 0
		for _, text := range request {
			bytes += len(text)
		}
		if len(request) > 1 && bytes > 15_000 {
			t.Errorf("%d texts of %d bytes in a request", len(request), bytes)
		}
	}
	if want := []int{4, 3, 2, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("requests of %v texts, want %v", sizes, want)
	}
	// OpenAI takes 2,048 texts, whatever is configured.
	many := newPeer(t, true, nil)
	e = many.embedder(t, func(o *server.Options) { o.BatchCount, o.BatchTokens = 10_000, 10_000_000 })
	if _, err := e.Embed(t.Context(), embed.Document, texts(2049)); err != nil || len(many.seen[0]) != 2048 {
		t.Errorf("%d texts in a request, %v", len(many.seen[0]), err)
	}
}

// A server that works on one request at a time loses none of those that come at
// once.
func TestOneAtATime(t *testing.T) {
	var one sync.Mutex
	p := newPeer(t, false, func(int, []string, http.ResponseWriter) (int, string) {
		one.Lock()
		defer one.Unlock()
		return 0, ""
	})
	e := p.embedder(t, nil)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			in := []string{fmt.Sprint("of ", g)}
			if got, err := e.Embed(t.Context(), embed.Document, in); err != nil || !slices.Equal(got[0], vectorOf(in[0])) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	all.Wait()
}

// Random batches with random bad texts and random trouble: every good text has
// its own vector, every bad one is named, and the requests are bounded.
func TestAnyTrouble(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 60 {
		n := 1 + random.IntN(80)
		in, bad := texts(n), 0
		for i := range in {
			if random.IntN(12) == 0 {
				in[i], bad = fmt.Sprint("bad ", i), bad+1
			}
		}
		status := []int{400, 413, 422, 500}[random.IntN(4)]
		trouble := map[int]bool{}
		for range random.IntN(6) {
			trouble[random.IntN(40)*2] = true // never two in a row
		}
		p := newPeer(t, round%2 == 0, func(n int, in []string, _ http.ResponseWriter) (int, string) {
			if trouble[n] {
				return 503, ""
			}
			if slices.ContainsFunc(in, func(s string) bool { return strings.HasPrefix(s, "bad") }) {
				return status, ""
			}
			return 0, ""
		})
		got, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, in)
		refused := embed.Refused(err)
		if err != nil && refused == nil || len(refused) != bad || len(got) != n {
			t.Fatalf("round %d: %d refused of %d bad, %v", round, len(refused), bad, err)
		}
		for i, text := range in {
			isBad := strings.HasPrefix(text, "bad")
			if isBad && got[i] != nil || !isBad && !slices.Equal(got[i], vectorOf(text)) {
				t.Fatalf("round %d: text %d has %v", round, i, got[i])
			}
		}
		if most := 3*(n/32+1) + bad*2*7*3 + 12; p.requests() > most {
			t.Errorf("round %d: %d requests for %d texts with %d bad ones, at most %d", round, p.requests(), n, bad, most)
		}
	}
}

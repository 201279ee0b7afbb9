package server_test

import (
	"context"
	"errors"

	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/openai"
	"github.com/thtbatch/thtbatch/internal/embed/server"
	"github.com/thtbatch/thtbatch/internal/fault"
)

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
		if _, err := e.Embed(t.Context(), embed.Document, []string{"", " ", "\u200b\ufeff\x00"}); len(embed.Refused(err)) != 3 || p.requests() != 1 {
			t.Errorf("%v after %d requests", err, p.requests())
		}
	})
}

// A text may be blank where it is cut.
func TestBlankHeadIsNeverSent(t *testing.T) {
	p := newPeer(t, false, nil)
	e := p.embedder(t, func(o *server.Options) { o.Truncate, o.DocumentPrefix = "head:3", "passage: " })
	if _, err := e.Embed(t.Context(), embed.Document, []string{"   abc"}); len(embed.Refused(err)) != 1 || p.requests() != 0 {
		t.Errorf("%v after %d requests", err, p.requests())
	}
}

func TestSettingsThatAreMissing(t *testing.T) {
	for key, change := range map[string]func(*server.Options){
		"embed.model":      func(o *server.Options) { o.Model = "" },
		"embed.dimensions": func(o *server.Options) { o.Dimensions = 0 },
		"embed.truncate":   func(o *server.Options) { o.Truncate = "head:007" },
	} {
		o := newPeer(t, true, nil).options()
		change(&o)
		_, err := openai.New(o)
		var f *fault.Error
		if !errors.As(err, &f) || f.ID != "embedder_setting_missing" || f.Args["key"] != key || f.Code != fault.Usage {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// The pace is kept: what would come too late for its context is not waited for.
func TestRequestsPerMinute(t *testing.T) {
	p := newPeer(t, true, nil)
	e := p.embedder(t, func(o *server.Options) { o.RequestsPerMinute = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := e.Embed(ctx, embed.Document, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(ctx, embed.Document, []string{"b"}); !errors.Is(err, context.DeadlineExceeded) || p.requests() != 1 {
		t.Errorf("%v after %d requests", err, p.requests())
	}
}

// A value that is none, and one that no float32 holds, are told from zero, and
// cost the others nothing.
func TestValuesThatAreNoNumbers(t *testing.T) {
	both(t, func(t *testing.T, isOpenAI bool) {
		p := newPeer(t, isOpenAI, func(int, []string, http.ResponseWriter) (int, string) {
			return 200, `{"embeddings":[[1,null,2,3],[1,2,3,4],[1,1e99,0,0]],
				"data":[{"index":0,"embedding":[1,null,2,3]},{"index":1,"embedding":[1,2,3,4]},{"index":2,"embedding":[1,1e99,0,0]}]}`
		})
		got, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, texts(3))
		if err != nil {
			t.Fatal(err)
		}
		bad, err := embed.Check(got, dims, 3)
		want := []embed.ItemError{{Index: 0, Reason: embed.ReasonNotFinite, Permanent: true}, {Index: 2, Reason: embed.ReasonNotFinite, Permanent: true}}
		if err != nil || !slices.Equal(bad, want) {
			t.Errorf("%v, %v", bad, err)
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
	// A body stays below 2 MB, however much longer JSON makes a text.
	big := newPeer(t, true, nil)
	e = big.embedder(t, func(o *server.Options) { o.BatchTokens = 10_000_000 })
	in = []string{"a" + strings.Repeat("\n", 250_000), strings.Repeat("<&>", 150_000), "a" + strings.Repeat("\xff", 100_000), "a" + strings.Repeat("\u2028", 100_000), strings.Repeat("\"\\", 200_000)}
	if _, err := e.Embed(t.Context(), embed.Document, in); err != nil || big.longest > 1_500_000 || big.requests() != 3 {
		t.Errorf("%d requests of up to %d bytes, %v", big.requests(), big.longest, err)
	}
	// OpenAI takes 300,000 tokens in all,
	e = big.embedder(t, func(o *server.Options) { o.BatchCount, o.BatchTokens = 2000, 10_000_000 })
	if _, err := e.Embed(t.Context(), embed.Document, slices.Repeat([]string{strings.Repeat("parola da contare ", 500)}, 120)); err != nil || len(big.seen[3]) != 99 {
		t.Errorf("%d texts in a request, %v", len(big.seen[3]), err)
	}
	// and 2,048 texts, whatever is configured.
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

package server_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/server"
	"github.com/thtbatch/thtbatch/internal/fault"
)

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

// What servers were seen to say of a text that they do not take. Their messages
// may quote it: only status and code are told.
func TestRefusalsThatWereSeen(t *testing.T) {
	for name, c := range map[string]struct {
		openai bool
		status int
		body   string
		reason string
	}{
		"ollama, too long":    {false, 400, `{"error":"the input length exceeds the context length: Mario Rossi"}`, embed.ReasonServerRefuses},
		"openai, too long":    {true, 400, `{"error":{"message":"This model's maximum context length is 8192 tokens: Mario Rossi","type":"invalid_request_error","param":null,"code":null}}`, embed.ReasonServerRefuses},
		"openai, empty":       {true, 400, `{"error":{"message":"'$.input' is invalid: Mario Rossi","type":"invalid_request_error","param":null,"code":null}}`, embed.ReasonServerRefuses},
		"vllm, flat":          {true, 400, `{"object":"error","message":"This model's maximum context length is 512 tokens: Mario Rossi","type":"BadRequestError","param":null,"code":400}`, embed.ReasonServerRefuses},
		"llama.cpp, too long": {true, 500, `{"error":{"code":500,"message":"input is too large to process: Mario Rossi","type":"server_error"}}`, embed.ReasonServerFails},
		"tei, too long":       {true, 413, `{"error":"inputs must have less than 512 tokens: Mario Rossi","error_type":"Validation"}`, embed.ReasonServerRefuses},
		"tei, tokenizer":      {true, 422, `{"message":"Tokenization error: Mario Rossi","type":"tokenizer"}`, embed.ReasonServerRefuses},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, c.openai, refuses("Mario Rossi", c.status, c.body))
			var log strings.Builder
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			e := p.embedder(t, func(o *server.Options) { o.Log = logger })
			in := []string{"one", "Mario Rossi", "three"}
			got, err := e.Embed(t.Context(), embed.Document, in)
			if want := []embed.ItemError{{Index: 1, Reason: c.reason, Permanent: true}}; !slices.Equal(embed.Refused(err), want) || got[0] == nil || got[2] == nil {
				t.Errorf("%v, %v", got, err)
			}
			// When nothing is taken, the answer is an error of the whole call.
			all := newPeer(t, c.openai, refuses("", c.status, c.body))
			_, whole := all.embedder(t, func(o *server.Options) { o.Log = logger }).Embed(t.Context(), embed.Document, in)
			if embed.Refused(whole) != nil || whole == nil || errors.Is(whole, server.ErrUnavailable) != (c.status == 500) || all.requests() > 6 {
				t.Errorf("%v after %d requests", whole, all.requests())
			}
			if told := fmt.Sprint(err, whole) + log.String(); strings.Contains(told, "Rossi") {
				t.Errorf("told: %s", told)
			}
		})
	}
}

// refuses answers so to every request that holds a text with these words.
func refuses(words string, status int, body string) func(int, []string, http.ResponseWriter) (int, string) {
	return func(_ int, in []string, _ http.ResponseWriter) (int, string) {
		if slices.ContainsFunc(in, func(s string) bool { return strings.Contains(s, words) }) {
			return status, body
		}
		return 0, ""
	}
}

// A text that meets a moment's failure while a batch is halved is not blamed.
func TestMomentaryFailureIsNoRefusal(t *testing.T) {
	failures := map[string]int{"flaky": 2, "flaky too": 1}
	p := newPeer(t, true, func(_ int, in []string, _ http.ResponseWriter) (int, string) {
		if slices.Contains(in, "bad") {
			return 500, ""
		}
		for _, text := range in {
			if failures[text] > 0 {
				failures[text]--
				return 500, ""
			}
		}
		return 0, ""
	})
	got, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, []string{"bad", "flaky", "flaky too", "good"})
	if want := []embed.ItemError{{Index: 0, Reason: embed.ReasonServerFails, Permanent: true}}; !slices.Equal(embed.Refused(err), want) {
		t.Errorf("%v", err)
	}
	for i, v := range got {
		if (v == nil) != (i == 0) {
			t.Errorf("text %d has %v", i, v)
		}
	}
}

// A server that breaks after the first short text was taken must not have all
// texts refused that were left.
func TestServerThatBreaksMeanwhile(t *testing.T) {
	for status, id := range map[int]string{400: "embedder_refused", 500: "embedder_unreachable"} {
		probes := 0
		p := newPeer(t, false, func(_ int, in []string, _ http.ResponseWriter) (int, string) {
			if slices.Equal(in, []string{"passage: prova"}) {
				if probes++; probes == 1 {
					return 0, ""
				}
			}
			return status, ""
		})
		_, err := p.embedder(t, func(o *server.Options) { o.DocumentPrefix = "passage: " }).Embed(t.Context(), embed.Document, texts(32))
		var f *fault.Error
		if !errors.As(err, &f) || f.ID != id || embed.Refused(err) != nil || probes < 2 || p.requests() > 18 {
			t.Errorf("%d: %v after %d requests", status, err, p.requests())
		}
	}
}

// A text that a server leaves out of its reply leaves the others without an
// owner: so they are asked for again.
func TestVectorThatIsLeftOut(t *testing.T) {
	both(t, func(t *testing.T, isOpenAI bool) {
		var p *peer
		p = newPeer(t, isOpenAI, func(_ int, in []string, _ http.ResponseWriter) (int, string) {
			return 200, p.vectors(slices.DeleteFunc(slices.Clone(in), func(s string) bool { return s == "…" }))
		})
		in := texts(8)
		in[5] = "…"
		got, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, in)
		if want := []embed.ItemError{{Index: 5, Reason: embed.ReasonMissing, Permanent: true}}; !slices.Equal(embed.Refused(err), want) {
			t.Fatal(err)
		}
		for i := range in {
			if i != 5 && !slices.Equal(got[i], vectorOf(in[i])) {
				t.Errorf("text %d has %v", i, got[i])
			}
		}
	})
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
		trouble := map[int]int{}
		for range random.IntN(6) { // never two in a row
			trouble[random.IntN(40)*2] = []int{424, 429, 500, 502, 503, http.StatusOK}[random.IntN(6)]
		}
		p := newPeer(t, round%2 == 0, func(n int, in []string, _ http.ResponseWriter) (int, string) {
			if status, ok := trouble[n]; ok {
				return status, `{"data":[{"index"` // with 200: half a reply
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
		if most := 3*(n/32+1) + bad*2*7*3 + 24; p.requests() > most {
			t.Errorf("round %d: %d requests for %d texts with %d bad ones, at most %d", round, p.requests(), n, bad, most)
		}
	}
}

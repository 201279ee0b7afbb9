package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/ollama"
	"github.com/thtbatch/thtbatch/internal/embed/server"
	"github.com/thtbatch/thtbatch/internal/fault"
)

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
			"half the JSON": func(http.ResponseWriter) (int, string) {
				return 200, `{"data":[{"embedding":[1,2,3,4],"index":0}],"embeddings":[[1,2`
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
				if !errors.Is(err, server.ErrUnavailable) || p.requests() > 12 { // 3 for a 500, 4 for silence, 12 while it is busy
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
			"another program":     {404, "404 page not found\n", "embedder_not_there", fault.Usage},
			"another address":     {404, `{"detail":"Not Found"}`, "embedder_not_there", fault.Usage},
			"no key":              {401, `{"error":{"message":"Incorrect API key provided: sk-abc"}}`, "embedder_denied", fault.Credential},
			"forbidden":           {403, ``, "embedder_denied", fault.Credential},
			"everything is bad":   {400, `{"object":"error","message":"dimensions are not supported","type":"BadRequestError","code":400}`, "embedder_refused", fault.Usage},
			"everything is large": {413, `{"error":"too long","error_type":"validation"}`, "embedder_refused", fault.Usage},
			"a redirect":          {302, ``, "embedder_refused", fault.Failed},
			"no JSON":             {200, `<html>`, "embedder_reply", fault.Failed},
			"too few vectors":     {200, `{"embeddings":[],"data":[]}`, "embedder_reply", fault.Failed},
			"no vector":           {200, `{"embeddings":[null],"data":[{"index":0,"embedding":null}]}`, "", 0},
			"another dimension":   {200, `{"embeddings":[[1,2,3]],"data":[{"index":0,"embedding":[1,2,3]}]}`, "embedder_dimension", fault.Usage},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPeer(t, isOpenAI, func(_ int, in []string, _ http.ResponseWriter) (int, string) { return c.status, c.body })
				_, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, []string{"a"})
				if c.id == "" {
					if got := embed.Refused(err); !slices.Equal(got, []embed.ItemError{{Index: 0, Reason: embed.ReasonMissing}}) {
						t.Errorf("%v", got)
					}
					return
				}
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

// Waiting is what the server asks for, in seconds or until a date of its clock.
func TestRetryAfterIsHeeded(t *testing.T) {
	for name, header := range map[string]http.Header{
		"seconds": {"Retry-After": {"120"}},
		"a date":  {"Retry-After": {"Tue, 01 Dec 2026 10:02:00 GMT"}, "Date": {"Tue, 01 Dec 2026 10:00:00 GMT"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				ctx, cancel := context.WithCancel(t.Context())
				p := newPeer(t, true, func(_ int, _ []string, w http.ResponseWriter) (int, string) {
					maps.Copy(w.Header(), header)
					return status, `{"error":{"type":"rate_limit_exceeded"}}`
				})
				waits := &waitLog{told: cancel}
				_, err := p.embedder(t, func(o *server.Options) { o.Log = slog.New(waits) }).Embed(ctx, embed.Document, []string{"a"})
				if !errors.Is(err, context.Canceled) || !slices.Equal(waits.all, []time.Duration{2 * time.Minute}) {
					t.Errorf("%d: waits %v, %v", status, waits.all, err)
				}
			}
		})
	}
}

// waitLog keeps the waits that are logged before they begin.
type waitLog struct {
	slog.Handler
	all  []time.Duration
	told func()
}

func (l *waitLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *waitLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "wait" {
			l.all = append(l.all, a.Value.Duration())
			l.told()
		}
		return true
	})
	return nil
}

// A server that asks for more than the patience, or has no more to give, is
// given up at once.
func TestWaitingHasAnEnd(t *testing.T) {
	for name, c := range map[string]struct{ after, body string }{
		"tomorrow":   {"80000", `{"error":{"code":"rate_limit_exceeded"}}`},
		"not at all": {"1", `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`},
	} {
		p := newPeer(t, true, func(_ int, _ []string, w http.ResponseWriter) (int, string) {
			w.Header().Set("Retry-After", c.after)
			return http.StatusTooManyRequests, c.body
		})
		_, err := p.embedder(t, nil).Embed(t.Context(), embed.Document, []string{"a"})
		if !errors.Is(err, server.ErrUnavailable) || p.requests() != 1 {
			t.Errorf("%s: %v after %d requests", name, err, p.requests())
		}
	}
}

// What stands where a status or a header should may be a text that was sent.
func TestBrokenRepliesAreNotQuoted(t *testing.T) {
	for _, reply := range []string{
		"Mario Rossi\r\n\r\n", "HTTP/1.1 Mario Rossi\r\n\r\n", "HTTP/1.1 200 OK\r\nMario Rossi\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: Mario Rossi\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Mario Rossi\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nMario Rossi\r\n", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 11\r\n\r\nMario Rossi",
		"HTTP/1.1 200 OK\r\n\r\nMario Rossi", "HTTP/1.1 404 Mario Rossi\r\n\r\nMario Rossi",
	} {
		p := newRawPeer(t, reply)
		var log strings.Builder
		e, err := ollama.New(server.Options{
			URL: p, Model: "m", Dimensions: dims, Truncate: server.Refuse, Tries: 2, Pause: time.Microsecond,
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Embed(t.Context(), embed.Document, []string{"Mario Rossi"})
		var f *fault.Error
		if !errors.As(err, &f) {
			t.Errorf("%q: %v", reply, err)
		}
		if told := err.Error() + log.String(); strings.Contains(told, "Mario") || strings.Contains(told, "Rossi") {
			t.Errorf("%q is told: %s", reply, told)
		}
	}
}

// newRawPeer answers every request with the same bytes, and closes.
func newRawPeer(t *testing.T, reply string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(c, reply)
			_ = c.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

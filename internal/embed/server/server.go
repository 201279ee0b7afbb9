// Package server is what embedders behind HTTP have in common: where a request
// may go and with which key, how often and how fast it is sent, how texts are cut
// into requests, and what a refusal of a request says about its texts. What a
// server's requests and replies look like is its Wire's to know.
//
// Nothing that a server says in an error is passed on but the status and a code
// that looks like an identifier: messages quote what was sent.
package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// Wire is the format of one kind of server.
type Wire interface {
	// Endpoint is the address of a request, from the one of the configuration.
	Endpoint(base *url.URL) *url.URL
	// Request is what is sent, to be written as JSON.
	Request(m Model, texts []string) any
	// Decode reads the vectors of a reply in the order of the texts. One that the
	// server left out is nil. Errors never show what was read: a *CountError for
	// another number of vectors, io.ErrUnexpectedEOF for half a reply, which is
	// worth another try, and any other for what will never be understood.
	Decode(reply []byte, texts int) ([][]float32, error)
	// Fetch is the command that makes the server have a model, or "".
	Fetch(model string) string
}

// Model is what a request says about the model.
type Model struct {
	Name       string
	Dimensions int  // to ask for; 0: not a word
	Cut        bool // the server may cut what is too long
}

// What happens to a text that is too long for the model.
const (
	Refuse    = "refuse" // it is refused
	ServerCut = "server" // the server cuts it as it likes
	headCut   = "head:"  // and a number: it is cut to its first code points
)

// Options of an embedder behind HTTP.
type Options struct {
	URL         string // http or https, without credentials
	Key         string // sent as a bearer token; empty: none
	AllowRemote bool   // allow addresses that are neither loopback nor private

	Model, Revision             string
	Dimensions                  int  // of every vector; at least 1
	SendDimensions              bool // ask the server for them
	DocumentPrefix, QueryPrefix string
	Normalise                   bool   // bring vectors to unit length
	Truncate                    string // Refuse, ServerCut or head:N

	BatchCount, BatchTokens int           // of one request; 0: 32 and 16000
	RequestsPerMinute       int           // 0: as fast as it goes
	Timeout                 time.Duration // of one request with the server's queue; 0: two minutes
	Tries                   int           // of one request that gets no answer, thrice as many while the server is busy; 0: 6
	Pause                   time.Duration // before the second try, twice as long before each further one up to 60 times; 0: half a second
	Patience                time.Duration // with one request and all its tries: no wait goes beyond it; 0: 15 minutes

	Log *slog.Logger // nil: nothing is logged
}

// Embedder embeds texts by asking a server. It implements embed.Embedder.
type Embedder struct {
	wire     Wire
	provider string
	options  Options
	head     int // code points that are sent of a text; 0: all
	space    string
	endpoint string
	client   *http.Client
	limit    *rate.Limiter
}

var _ embed.Embedder = (*Embedder)(nil)

// New makes an embedder. Nothing is sent. Faults, all of the configuration:
// embedder_url, embedder_plain_key, embedder_setting_missing.
func New(provider string, wire Wire, o Options) (*Embedder, error) {
	o.BatchCount, o.BatchTokens, o.Tries = cmp.Or(o.BatchCount, 32), cmp.Or(o.BatchTokens, 16_000), cmp.Or(o.Tries, 6)
	o.Timeout, o.Pause, o.Patience = cmp.Or(o.Timeout, 2*time.Minute), cmp.Or(o.Pause, 500*time.Millisecond), cmp.Or(o.Patience, 15*time.Minute)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	head, truncates := headOf(o.Truncate)
	for _, setting := range []struct {
		key string
		set bool
	}{{"embed.model", o.Model != ""}, {"embed.dimensions", o.Dimensions > 0}, {"embed.truncate", truncates}} {
		if !setting.set {
			return nil, fault.New(fault.Usage, "embedder_setting_missing", "provider", provider, "key", setting.key)
		}
	}
	base, err := checkURL(o)
	if err != nil {
		return nil, err
	}
	e := &Embedder{wire: wire, provider: provider, options: o, head: head, endpoint: wire.Endpoint(base).String()}
	e.client = newClient(o, base)
	e.limit = rate.NewLimiter(rate.Inf, 1)
	if o.RequestsPerMinute > 0 {
		e.limit = rate.NewLimiter(rate.Every(time.Minute/time.Duration(o.RequestsPerMinute)), 1)
	}
	e.space = spaceOf(provider, o).String()
	return e, nil
}

// headOf is the N of head:N, 0 for the other policies, and whether it is one.
func headOf(truncate string) (int, bool) {
	digits, head := strings.CutPrefix(truncate, headCut)
	if !head {
		return 0, truncate == Refuse || truncate == ServerCut
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0 && strconv.Itoa(n) == digits // one form for one space
}

func spaceOf(provider string, o Options) embed.Space {
	s := embed.Space{
		Provider: provider, Model: o.Model, Dimensions: o.Dimensions, Normalisation: "none", Truncation: "none", Prefix: o.DocumentPrefix,
	}
	if o.Revision != "" {
		s.Model += "@" + o.Revision
	}
	if o.Normalise {
		s.Normalisation = "l2"
	}
	if o.Truncate != Refuse {
		s.Truncation = o.Truncate
	}
	return s
}

// Space implements embed.Embedder.
func (e *Embedder) Space() string { return e.space }

// Dimensions implements embed.Embedder.
func (e *Embedder) Dimensions() int { return e.options.Dimensions }

// Close lets idle connections go.
func (e *Embedder) Close() error {
	e.client.CloseIdleConnections()
	return nil
}

// Embed implements embed.Embedder. What a server refuses (400, 413, 422, and 500
// again and again) is found by halving the batch, after a short text has shown
// that it is not everything that is refused, and is refused for good. Texts
// without a visible character are refused without asking. What is not UTF-8 is
// sent as U+FFFD. Network errors, half a reply, 408, 424, 425, 429, 502, 503 and
// 504 are tried again; Retry-After is heeded. An error that is ErrUnavailable
// says that the server did not answer; other faults: embedder_remote,
// embedder_plain_key, embedder_denied (exit 4), embedder_model_missing,
// embedder_not_there, embedder_dimension, embedder_refused, embedder_reply.
func (e *Embedder) Embed(ctx context.Context, role embed.Role, texts []string) ([][]float32, error) {
	c := &call{embedder: e, role: role, texts: make([]string, len(texts)), vectors: make([][]float32, len(texts))}
	var wanted []int
	for i, text := range texts {
		text = e.cut(text)
		if !strings.ContainsFunc(text, visible) {
			c.refuse(i, embed.ReasonNothing, true)
			continue
		}
		c.texts[i] = e.sent(role, text)
		wanted = append(wanted, i)
	}
	for _, request := range e.requests(c.texts, wanted) {
		if err := c.ask(ctx, request); err != nil {
			return nil, err
		}
	}
	if len(c.refused) == 0 {
		return c.vectors, nil
	}
	slices.SortFunc(c.refused, func(a, b embed.ItemError) int { return cmp.Compare(a.Index, b.Index) })
	return c.vectors, &embed.BatchError{Items: c.refused}
}

// visible leaves out spaces, control characters and those without a width: what
// has no other is empty to a tokenizer.
func visible(c rune) bool { return unicode.IsGraphic(c) && !unicode.IsSpace(c) }

// cut is the first code points of a text, where that is the policy.
func (e *Embedder) cut(text string) string {
	if e.head == 0 {
		return text
	}
	n := 0
	for at := range text {
		if n == e.head {
			return text[:at]
		}
		n++
	}
	return text
}

// sent is a text behind the prefix of its role.
func (e *Embedder) sent(role embed.Role, text string) string {
	if role == embed.Query {
		return e.options.QueryPrefix + text
	}
	return e.options.DocumentPrefix + text
}

// mostBytes of texts in a request, as JSON: servers take bodies of 2 MB.
const mostBytes = 1_400_000

// requests cuts a batch by count, by tokens and by bytes. A text that is beyond
// a limit by itself has a request of its own.
func (e *Embedder) requests(texts []string, wanted []int) (out [][]int) {
	from, tokens, bytes := 0, 0, 0
	for at, i := range wanted {
		t, b := tokensOf(texts[i]), encodedLen(texts[i])
		if at > from && (at-from >= e.options.BatchCount || tokens+t > e.options.BatchTokens || bytes+b > mostBytes) {
			out = append(out, wanted[from:at])
			from, tokens, bytes = at, 0, 0
		}
		tokens, bytes = tokens+t, bytes+b
	}
	if from < len(wanted) {
		out = append(out, wanted[from:])
	}
	return out
}

// tokensOf estimates the tokens of a text, rather too many: multilingual
// tokenizers need one for some three to four bytes of Italian.
func tokensOf(text string) int { return len(text)/3 + 8 }

// encodedLen is the length of a text in JSON, or a little more.
func encodedLen(text string) int {
	n := len(text) + 3 // quotes and a comma
	for _, c := range text {
		switch {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ', c == utf8.RuneError: // one byte becomes \u and four digits
			n += 5
		case c == '\u2028', c == '\u2029': // and so do three
			n += 3
		}
	}
	return n
}

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
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	// server left out is nil; another number of vectors is an error, which never
	// shows what was read.
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
	Tries                   int           // of one request; 0: 6
	Pause                   time.Duration // before the second try, longer before each further one; 0: half a second

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
// embedder_url, embedder_remote, embedder_plain_key, embedder_setting.
func New(provider string, wire Wire, o Options) (*Embedder, error) {
	o.BatchCount, o.BatchTokens, o.Tries = cmp.Or(o.BatchCount, 32), cmp.Or(o.BatchTokens, 16_000), cmp.Or(o.Tries, 6)
	o.Timeout, o.Pause = cmp.Or(o.Timeout, 2*time.Minute), cmp.Or(o.Pause, 500*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Model == "" || o.Dimensions < 1 {
		return nil, fault.New(fault.Usage, "embedder_refused", "provider", provider).Because(errors.New("a model and its dimensions are needed"))
	}
	head, err := headOf(o.Truncate)
	if err != nil {
		return nil, fault.New(fault.Usage, "embedder_refused", "provider", provider).Because(err)
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

func headOf(truncate string) (int, error) {
	digits, head := strings.CutPrefix(truncate, headCut)
	if !head {
		if truncate != Refuse && truncate != ServerCut {
			return 0, errors.New("truncate is refuse, server or head:N")
		}
		return 0, nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return 0, errors.New("truncate is refuse, server or head:N")
	}
	return n, nil
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

// Embed implements embed.Embedder. What a server refuses is found by halving the
// batch, after a short text has shown that it is not everything that is refused.
// Blank texts are refused without asking. An error that is ErrUnavailable says
// that the server did not answer; other faults: embedder_denied (exit 4),
// embedder_model_missing, embedder_dimension, embedder_refused, embedder_reply.
func (e *Embedder) Embed(ctx context.Context, role embed.Role, texts []string) ([][]float32, error) {
	c := &call{embedder: e, texts: make([]string, len(texts)), vectors: make([][]float32, len(texts))}
	var wanted []int
	for i, text := range texts {
		if strings.TrimFunc(text, unicode.IsSpace) == "" {
			c.refuse(i, embed.ReasonNothing)
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

// sent is a text as it is sent: cut, behind the prefix of its role.
func (e *Embedder) sent(role embed.Role, text string) string {
	if e.head > 0 {
		n := 0
		for at := range text {
			if n == e.head {
				text = text[:at]
				break
			}
			n++
		}
	}
	if role == embed.Query {
		return e.options.QueryPrefix + text
	}
	return e.options.DocumentPrefix + text
}

// mostBytes of texts in a request: servers take bodies of 2 MB.
const mostBytes = 1_400_000

// requests cuts a batch by count, by tokens and by bytes. A text that is beyond
// a limit by itself has a request of its own.
func (e *Embedder) requests(texts []string, wanted []int) (out [][]int) {
	from, tokens, bytes := 0, 0, 0
	for at, i := range wanted {
		t, b := tokensOf(texts[i]), len(texts[i])
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

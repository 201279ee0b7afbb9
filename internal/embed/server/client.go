package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// ErrUnavailable says that the server did not answer, or only that it is busy,
// however often it was asked. Later it may.
var ErrUnavailable = errors.New("the embedding server does not answer")

// refusal is a reply that says something about the texts of a request, and would
// be the same again.
type refusal struct {
	seen   error  // status and code, or the count of vectors
	reason string // of a text that is refused alone
}

func (r *refusal) Error() string { return r.seen.Error() }

// The reason of a refusal also tells its kind.
func (r *refusal) failed() bool  { return r.reason == embed.ReasonServerFails }
func (r *refusal) missing() bool { return r.reason == embed.ReasonMissing }

// transient is what may be otherwise the next time.
type transient struct {
	seen error
	busy bool // the server answers, and asks to come later
}

func (t *transient) Error() string { return t.seen.Error() }

// noAnswer is ErrUnavailable with what was seen last.
type noAnswer struct{ last error }

func (n *noAnswer) Error() string        { return n.last.Error() }
func (n *noAnswer) Is(target error) bool { return target == ErrUnavailable }

// unavailable is the fault of a server that does not answer.
func (e *Embedder) unavailable(seen error) error {
	return fault.New(fault.Failed, "embedder_unreachable", "provider", e.provider, "path", e.endpoint).
		Because(&noAnswer{seen})
}

func (e *Embedder) unreadable(err error) error {
	return fault.New(fault.Failed, "embedder_reply", "provider", e.provider, "path", e.endpoint).Because(err)
}

// Tries of a request beyond which it is given up. A server that is busy says
// that it is there, which is worth more patience than silence.
const (
	failedTries  = 3 // where the server answers 500
	busyPatience = 3 // times Options.Tries, where it is busy
)

// request sends texts, again and again where that may help. hasty asks once of
// a server that fails. Errors: *refusal, faults, and the end of ctx.
func (e *Embedder) request(ctx context.Context, texts []string, hasty bool) ([][]float32, error) {
	body, err := e.body(texts)
	if err != nil {
		return nil, err
	}
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval, pace.Multiplier = e.options.Pause, 60*e.options.Pause, 2
	failed, busy, silent := 0, 0, 0
	vectors, err := backoff.Retry(ctx, func() ([][]float32, error) {
		vectors, err := e.once(ctx, body, len(texts))
		var r *refusal
		var t *transient
		last := false
		switch {
		case errors.As(err, &r):
			failed++
			last = hasty || failed == failedTries
		case errors.As(err, &t) && t.busy:
			busy++
			last = busy == busyPatience*e.options.Tries
		case errors.As(err, &t):
			silent++
			last = silent == e.options.Tries
		}
		if last {
			return nil, backoff.Permanent(err)
		}
		return vectors, err
	}, backoff.WithBackOff(pace), backoff.WithMaxElapsedTime(e.options.Patience), backoff.WithNotify(func(err error, wait time.Duration) {
		e.options.Log.Debug("the embedder is asked again", "path", e.endpoint, "wait", wait, "reason", err)
	}))
	if err == nil {
		return vectors, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var t *transient
	if errors.As(err, &t) {
		return nil, e.unavailable(t.seen)
	}
	return nil, err
}

// body writes a request. Characters of HTML stay as they are, which keeps the
// size of what is sent what encodedLen says.
func (e *Embedder) body(texts []string) ([]byte, error) {
	model := Model{Name: e.options.Model, Cut: e.options.Truncate == ServerCut}
	if e.options.SendDimensions {
		model.Dimensions = e.options.Dimensions
	}
	var out bytes.Buffer
	writer := json.NewEncoder(&out)
	writer.SetEscapeHTML(false)
	if err := writer.Encode(e.wire.Request(model, texts)); err != nil {
		return nil, fmt.Errorf("embed: write the request: %w", err)
	}
	return out.Bytes(), nil
}

// once sends a request one time. What is not to be tried again is permanent.
func (e *Embedder) once(ctx context.Context, body []byte, texts int) ([][]float32, error) {
	if err := e.limit.Wait(ctx); err != nil {
		// The context ends before the next request is due, or has ended.
		return nil, backoff.Permanent(fmt.Errorf("embed: wait for the next request: %w", context.DeadlineExceeded))
	}
	bounded, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(bounded, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(fmt.Errorf("embed: make a request of %s: %w", e.endpoint, err))
	}
	r.Header.Set("Content-Type", "application/json")
	if e.options.Key != "" {
		r.Header.Set("Authorization", "Bearer "+e.options.Key)
	}
	reply, err := e.client.Do(r)
	if err != nil {
		var forbidden *fault.Error
		if errors.As(err, &forbidden) {
			return nil, backoff.Permanent(forbidden)
		}
		return nil, &transient{seen: connectionTrouble(err)}
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return nil, e.refused(reply)
	}
	return e.read(reply.Body, texts)
}

// read takes the vectors of a reply. It is bounded by what the configured
// dimension can need, with room to tell that it is another one.
func (e *Embedder) read(body io.Reader, texts int) ([][]float32, error) {
	most := int64(texts)*int64(e.options.Dimensions)*32 + 8<<20
	text, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, &transient{seen: connectionTrouble(err)} // half a reply
	}
	if int64(len(text)) > most {
		return nil, backoff.Permanent(e.unreadable(errors.New("the reply is too long")))
	}
	vectors, err := e.wire.Decode(text, texts)
	var count *CountError
	switch {
	case errors.As(err, &count):
		return nil, backoff.Permanent(&refusal{seen: count, reason: embed.ReasonMissing})
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &transient{seen: err}
	case err != nil:
		return nil, backoff.Permanent(e.unreadable(err))
	}
	if err := e.check(vectors); err != nil {
		return nil, backoff.Permanent(err)
	}
	return vectors, nil
}

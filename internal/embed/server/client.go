package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// ErrUnavailable says that the server did not answer, or only that it is busy,
// however often it was asked. Later it may.
var ErrUnavailable = errors.New("the embedding server does not answer")

// refusal is a reply that says something about the texts of a request, and would
// be the same again.
type refusal struct {
	status int
	code   string
	failed bool // the server failed on it, again and again
}

func (r *refusal) Error() string { return statusText(r.status, r.code) }

func statusText(status int, code string) string {
	if code == "" {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("status %d, %s", status, code)
}

// unavailable is the fault of a server that does not answer.
func (e *Embedder) unavailable(cause error) error {
	return fault.New(fault.Failed, "embedder_unreachable", "provider", e.provider, "path", e.endpoint).
		Because(&noAnswer{cause})
}

// noAnswer is ErrUnavailable with what was seen last.
type noAnswer struct{ last error }

func (n *noAnswer) Error() string        { return n.last.Error() }
func (n *noAnswer) Is(target error) bool { return target == ErrUnavailable }

// request sends texts, again and again where that may help. hasty asks once of
// a server that fails.
func (e *Embedder) request(ctx context.Context, texts []string, hasty bool) ([][]float32, error) {
	model := Model{Name: e.options.Model, Cut: e.options.Truncate == ServerCut}
	if e.options.SendDimensions {
		model.Dimensions = e.options.Dimensions
	}
	body, err := json.Marshal(e.wire.Request(model, texts))
	if err != nil {
		return nil, fmt.Errorf("embed: write the request: %w", err)
	}
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = e.options.Pause, 60*e.options.Pause
	failures := 0
	vectors, err := backoff.Retry(ctx, func() ([][]float32, error) {
		vectors, err := e.once(ctx, body, len(texts))
		var r *refusal
		if errors.As(err, &r) && r.failed {
			if failures++; hasty || failures == 3 {
				return nil, backoff.Permanent(r)
			}
		}
		return vectors, err
	}, backoff.WithBackOff(pace), backoff.WithMaxTries(uint(e.options.Tries)), backoff.WithNotify(func(err error, wait time.Duration) {
		e.options.Log.Debug("the embedder is asked again", "path", e.endpoint, "wait", wait, "reason", lastOf(err))
	}))
	if err == nil {
		return vectors, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var permanent *backoff.PermanentError
	if errors.As(err, &permanent) {
		err = permanent.Err
	}
	var r *refusal
	var classified *fault.Error
	if errors.As(err, &r) || errors.As(err, &classified) {
		return nil, err
	}
	return nil, e.unavailable(lastOf(err))
}

// lastOf is an error without the address that url.Error repeats.
func lastOf(err error) error {
	var t *transient
	if errors.As(err, &t) {
		err = t.cause
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return err
}

// transient is what may be otherwise the next time.
type transient struct{ cause error }

func (t *transient) Error() string { return t.cause.Error() }
func (t *transient) Unwrap() error { return t.cause }

// once sends a request one time. Errors: *transient, *refusal (one that failed is
// worth another try), and final faults.
func (e *Embedder) once(ctx context.Context, body []byte, texts int) ([][]float32, error) {
	if err := e.limit.Wait(ctx); err != nil {
		return nil, backoff.Permanent(err)
	}
	bounded, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(bounded, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(err)
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
		return nil, &transient{err}
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return nil, e.refused(reply)
	}
	most := int64(texts)*int64(e.options.Dimensions+16_384)*32 + 1<<20
	text, err := io.ReadAll(io.LimitReader(reply.Body, most+1))
	if err != nil {
		return nil, &transient{err} // half a reply
	}
	if int64(len(text)) > most {
		return nil, backoff.Permanent(e.unreadable(errors.New("the reply is too long")))
	}
	vectors, err := e.wire.Decode(text, texts)
	if err != nil {
		return nil, backoff.Permanent(e.unreadable(err))
	}
	if err := e.check(vectors); err != nil {
		return nil, backoff.Permanent(err)
	}
	return vectors, nil
}

func (e *Embedder) unreadable(err error) error {
	return fault.New(fault.Failed, "embedder_reply", "provider", e.provider, "path", e.endpoint).Because(err)
}

// refused says what a status other than 200 means.
func (e *Embedder) refused(reply *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(reply.Body, 64<<10)) // what cannot be read has no code
	code := ErrorCode(text)
	seen := errors.New(statusText(reply.StatusCode, code))
	switch reply.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return backoff.Permanent(&refusal{status: reply.StatusCode, code: code})
	case http.StatusInternalServerError:
		return &refusal{status: reply.StatusCode, code: code, failed: true}
	case http.StatusUnauthorized, http.StatusForbidden:
		return backoff.Permanent(fault.New(fault.Credential, "embedder_denied", "provider", e.provider, "path", e.endpoint).Because(seen))
	case http.StatusNotFound:
		return backoff.Permanent(fault.New(fault.Usage, "embedder_model_missing",
			"provider", e.provider, "path", e.endpoint, "model", e.options.Model, "fetch", e.wire.Fetch(e.options.Model)).Because(seen))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if wait, ok := retryAfter(reply.Header.Get("Retry-After"), time.Now()); ok {
			return errors.Join(&transient{seen}, &backoff.RetryAfterError{Duration: wait})
		}
		return &transient{seen}
	case http.StatusRequestTimeout, http.StatusFailedDependency, http.StatusTooEarly, http.StatusBadGateway, http.StatusGatewayTimeout:
		return &transient{seen}
	}
	return backoff.Permanent(fault.New(fault.Failed, "embedder_refused", "provider", e.provider, "path", e.endpoint).Because(seen))
}

// retryAfter reads the header Retry-After: seconds, or a date of HTTP.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && seconds >= 0 && seconds <= 24*3600 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// ErrorCode is the code in the body of an error, which has one of three shapes:
// an object "error" with a code or a type, a text "error", or the two beside the
// message. Only what looks like an identifier is one.
func ErrorCode(body []byte) string {
	var flat struct {
		Error json.RawMessage `json:"error"`
		Code  any             `json:"code"`
		Type  any             `json:"type"`
		Kind  any             `json:"error_type"`
	}
	if json.Unmarshal(body, &flat) != nil {
		return ""
	}
	var inner struct {
		Code any `json:"code"`
		Type any `json:"type"`
	}
	_ = json.Unmarshal(flat.Error, &inner) // a text has none
	for _, v := range []any{inner.Code, inner.Type, flat.Code, flat.Type, flat.Kind} {
		if s, ok := v.(string); ok && identifier(s) {
			return s
		}
	}
	return ""
}

func identifier(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return true
}

// checkURL parses the address, and refuses a key that would travel in the open.
func checkURL(o Options) (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Usage, "embedder_url")
	}
	if o.Key != "" && u.Scheme == "http" && u.Hostname() != "localhost" {
		if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.Unmap().IsLoopback() {
			return nil, fault.New(fault.Usage, "embedder_plain_key", "path", u.Scheme+"://"+u.Host)
		}
	}
	return u, nil
}

// newClient makes a client that connects only where it may. It is the address
// of the connection that is looked at: a name may lead anywhere.
func newClient(o Options, base *url.URL) *http.Client {
	plainKey := o.Key != "" && base.Scheme == "http"
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		ip := at.Addr().Unmap()
		switch {
		case ip.IsLoopback():
			return nil
		case plainKey:
			return fault.New(fault.Usage, "embedder_plain_key", "path", base.Scheme+"://"+base.Host)
		case o.AllowRemote, ip.IsPrivate(), ip.IsLinkLocalUnicast():
			return nil
		}
		return fault.New(fault.Usage, "embedder_remote", "path", base.Scheme+"://"+base.Host)
	}
	transport := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 30 * time.Second,
	}
	if o.AllowRemote && !plainKey {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport: transport,
		// A redirect could lead, key and all, to where no key may go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// codeNoQuota is a 429 that no waiting helps: https://platform.openai.com/docs/guides/error-codes
const codeNoQuota = "insufficient_quota"

// refused says what a status other than 200 means.
func (e *Embedder) refused(reply *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(reply.Body, 64<<10)) // what cannot be read has no code
	code := ErrorCode(text)
	seen := errors.New(statusText(reply.StatusCode, code))
	switch reply.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return backoff.Permanent(&refusal{seen: seen, reason: embed.ReasonServerRefuses})
	case http.StatusInternalServerError:
		return &refusal{seen: seen, reason: embed.ReasonServerFails}
	case http.StatusUnauthorized, http.StatusForbidden:
		return backoff.Permanent(fault.New(fault.Credential, "embedder_denied", "provider", e.provider, "path", e.endpoint).Because(seen))
	case http.StatusNotFound:
		if !namesError(text) {
			return backoff.Permanent(fault.New(fault.Usage, "embedder_not_there", "provider", e.provider, "path", e.endpoint).Because(seen))
		}
		return backoff.Permanent(fault.New(fault.Usage, "embedder_model_missing",
			"provider", e.provider, "path", e.endpoint, "model", e.options.Model, "fetch", e.wire.Fetch(e.options.Model)).Because(seen))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		busy := &transient{seen: seen, busy: true}
		if code == codeNoQuota {
			return backoff.Permanent(busy)
		}
		if wait := retryAfter(reply.Header, time.Now()); wait > 0 {
			return errors.Join(busy, &backoff.RetryAfterError{Duration: wait})
		}
		return busy
	case http.StatusRequestTimeout, http.StatusFailedDependency, http.StatusTooEarly, http.StatusBadGateway, http.StatusGatewayTimeout:
		return &transient{seen: seen}
	}
	return backoff.Permanent(fault.New(fault.Failed, "embedder_refused", "provider", e.provider, "path", e.endpoint).Because(seen))
}

func statusText(status int, code string) string {
	if code == "" {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("status %d, %s", status, code)
}

// retryAfter reads the header Retry-After: seconds, or a date of HTTP, which is
// compared with the server's own clock where it tells it. 0 is no wish.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return max(0, at.Sub(now))
}

// namesError tells the 404 of an embedding server, which has an error in JSON,
// from that of anything else.
func namesError(body []byte) bool {
	var named struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
	}
	return json.Unmarshal(body, &named) == nil && (named.Error != nil || named.Message != nil)
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

// connectionTrouble is what may be told of a connection that failed. Only kinds
// that are known to quote nothing pass: others show what the server sent, or
// the address of a proxy with its password.
func connectionTrouble(err error) error {
	var name *net.DNSError
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var operation *net.OpError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &name):
		return errors.New("the name of the server is not known")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no reply in time")
	case errors.As(err, &authority):
		return errors.New("its certificate is of an authority that is not known here")
	case errors.As(err, &certificate):
		return errors.New("its certificate does not hold")
	case errors.As(err, &record):
		return errors.New("the server does not speak TLS")
	case errors.As(err, &operation):
		return errors.New(operation.Op + ": " + systemError(operation.Err))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection was closed before the reply had ended")
	}
	return errors.New("the connection failed")
}

// systemError is the text of an error number.
func systemError(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return "failed"
}

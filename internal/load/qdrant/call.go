package qdrant

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
)

// callError is a call that failed. What the server said is not in it: it may
// quote what was sent.
type callError struct {
	method string
	code   codes.Code
	wait   time.Duration // that the server asks for; -1: it asks for nothing
}

func (e *callError) Error() string { return e.method + ": " + e.code.String() }

// transient codes may be others the next time. A write that ended in one may
// have been applied.
func (e *callError) transient() bool {
	switch e.code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled:
		return true
	case codes.ResourceExhausted:
		return e.wait >= 0
	}
	return false
}

// refusal codes say something about what was sent, and would come again.
func (e *callError) refusal() bool {
	switch e.code {
	case codes.InvalidArgument, codes.OutOfRange: // FailedPrecondition is of a server that is locked
		return true
	}
	return false
}

// once makes a call one time, within the timeout. Its error is ctx's, or a
// *callError: here alone codes of gRPC are read.
func once[T any](ctx context.Context, s *Store, method string, fn func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	reply, err := fn(bounded)
	if err == nil {
		return reply, nil
	}
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	failed := &callError{method: method, code: status.Code(err), wait: -1}
	var exhausted *qdrant.QdrantResourceExhaustedError
	if errors.As(err, &exhausted) {
		failed.code, failed.wait = codes.ResourceExhausted, time.Duration(exhausted.RetryAfterS)*time.Second
	}
	return none, failed
}

// again makes a call until it succeeds, as long as that may help. Faults:
// store_unreachable, store_denied (exit 4), store_vanished (is
// load.ErrNotPrepared), store_failed; and a *callError for what was refused.
func again[T any](ctx context.Context, s *Store, method string, fn func(context.Context) (T, error)) (T, error) {
	reply, err := repeat(ctx, s, func() (T, error) { return once(ctx, s, method, fn) })
	return reply, s.classify(err)
}

// repeat runs an operation whose errors are those of once until it succeeds, with
// growing pauses, or with those that the server asks for.
func repeat[T any](ctx context.Context, s *Store, operation func() (T, error)) (T, error) {
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = s.options.Pause, 60*s.options.Pause
	reply, err := backoff.Retry(ctx, func() (T, error) {
		reply, err := operation()
		var failed *callError
		switch {
		case err == nil:
			return reply, nil
		case !errors.As(err, &failed) || !failed.transient():
			return reply, backoff.Permanent(err)
		case failed.wait >= 0:
			return reply, errors.Join(failed, &backoff.RetryAfterError{Duration: failed.wait})
		}
		return reply, failed
	}, backoff.WithBackOff(pace), backoff.WithMaxTries(uint(s.options.Tries)), backoff.WithNotify(func(err error, wait time.Duration) {
		var failed *callError
		if errors.As(err, &failed) {
			s.options.Log.Debug("the store is asked again", "path", s.place, "call", failed.method, "code", failed.code.String(), "wait", wait)
		}
	}))
	var permanent *backoff.PermanentError
	if errors.As(err, &permanent) {
		err = permanent.Err
	}
	return reply, err
}

// classify gives what is left after all tries its place among the exit codes.
func (s *Store) classify(err error) error {
	var failed *callError
	if !errors.As(err, &failed) {
		return err
	}
	switch {
	case failed.transient():
		return fault.New(fault.Failed, "store_unreachable", "path", s.place).Because(failed)
	case failed.refusal(), failed.code == codes.AlreadyExists, failed.code == codes.ResourceExhausted:
		return failed
	case failed.code == codes.Unauthenticated, failed.code == codes.PermissionDenied:
		return fault.New(fault.Credential, "store_denied", "path", s.place).Because(failed)
	case failed.code == codes.NotFound:
		return fault.New(fault.Failed, "store_vanished", "path", s.place).Because(&vanished{failed})
	}
	return s.failed(failed)
}

// failed is the fault of a server that does not do what it is asked.
func (s *Store) failed(err error) error {
	return fault.New(fault.Failed, "store_failed", "path", s.place).Because(err)
}

// vanished is load.ErrNotPrepared, with the call that found out.
type vanished struct{ failed *callError }

func (v *vanished) Error() string        { return v.failed.Error() }
func (v *vanished) Is(target error) bool { return target == load.ErrNotPrepared }

// final makes a fault of what a read was refused with: nothing can be split.
func (s *Store) final(err error) error {
	var refused *callError
	if errors.As(err, &refused) && fault.CodeOf(err) == fault.Failed {
		var classified *fault.Error
		if !errors.As(err, &classified) {
			return s.failed(refused)
		}
	}
	return err
}

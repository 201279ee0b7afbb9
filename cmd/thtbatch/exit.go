package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/words"
)

// exit is a row of the table of exit codes, which every help text shows.
type exit struct {
	Code    fault.Code
	Meaning string
}

func exits() []exit {
	return []exit{
		{fault.Done, "done"},
		{fault.Failed, "failed"},
		{fault.Usage, "wrong usage or configuration"},
		{fault.Input, "the named input cannot be indexed; with --strict, some input was withheld or quarantined"},
		{fault.Credential, "no credential for what was asked"},
		{fault.Locked, "another run holds the lock"},
		{fault.Guard, "a guard refused: too many deletes, vanished input, another workspace"},
		{fault.Partial, "partial: some items failed, the others are done"},
		{fault.Interrupted, "interrupted; the run is recorded and can be repeated"},
	}
}

// failure is the document that --json prints when the job printed none.
type failure struct {
	Error *report.Error `json:"error"`
}

// report says what went wrong, once, and returns the exit code.
func (c *call) report(err error) fault.Code {
	if err == nil {
		return fault.Done
	}
	code := fault.CodeOf(err)
	if c.log != nil {
		c.log.Debug("failed", "exit", int(code), "error", err)
	}
	if c.json && c.out.n == 0 {
		c.reportJSON(err)
		return code
	}
	message, hint := c.personal().Fault(err)
	name := programName
	if c.verb != "" {
		name += " " + c.verb
	}
	fmt.Fprintf(c.stderr, "%s: %s\n", name, message)
	if hint != "" {
		fmt.Fprintln(c.stderr, hint)
	}
	return code
}

func (c *call) reportJSON(failed error) {
	if err := report.Line(c.out, failure{report.NewError(failed)}); err != nil {
		fmt.Fprintf(c.stderr, "%s: standard output: %v\n", programName, err)
	}
}

// printer of the language that errors are told in: English in a JSON document,
// else the person's.
func (c *call) printer() *words.Printer {
	if c.json {
		return words.For(words.English)
	}
	return c.personal()
}

// personal is the printer of the person's language; before the configuration is
// known, of the one it asks for as far as it can be read.
func (c *call) personal() *words.Printer {
	if c.words != nil {
		return c.words
	}
	conf, _ := c.configuration() // what is wrong with it is not what is being told
	return words.For(words.Language(conf.Lang, c.getenv))
}

// interrupted classifies the end of a job whose context was cancelled, however
// the job wrapped it. A job that finished in spite of the signal is done.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	cause := context.Cause(ctx)
	if fault.CodeOf(cause) == fault.Interrupted {
		return cause
	}
	return fault.New(fault.Interrupted, "interrupted", "signal", "").Because(err)
}

// panicked turns a panic into an error. Its value may hold anything, a text of
// a session too, so only its type is told, and what the runtime itself says.
func (c *call) panicked(r any) error {
	kind := fmt.Sprintf("%T", r)
	if err, ok := r.(runtime.Error); ok && strings.HasPrefix(kind, "runtime.") {
		kind = err.Error()
	}
	if c.log != nil && c.log.Enabled(context.Background(), slog.LevelDebug) {
		c.log.Debug("panic", "kind", kind, "stack", string(debug.Stack()))
	}
	return fault.New(fault.Failed, "panic", "kind", kind)
}

// Command thtbatch is the nightly batch beside a text-to-SQL assistant: it
// reads what the sessions left behind, works out what became reusable
// knowledge, and keeps a vector index of it.
package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the zones of serve.timezone, on machines that have none

	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

const programName = "thtbatch"

// version is set when a release is linked: -ldflags "-X main.version=v1.2.3".
var version string

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr, os.Getenv)) }

// run is the whole program: arguments (the first is the program's name) and
// streams in, exit code out.
func run(args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	ctx, stop := untilSignalled(context.Background())
	defer stop()
	p := program{stdout: stdout, stderr: stderr, getenv: getenv, now: time.Now, jobs: jobs.All, umask: private()}
	return int(p.execute(ctx, args[1:]))
}

// private makes every file of the process its owner's alone, also those that
// DuckDB makes by itself: logs, spilled data. What others may read is given its
// mode by whoever writes it. It returns the umask that the program was started
// with.
func private() fs.FileMode { return fs.FileMode(unix.Umask(0o077)) }

// untilSignalled returns a context that ends, with the signal in its cause, at
// the first SIGINT or SIGTERM. The second one kills the process: whoever sends
// it does not want to wait for the end of a batch.
func untilSignalled(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(fault.New(fault.Interrupted, "interrupted", "signal", s.String()))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(context.Canceled)
	}
}

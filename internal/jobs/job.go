// Package jobs is what the program can be asked to do: one file a job.
package jobs

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/words"
)

// Job is one verb of the command line. It is made anew for every run, so its
// flags may be bound to variables of the closure that made it.
type Job struct {
	Name, Usage, ArgsUsage string
	// Args is the exact number of positional arguments; -1 takes any number.
	Args int
	// Writes says that the job changes the state directory.
	Writes bool
	Flags  []cli.Flag
	Run    func(ctx context.Context, e *Env, args []string) error
}

// Env is what a job is given. It is unpacked in Run and goes no deeper.
type Env struct {
	Settings Settings
	Log      *slog.Logger
	Now      func() time.Time
	// Stdout takes the result, Stderr what is said to a person. With JSON a job
	// writes one document to Stdout, as the last thing it does: where it has
	// written and fails all the same, no document with the error follows.
	Stdout, Stderr io.Writer
	// Terminal says that Stderr is one, which a person looks at.
	JSON, Quiet, Terminal bool
	Words                 *words.Printer
	// LogThrough sends what is logged from now on through w, so that bars on the
	// terminal and lines do not write over each other; nil where nobody listens.
	LogThrough func(w io.Writer)
	Getenv     func(string) string
}

// All lists the jobs, in the order of the help text.
func All() []Job {
	return []Job{
		backfill(), rebuild(), candidates(), solvedIndex(), search(), solvedSearch(), querySQL(), runs(), doctor(), demo(),
	}
}

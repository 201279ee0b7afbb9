package jobs

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/words"
)

// A panic goes on its way, and the run that it ended is neither done nor open.
func TestPanicClosesTheRun(t *testing.T) {
	t.Parallel()
	e := &Env{
		Settings: Settings{StateDir: filepath.Join(t.TempDir(), "state"), ArtifactsDir: filepath.Join(t.TempDir(), "artifacts")},
		Log:      slog.New(slog.DiscardHandler), Now: time.Now, Stdout: io.Discard, Stderr: io.Discard, Quiet: true,
		Words: words.For(words.English),
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		err := e.record(t.Context(), "backfill", 0, func(context.Context, *recorded) error { panic("a text of a session") })
		t.Errorf("it returned: %v", err)
	}()
	dir, err := state.OpenExisting(e.Settings.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	runs, _, err := dir.Runs()
	if err != nil || len(runs) != 1 || runs[0].Status != state.Failed || runs[0].Error != "panic" {
		t.Fatalf("%+v %v", runs, err)
	}
	// The lock is free, and the next run begins.
	if err := e.record(t.Context(), "backfill", 0, func(context.Context, *recorded) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

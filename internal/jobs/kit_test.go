package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/words"
)

// desk is an artifacts tree, a state directory and the settings of the jobs
// that work on them.
type desk struct {
	settings jobs.Settings
	now      func() time.Time
	log      io.Writer
	env      map[string]string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	root := t.TempDir()
	return &desk{now: time.Now, log: io.Discard, settings: jobs.Settings{
		ArtifactsDir: filepath.Join(root, "artifacts"), ArtifactsSessions: "sessions", ArtifactsManifest: "manifest.yaml",
		ArtifactsLedger: "review_decisions.jsonl", ArtifactsSQL: "sql_final.sql", ArtifactsRegistry: "memory/registry.jsonl",
		StateDir: filepath.Join(root, "state"), Workspace: "default", ReopenScope: "downstream",
		WithdrawalType: "decision_withdrawn", ReopeningType: "phase_reopened",
		Phases: map[string]int{
			"concept_clarified": 1, "memory_rejected": 2, "table_promoted": 4, "table_excluded": 4, "column_promoted": 4,
			"question_rewritten": 5, "cte_approved": 6, "sql_approved": 7, "datamart_requested": 8, "datamart_declined": 8,
			"memory_promoted": 8, "memory_promotion_declined": 8,
		},
		CandidatesCap: 5, SolvedStatuses: []string{"finalized"}, ContentTemplate: record.DefaultTemplate(),
		Index: jobs.IndexSettings{
			Store: "local", Layout: string(record.Flat), Batch: 128, BatchBytes: 3_000_000,
			Collection: "test", Timeout: time.Minute, Tries: 6, Pause: time.Microsecond, Streams: 2,
		},
		Embed: jobs.EmbedSettings{
			Provider: "lexical", Dimensions: dimensions, Cache: "auto", Normalise: true, Truncate: "refuse",
			Batch: 32, BatchTokens: 16_000, Timeout: time.Minute, Tries: 1, Pause: time.Microsecond,
		},
		QuarantineExcerpt: "masked", PublishKeep: 3,
	}}
}

// dimensions are few, so that an index is quickly written and compared.
const dimensions = 64

// elsewhere is the same desk with another state directory, which has nothing in
// it.
func (d *desk) elsewhere(t *testing.T) *desk {
	t.Helper()
	other := *d
	other.settings.Phases = maps.Clone(d.settings.Phases)
	other.settings.StateDir = filepath.Join(t.TempDir(), "state")
	return &other
}

// outcome is what a command line did.
type outcome struct {
	err     error
	code    fault.Code
	stdout  string
	summary summary // of a job that has one
}

type summary struct {
	report.Summary
	Plan []report.PlanRow `json:"plan"`
}

func (s summary) actions() map[string]int {
	out := map[string]int{}
	for _, a := range s.Actions {
		out[a.Action] += a.Count
	}
	return out
}

// carryOut runs a command line as the program does, in this process.
func (d *desk) carryOut(ctx context.Context, argv ...string) outcome {
	var stdout bytes.Buffer
	env := &jobs.Env{
		Settings: d.settings, Log: slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: d.now, Stdout: &stdout, Stderr: io.Discard, JSON: true, Words: words.For(words.English),
		Getenv: func(name string) string { return d.env[name] },
	}
	app := &cli.App{
		Name: "thtbatch", Writer: io.Discard, ErrWriter: io.Discard, HideHelp: true, ExitErrHandler: func(*cli.Context, error) {},
		Action: func(*cli.Context) error { return errors.New("no such job") },
	}
	for _, job := range jobs.All() {
		app.Commands = append(app.Commands, &cli.Command{Name: job.Name, Flags: job.Flags, HideHelp: true, Action: func(c *cli.Context) error {
			if job.Args >= 0 && c.NArg() != job.Args {
				return errors.New("wrong number of arguments")
			}
			return job.Run(c.Context, env, c.Args().Slice())
		}})
	}
	err := app.RunContext(ctx, append([]string{"thtbatch"}, argv...))
	out := outcome{err: err, code: fault.CodeOf(err), stdout: stdout.String()}
	if len(argv) > 0 && (argv[0] == "backfill" || argv[0] == "report") && stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &out.summary); err != nil {
			out.err = errors.Join(out.err, err)
		}
	}
	return out
}

// run fails the test unless the command line ends with the exit code.
func (d *desk) run(t *testing.T, want fault.Code, argv ...string) outcome {
	t.Helper()
	out := d.carryOut(t.Context(), argv...)
	if out.code != want || want == fault.Done && out.err != nil {
		t.Fatalf("%v: exit %d, want %d: %v", argv, out.code, want, out.err)
	}
	return out
}

// backfill runs one that may have met questions without a word to embed, and
// nothing worse.
func (d *desk) backfill(t *testing.T, flags ...string) summary {
	t.Helper()
	out := d.carryOut(t.Context(), append([]string{"backfill"}, flags...)...)
	if out.code != fault.Done && out.code != fault.Partial {
		t.Fatalf("backfill %v: exit %d: %v", flags, out.code, out.err)
	}
	return out.summary
}

// search returns the ids and session ids that a search found, in their order.
func (d *desk) search(t *testing.T, argv ...string) []string {
	t.Helper()
	var hits []struct {
		MemoryID  string `json:"memory_id"`
		SessionID string `json:"session_id"`
	}
	out := d.run(t, fault.Done, argv...)
	if err := json.Unmarshal([]byte(out.stdout), &hits); err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, h := range hits {
		if argv[0] == "search" {
			ids = append(ids, h.MemoryID)
		} else {
			ids = append(ids, h.SessionID)
		}
	}
	return ids
}

func (d *desk) state(name ...string) string {
	return filepath.Join(append([]string{d.settings.StateDir}, name...)...)
}

func (d *desk) artifact(name ...string) string {
	return filepath.Join(append([]string{d.settings.ArtifactsDir}, name...)...)
}

// agedTo is before any scan of a test, by more than the two seconds within
// which a time proves nothing.
var agedTo = time.Now().Add(-time.Hour).Truncate(time.Second)

// age sets the times of files that were just written to the past. The others
// keep theirs, so that a scan knows them.
func (d *desk) age(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(d.settings.ArtifactsDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type() == fs.ModeSymlink {
			return err
		}
		info, err := e.Info()
		if err == nil && info.ModTime().After(agedTo.Add(time.Minute)) {
			err = os.Chtimes(path, agedTo, agedTo)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// filesOf is every file below a directory with its content and time: what must
// be equal when nothing was written. Links are their targets.
func filesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if e.Type() == fs.ModeSymlink {
			out[name], err = os.Readlink(path)
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		out[name] = info.ModTime().Format(time.RFC3339Nano) + " " + record.Hash(string(text))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// without leaves out the files whose names satisfy drop.
func without(files map[string]string, drop ...string) map[string]string {
	out := maps.Clone(files)
	maps.DeleteFunc(out, func(name, _ string) bool { return slices.Contains(drop, name) })
	return out
}

// sameFiles says which files differ.
func sameFiles(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for name, text := range before {
		if now, there := after[name]; !there {
			t.Errorf("%s: %s is gone", what, name)
		} else if now != text {
			t.Errorf("%s: %s was written", what, name)
		}
	}
	for name := range after {
		if _, there := before[name]; !there {
			t.Errorf("%s: %s is new", what, name)
		}
	}
}

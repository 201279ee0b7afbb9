package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/extract"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/publish"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/words"
)

// finding is one thing that doctor looked at. ID names its sentence.
type finding struct {
	ID     string         `json:"check"`
	Level  string         `json:"level"` // ok, note or bad
	Detail map[string]any `json:"detail,omitempty"`
	// Message is the sentence, for people; in JSON it is English.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Beside compares two points of the index, field by field.
	Beside []besideRow `json:"beside,omitempty"`
}

// checked is the document of doctor.
type checked struct {
	Checks []finding     `json:"checks"`
	Error  *report.Error `json:"error,omitempty"`
}

const (
	levelOK   = "ok"
	levelNote = "note"
	levelBad  = "bad"
)

func doctor() Job {
	return Job{
		Name: "doctor", Usage: "look at everything a run needs, and change nothing",
		Flags: []cli.Flag{collectionFlag()},
		Run:   func(ctx context.Context, e *Env, _ []string) error { return e.runDoctor(ctx) },
	}
}

// runDoctor writes nothing anywhere. What is bad makes it exit with the code
// that a run would have had.
func (e *Env) runDoctor(ctx context.Context) error {
	d := &diagnosis{env: e}
	d.machine()
	known := d.state()
	d.artifacts(ctx, known)
	d.publication(ctx)
	if embedder := d.embedder(ctx); embedder != nil {
		d.index(ctx, embedder)
		if err := closeEmbedder(embedder); err != nil {
			d.bad(err)
		}
	}
	if e.JSON {
		return firstError(d.worst, report.Document(e.Stdout, checked{d.findings, report.NewError(d.worst)}))
	}
	for _, f := range d.findings {
		mark := map[string]string{levelOK: "ok  ", levelNote: "note", levelBad: "BAD "}[f.Level]
		if _, err := fmt.Fprintf(e.Stdout, "%s  %s\n", mark, f.Message); err != nil {
			return err
		}
		if f.Hint != "" {
			if _, err := fmt.Fprintf(e.Stdout, "      %s\n", f.Hint); err != nil {
				return err
			}
		}
		if err := writeBeside(e.Stdout, e.Words, f.Beside); err != nil {
			return err
		}
	}
	return d.worst
}

type diagnosis struct {
	env      *Env
	findings []finding
	dir      *state.Dir
	worst    error
}

// people speak their language, programs English.
func (e *Env) people() *words.Printer {
	if e.JSON {
		return words.For(words.English)
	}
	return e.Words
}

func (d *diagnosis) say(level, id string, args ...any) {
	detail := map[string]any{}
	for i := 0; i+1 < len(args); i += 2 {
		detail[args[i].(string)] = args[i+1]
	}
	d.findings = append(d.findings, finding{ID: id, Level: level, Detail: detail, Message: d.env.people().Say(id, detail)})
}

func (d *diagnosis) bad(err error) {
	message, hint := d.env.people().Fault(err)
	f := finding{ID: "internal_error", Level: levelBad, Message: message, Hint: hint}
	var classified *fault.Error
	if errors.As(err, &classified) {
		f.ID, f.Detail = classified.ID, classified.Args
	}
	d.findings = append(d.findings, f)
	if d.worst == nil {
		d.worst = fault.New(fault.CodeOf(err), "doctor_bad")
	}
}

func (d *diagnosis) machine() {
	d.say(levelOK, "doctor_duckdb", "version", duck.Version(), "memory", int(duck.DefaultMemoryLimit()>>20))
}

func (d *diagnosis) state() state.Known {
	path := d.env.Settings.StateDir
	if err := state.CheckOutside(path, d.env.Settings.ArtifactsDir); err != nil {
		d.bad(err)
		return state.Known{}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.say(levelNote, "doctor_state_new", "path", path)
		return state.Known{}
	}
	dir, err := state.OpenExisting(path)
	if err != nil {
		d.bad(err)
		return state.Known{}
	}
	d.dir = dir
	d.say(levelOK, "doctor_state", "path", path)
	if holder, err := dir.LockedBy(); err != nil {
		d.bad(err)
	} else if holder != nil {
		d.say(levelNote, "doctor_locked", "job", holder.Job, "pid", holder.PID, "since", holder.StartedAt)
	}
	if runs, _, err := dir.Runs(); err != nil {
		d.bad(err)
	} else if len(runs) > 0 {
		last := runs[len(runs)-1]
		level := levelOK
		if last.Status != state.Done && last.Status != state.Running {
			level = levelNote
		}
		d.say(level, "doctor_last_run", "run", last.RunID, "job", last.Job, "status", d.env.people().Label("status", string(last.Status)))
	}
	known, _, err := dir.LoadKnown()
	if err != nil {
		d.bad(err)
	}
	return known
}

func (d *diagnosis) artifacts(ctx context.Context, known state.Known) {
	entries, skipped, err := extract.List(ctx, d.env.layout())
	if err != nil {
		d.bad(d.env.listFault(err, known))
		return
	}
	d.say(levelOK, "doctor_sessions", "path", d.env.layout().SessionsPath(), "count", len(entries))
	for _, s := range skipped {
		d.say(levelNote, "session_skipped", "name", s.Name, "reason", s.Reason)
	}
	path := d.env.layout().RegistryPath()
	err = d.env.registryReadable()
	switch {
	case errors.Is(err, fs.ErrNotExist) && known.RegistryRecords == 0:
		d.say(levelNote, "registry_missing", "path", path)
	case err != nil && known.RegistryRecords > 0:
		d.bad(fault.New(fault.Guard, "registry_vanished", "path", path, "known", known.RegistryRecords).Because(err))
	case err != nil:
		d.bad(err)
	default:
		d.say(levelOK, "doctor_registry", "path", path)
	}
}

func (d *diagnosis) publication(ctx context.Context) {
	if d.dir == nil {
		return
	}
	current := filepath.Join(d.env.publishDir(d.dir), publish.Current)
	published, _, err := d.env.published(ctx)
	var classified *fault.Error
	if errors.As(err, &classified) && classified.ID == "nothing_published" {
		d.say(levelNote, "doctor_not_published", "path", current)
		return
	}
	if err != nil {
		d.bad(err)
		return
	}
	d.say(levelOK, "doctor_published", "path", current)
	if err := published.Close(); err != nil {
		d.bad(err)
	}
}

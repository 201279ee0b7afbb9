package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// recorded is a run of a job that changes something: it holds the lock, stands
// in the list of runs from before it does anything, and is closed on every
// path but the death of the process.
type recorded struct {
	env      *Env
	dir      *state.Dir
	db       *warehouse.DB
	run      state.Run
	summary  report.Summary
	progress *report.Progress
	// retryFailed leaves what was refused before out of the plan.
	retryFailed bool
	// down is why the embedder does not answer, and waiting how many records wait
	// for a vector because of it.
	down    error
	waiting int
	// mu guards run, summary and waiting while a batch has workers.
	mu sync.Mutex
}

// record runs fn as a recorded run of a job.
func (e *Env) record(ctx context.Context, job string, wait time.Duration, fn func(context.Context, *recorded) error) (err error) {
	s := e.Settings
	if err := state.CheckOutside(s.StateDir, s.ArtifactsDir); err != nil {
		return err
	}
	dir, err := state.Open(s.StateDir)
	if err != nil {
		return err
	}
	now := e.Now().UTC()
	r := &recorded{env: e, dir: dir, run: state.Run{RunID: state.NewRunID(now), Job: job, StartedAt: now, Status: state.Running}}
	r.summary = report.Summary{RunID: r.run.RunID, Job: job, StartedAt: now, State: dir.Path()}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if wait > 0 {
		e.sayWaiting(dir)
	}
	lock, err := dir.Lock(ctx, state.Holder{RunID: r.run.RunID, Job: job, PID: os.Getpid(), Host: host, StartedAt: now}, wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	now = e.Now().UTC() // it begins when it has the lock: the runs stand in the order of their work
	r.run.StartedAt, r.summary.StartedAt = now, now
	abandoned, err := dir.CloseAbandoned(now)
	if err != nil {
		return err
	}
	for _, a := range abandoned {
		e.Log.Warn("a former run was killed", "run_id", a.RunID, "job", a.Job, "started_at", a.StartedAt)
		r.warn("run_abandoned", "run", a.RunID, "job", a.Job)
	}
	if err := dir.Begin(r.run); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			// serve goes on after a panic: the run is closed and its files are too.
			e.logUnfinished(r.finish(fault.New(fault.Failed, "panic", "kind", fmt.Sprintf("%T", p))))
			panic(p)
		}
		err = errors.Join(err, r.finish(err))
	}()
	r.progress = e.newProgress()
	defer r.progress.Close()
	if e.LogThrough != nil {
		e.LogThrough(r.progress.Writer())
	}
	if err := fn(ctx, r); err != nil {
		return r.classify(ctx, err)
	}
	return nil
}

// logUnfinished tells that a run could not be closed while something worse is
// on its way up.
func (e *Env) logUnfinished(err error) {
	if err != nil {
		e.Log.Error("a run could not be closed", "error", err)
	}
}

// sayWaiting tells for whom the job is going to wait, if for anybody: minutes of
// silence look like a program that hangs.
func (e *Env) sayWaiting(dir *state.Dir) {
	holder, err := dir.LockedBy()
	if err != nil || holder == nil {
		return // taking the lock finds out
	}
	if e.Terminal && !e.Quiet {
		fmt.Fprintln(e.Stderr, e.Words.Say("waiting_for_lock", map[string]any{"path": dir.Path(), "job": holder.Job, "pid": holder.PID}))
		return
	}
	e.Log.Info("waiting for another run to end", "job", holder.Job, "pid", holder.PID, "run_id", holder.RunID)
}

// classify names the troubles that any statement may have and that nobody below
// has classified: of memory, and of the files.
func (r *recorded) classify(ctx context.Context, err error) error {
	var classified *fault.Error
	switch {
	case ctx.Err() != nil || errors.As(err, &classified):
		return interrupted(ctx, err)
	case duck.IsFull(err):
		return fault.New(fault.Failed, "out_of_memory").Because(err)
	case duck.IsBroken(err):
		return fault.New(fault.Failed, "state_broken", "path", r.dir.Path()).Because(err)
	}
	return err
}

// interrupted makes the end of the context the reason of an error that it
// caused.
func interrupted(ctx context.Context, err error) error {
	var classified *fault.Error
	switch {
	case ctx.Err() == nil:
		return err
	case !errors.As(err, &classified):
	case classified.Code == fault.Interrupted || !errors.Is(err, context.Canceled):
		return err // what was found out before the end stands
	}
	return fault.New(fault.Interrupted, "interrupted").Because(err)
}

// finish closes the run in the list.
func (r *recorded) finish(err error) error {
	r.close(err)
	if r.db != nil {
		if closeErr := r.db.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
			r.close(err)
		}
	}
	// The umask keeps new files private; older ones may have come from elsewhere.
	if tightenErr := r.dir.Tighten(); tightenErr != nil {
		r.env.Log.Warn("files that others may read", "error", tightenErr)
	}
	return r.dir.Finish(r.run)
}

// close fills in how the run ends.
func (r *recorded) close(err error) {
	now, code := r.env.Now().UTC(), int(fault.CodeOf(err))
	r.run.FinishedAt, r.run.ExitCode = &now, &code
	switch fault.Code(code) {
	case fault.Done:
		r.run.Status = state.Done
	case fault.Partial:
		r.run.Status = state.Partial
	case fault.Interrupted:
		r.run.Status = state.Interrupted
	default:
		r.run.Status = state.Failed
		if finishedWork(err) {
			r.run.Status = state.Done
		}
	}
	if err != nil {
		r.run.Error = faultName(err)
	}
	r.summary.Status, r.summary.ExitCode, r.summary.FinishedAt = string(r.run.Status), code, now
}

// finishedWork tells the one error that is only a verdict on what was found:
// --strict, after all the work is done.
func finishedWork(err error) bool {
	var classified *fault.Error
	return errors.As(err, &classified) && classified.ID == strictID
}

const strictID = "strict_withheld"

// faultName is how an error is kept in the list of runs: classified ones by
// their name and path, others in their technical form, which has no text of a
// session either.
func faultName(err error) string {
	var classified *fault.Error
	if errors.As(err, &classified) {
		if classified.Path != "" {
			return classified.ID + " " + classified.Path
		}
		return classified.ID
	}
	return err.Error()
}

func (r *recorded) warn(id string, args ...any) {
	m := report.Message{ID: id, Args: map[string]any{}}
	for i := 0; i+1 < len(args); i += 2 {
		m.Args[args[i].(string)] = args[i+1]
	}
	r.summary.Warnings = append(r.summary.Warnings, m)
}

// phase runs one stage of a job, shows its progress, and takes its time.
func (r *recorded) phase(name string, total int64, fn func(*report.Stage) error) error {
	stage := r.progress.Start(name, total)
	wall, cpu := time.Now(), processCPU()
	err := fn(stage)
	stage.Done()
	p := report.Phase{Name: name, Wall: time.Since(wall), CPU: processCPU() - cpu}
	r.summary.Phases = append(r.summary.Phases, p)
	r.env.Log.Debug("stage", "name", name, "wall", p.Wall, "cpu", p.CPU, "ok", err == nil)
	return err
}

// processCPU is user and system time of the process so far.
func processCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// openWarehouse opens the warehouse with the rules of the configuration; the
// run closes it.
func (r *recorded) openWarehouse(ctx context.Context) error {
	db, err := warehouse.Open(ctx, r.env.duckOptions(r.dir.Warehouse()))
	if err != nil {
		return err
	}
	r.db = db
	changed, err := db.SetRules(ctx, r.env.rules())
	if err != nil {
		return err
	}
	if changed {
		r.env.Log.Info("the rules are new or changed: everything is derived again")
	}
	return nil
}

func (e *Env) duckOptions(path string) duck.Options {
	s := e.Settings
	o := duck.Options{Path: path, MemoryLimit: s.DuckDBMemoryLimit, Threads: s.DuckDBThreads, TempDir: s.DuckDBTempDir}
	return o
}

func (e *Env) rules() warehouse.Rules {
	s := e.Settings
	return warehouse.Rules{
		WithdrawalType: s.WithdrawalType, ReopeningType: s.ReopeningType, ReopenInclusive: s.ReopenScope == "inclusive",
		CandidateCap: s.CandidatesCap, Phases: s.Phases, SolvedStatuses: s.SolvedStatuses, ExcerptFull: s.QuarantineExcerpt == "full",
		ArtifactsRoot: s.ArtifactsDir, Sessions: s.ArtifactsSessions, Manifest: s.ArtifactsManifest,
		Ledger: s.ArtifactsLedger, SQL: s.ArtifactsSQL, Registry: s.ArtifactsRegistry,
	}
}

func (e *Env) newProgress() *report.Progress {
	return report.NewProgress(report.ProgressOptions{
		Out: e.Stderr, Terminal: e.Terminal, Quiet: e.Quiet, Log: slog.New(e.Log.Handler()), Now: e.Now, Words: e.Words,
	})
}

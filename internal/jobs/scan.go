package jobs

import (
	"context"
	"errors"
	"os"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/extract"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// vanishedPercent is how much of what was known may be gone before a run
// refuses: a share that is not mounted looks like an empty one.
const vanishedPercent = 20

// scanOptions say what a scan looks at.
type scanOptions struct {
	Session    string // one session only
	AcceptGone bool
	Rescan     bool
}

func (e *Env) layout() extract.Layout {
	s := e.Settings
	return extract.Layout{
		Root: s.ArtifactsDir, Sessions: s.ArtifactsSessions, Manifest: s.ArtifactsManifest, Ledger: s.ArtifactsLedger,
		SQL: s.ArtifactsSQL, Registry: s.ArtifactsRegistry, FollowOutside: s.FollowOutside,
	}
}

// checkFirst refuses a first run on a directory, or for a session, that is not
// there before the state directory is made.
func (e *Env) checkFirst(ctx context.Context, session string) error {
	if _, err := os.Stat(e.Settings.StateDir); err == nil {
		return nil // an earlier run may have found sessions: the scan decides
	}
	entries, _, err := extract.List(ctx, e.layout())
	if err != nil {
		return e.listFault(err, state.Known{})
	}
	if session != "" && len(only(entries, session)) == 0 {
		return e.notFound(session)
	}
	if err := e.registryReadable(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// registryReadable looks whether the registry can be read, and reads nothing of
// it. A missing one is os.ErrNotExist.
func (e *Env) registryReadable() error {
	path := e.layout().RegistryPath()
	info, err := os.Stat(path) // opening a pipe would wait for its other end
	switch {
	case errors.Is(err, os.ErrNotExist):
		return err
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case err == nil:
		var file *os.File
		if file, err = os.Open(path); err == nil {
			return file.Close()
		}
	}
	return fault.New(fault.Usage, "registry_unreadable", "path", path).Because(err)
}

func (e *Env) notFound(session string) error {
	return fault.New(fault.Input, "session_not_found", "session", session, "path", e.layout().SessionsPath())
}

// listFault classifies why the sessions cannot be listed: wrong configuration
// where nothing was known, vanished input where something was.
func (e *Env) listFault(err error, known state.Known) error {
	path := e.layout().SessionsPath()
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case len(known.Sessions) > 0:
		return fault.New(fault.Guard, "sessions_vanished", "path", path, "found", 0, "known", len(known.Sessions)).Because(err)
	case errors.Is(err, extract.ErrNoSessions) || errors.Is(err, unix.ENOTDIR):
		if info, statErr := os.Stat(e.Settings.ArtifactsDir); errors.Is(statErr, os.ErrNotExist) || statErr == nil && !info.IsDir() {
			return fault.New(fault.Usage, "artifacts_missing", "path", e.Settings.ArtifactsDir).Because(err)
		}
		return fault.New(fault.Usage, "sessions_missing", "path", path).Because(err)
	}
	return fault.New(fault.Usage, "artifacts_unreadable", "path", path).Because(err)
}

// scan brings the warehouse up to what is on disk. Nothing is changed before
// both guards have passed.
func (r *recorded) scan(ctx context.Context, o scanOptions) error {
	known, scanned, err := r.dir.LoadKnown()
	if err != nil {
		return err
	}
	// What nobody found before cannot be gone.
	o.AcceptGone = o.AcceptGone && scanned
	var sessions []extract.Session
	var moved map[int64]bool
	var skipped []extract.Skipped
	listed := 0
	err = r.phase("list", 0, func(*report.Stage) error {
		entries, names, err := r.list(ctx, known, o)
		if err != nil {
			return err
		}
		skipped, listed = names, len(entries)
		sessions, moved, err = r.match(ctx, entries, o)
		return err
	})
	if err != nil {
		return err
	}
	records := 0
	if err := r.phase("registry", 0, func(*report.Stage) (err error) {
		records, err = r.scanRegistry(ctx, known, o)
		return err
	}); err != nil {
		return err
	}
	if err := r.phase("read", int64(len(sessions)), func(stage *report.Stage) error {
		return r.readSessions(ctx, sessions, o, stage)
	}); err != nil {
		return err
	}
	r.summary.Sessions.Listed = listed
	if o.Session != "" {
		return nil // what one session shows says nothing of the others
	}
	if err := r.db.Moved(ctx, moved); err != nil {
		return err
	}
	if err := r.db.SetSkipped(ctx, convertSkipped(skipped)); err != nil {
		return err
	}
	for _, s := range skipped {
		r.warn("session_skipped", "name", s.Name, "reason", s.Reason)
	}
	ids := make([]string, len(sessions))
	for i, s := range sessions {
		ids[i] = s.ID
	}
	_, err = r.dir.SaveKnown(state.Known{Root: r.env.Settings.ArtifactsDir, Sessions: ids, RegistryRecords: records, RecordedAt: r.run.StartedAt})
	return err
}

// list finds the session directories and refuses when too many are gone.
func (r *recorded) list(ctx context.Context, known state.Known, o scanOptions) ([]extract.Entry, []extract.Skipped, error) {
	entries, skipped, err := extract.List(ctx, r.env.layout())
	if err != nil && (!o.AcceptGone || ctx.Err() != nil) {
		return nil, nil, r.env.listFault(err, known)
	}
	if len(entries) == 0 {
		r.warn("sessions_empty", "path", r.env.layout().SessionsPath())
	}
	if o.AcceptGone {
		return entries, skipped, nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	v := state.Vanished(known, ids)
	if v.Exceeds(vanishedPercent) || (len(entries) == 0 && v.Known > 0) {
		return nil, nil, fault.New(fault.Guard, "sessions_vanished", "path", r.env.layout().SessionsPath(),
			"found", v.Known-len(v.Gone), "known", v.Known)
	}
	return entries, skipped, nil
}

// match pairs what was found with what is known, both in the order of their
// names. Sessions that are known and were not found are marked as gone.
func (r *recorded) match(ctx context.Context, entries []extract.Entry, o scanOptions) ([]extract.Session, map[int64]bool, error) {
	if o.Session != "" {
		entries = only(entries, o.Session)
		if len(entries) == 0 {
			return nil, nil, r.env.notFound(o.Session)
		}
	}
	sessions := make([]extract.Session, len(entries))
	for i, e := range entries {
		sessions[i] = extract.Session{ID: e.ID, Link: e.Link}
	}
	moved, next, at := map[int64]bool{}, int64(1), 0
	err := r.db.Known(ctx, func(k warehouse.Session) {
		next = max(next, k.Key+1)
		for at < len(sessions) && sessions[at].ID < k.ID {
			at++
		}
		found := at < len(sessions) && sessions[at].ID == k.ID
		if found {
			s := &sessions[at]
			s.Key, s.Known = k.Key, true
			for f, stamp := range k.Files {
				s.Files[f] = extract.Stamp(stamp)
			}
		}
		if found == k.Gone {
			moved[k.Key] = !found
		}
	})
	for i := range sessions {
		if sessions[i].Key == 0 {
			sessions[i].Key = next
			next++
		}
	}
	return sessions, moved, err
}

func only(entries []extract.Entry, id string) []extract.Entry {
	for _, e := range entries {
		if e.ID == id {
			return []extract.Entry{e}
		}
	}
	return nil
}

func (r *recorded) readOptions(o scanOptions) extract.Options {
	return extract.Options{
		ScanID: r.run.StartedAt.UnixMicro(), Workers: runtime.GOMAXPROCS(0), Rescan: o.Rescan,
		FullExcerpt: r.env.Settings.QuarantineExcerpt == "full", Now: r.env.Now,
	}
}

func (r *recorded) readSessions(ctx context.Context, sessions []extract.Session, o scanOptions, stage *report.Stage) error {
	if len(sessions) == 0 {
		return nil // there may be no directory to read from
	}
	fresh := map[int64]string{}
	for _, s := range sessions {
		if !s.Known {
			fresh[s.Key] = s.ID
		}
	}
	stats, err := extract.Read(ctx, r.env.layout(), sessions, r.readOptions(o), func(b *extract.Batch) error {
		batch := warehouse.Batch{
			Replaced: [3][]int64{b.Replaced.Manifest, b.Replaced.Ledger, b.Replaced.SQL},
			Stamps:   b.Stamps, Manifests: b.Manifests, Ledgers: b.Ledgers, Lines: b.Lines, SQL: b.SQL, Faults: b.Faults,
		}
		for _, key := range b.Replaced.Manifest {
			if id, ok := fresh[key]; ok {
				batch.New = append(batch.New, warehouse.Session{Key: key, ID: id})
			}
		}
		stage.Add(int64(len(b.Replaced.Manifest)))
		return r.db.Store(ctx, batch)
	})
	r.run.SessionsRead, r.run.SessionsChanged = stats.SessionsRead, stats.SessionsChanged
	r.summary.Sessions.Read, r.summary.Sessions.Changed, r.summary.BytesRead = stats.SessionsRead, stats.SessionsChanged, stats.Bytes
	return err
}

// scanRegistry reads the registry when it changed, and refuses when records
// were known and none is left. It returns how many records there are.
func (r *recorded) scanRegistry(ctx context.Context, known state.Known, o scanOptions) (int, error) {
	path := r.env.layout().RegistryPath()
	vanished := func(cause error) error {
		return fault.New(fault.Guard, "registry_vanished", "path", path, "known", known.RegistryRecords).Because(cause)
	}
	before, err := r.db.RegistryStamp(ctx)
	if err != nil {
		return 0, err
	}
	staged, err := r.db.NewRegistry(ctx)
	if err != nil {
		return 0, err
	}
	var stamp *extract.Stamp
	if before != nil {
		s := extract.Stamp(*before)
		stamp = &s
	}
	var notStaged error // our own trouble, which says nothing of the registry
	read, err := extract.ReadRegistry(ctx, path, stamp, r.readOptions(o), func(lines, faults arrow.RecordBatch) error {
		notStaged = staged.Add(ctx, lines, faults)
		return notStaged
	})
	switch {
	case notStaged != nil || errors.Is(err, context.Canceled):
		return 0, err
	case err != nil && known.RegistryRecords > 0 && !o.AcceptGone:
		return 0, vanished(err)
	case errors.Is(err, extract.ErrNoRegistry) || err != nil && known.RegistryRecords > 0:
		r.warn("registry_missing", "path", path)
		if before != nil && before.Size < 0 {
			return 0, nil
		}
		return 0, staged.Commit(ctx, warehouse.Stamp{Size: -1})
	case err != nil:
		return 0, fault.New(fault.Usage, "registry_unreadable", "path", path).Because(err)
	case read.Unchanged:
		counts, err := r.db.RegistryCounts(ctx)
		if err != nil {
			return 0, err
		}
		if warehouse.Stamp(read.Stamp) == *before {
			return counts.Lines, nil
		}
		return counts.Lines, r.db.RestampRegistry(ctx, warehouse.Stamp(read.Stamp))
	case read.Records == 0 && known.RegistryRecords > 0 && !o.AcceptGone:
		return 0, vanished(nil)
	}
	return read.Records, staged.Commit(ctx, warehouse.Stamp(read.Stamp))
}

func convertSkipped(in []extract.Skipped) []warehouse.Skipped {
	out := make([]warehouse.Skipped, len(in))
	for i, s := range in {
		out[i] = warehouse.Skipped(s)
	}
	return out
}

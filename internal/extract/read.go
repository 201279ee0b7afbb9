package extract

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// sessionsAtOnce is how many sessions a worker takes from the list at a time.
const sessionsAtOnce = 256

// Read looks at the known files of each session and emits what may have changed
// since their stamps were taken, in batches.
//
// A file is opened only when its size, mtime, ctime or inode differ from the
// stamp, when it was read within two seconds of its mtime, or when it could not
// be read last time. If its bytes then turn out to be the same, only its stamp is
// emitted; otherwise its stamp, its rows and its faults, and its session's key in
// Replaced. A missing manifest is a row with a fault, a missing ledger an empty
// one, a missing SQL no row.
//
// emit is called in the caller's goroutine, one batch at a time, in no order of
// sessions; its error ends the reading and is returned. Memory is bounded by the
// batches that the workers build and by the largest file. A file that cannot be
// read is a row that says so, never an error. The errors of Read are emit's, the
// context's, and ErrNoSessions or the system's when the sessions directory itself
// cannot be opened. After an error the counts are of what was done.
func Read(ctx context.Context, l Layout, sessions []Session, o Options, emit func(*Batch) error) (Stats, error) {
	o = o.withDefaults()
	for i := range sessions {
		if err := checkID(sessions[i].ID); err != nil {
			return Stats{}, err
		}
	}
	dir, err := openSessions(l)
	if err != nil {
		return Stats{}, err
	}
	defer dir.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, workCtx := errgroup.WithContext(ctx)
	batches := make(chan *Batch)
	workers := make([]*worker, o.Workers)
	var taken atomic.Int64
	for i := range workers {
		w := newWorker(l, o, int(dir.Fd()), batches)
		workers[i] = w
		group.Go(func() error { return w.run(workCtx, sessions, &taken) })
	}
	finished := make(chan error, 1)
	go func() {
		finished <- group.Wait()
		close(batches)
	}()
	var stopped error
	for b := range batches {
		if stopped == nil {
			stopped = ctx.Err()
		}
		if stopped == nil {
			stopped = emit(b)
		}
		if stopped != nil {
			cancel()
		}
		b.release()
	}
	err = <-finished
	var stats Stats
	for _, w := range workers {
		stats.add(w.stats)
	}
	if stopped != nil {
		return stats, stopped
	}
	if err != nil {
		return stats, fmt.Errorf("read sessions %s: %w", l.SessionsPath(), err)
	}
	return stats, nil
}

// checkID refuses what is no name of a directory entry: an id is joined to a
// path.
func checkID(id string) error {
	if id == "" || id == "." || id == ".." || strings.ContainsAny(id, "/\x00") {
		return fmt.Errorf("read sessions: %q is no name of a session", id)
	}
	return nil
}

func openSessions(l Layout) (*os.File, error) {
	path := l.SessionsPath()
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read sessions: %w: %w", ErrNoSessions, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	return dir, nil
}

// worker reads sessions with buffers and builders of its own.
type worker struct {
	options  Options
	dir      int
	suffixes [files]string // "/manifest.yaml", …
	batches  chan<- *Batch

	files   fileReader
	ledgers ledgerReader
	tables  *tables
	stats   Stats
}

func newWorker(l Layout, o Options, dir int, batches chan<- *Batch) *worker {
	return &worker{
		options: o, dir: dir, batches: batches, tables: newTables(o),
		suffixes: [files]string{"/" + l.Manifest, "/" + l.Ledger, "/" + l.SQL},
	}
}

func (w *worker) run(ctx context.Context, sessions []Session, taken *atomic.Int64) error {
	defer w.tables.release()
	for {
		start := int(taken.Add(sessionsAtOnce)) - sessionsAtOnce
		if start >= len(sessions) {
			return w.flush(ctx)
		}
		part := sessions[start:min(start+sessionsAtOnce, len(sessions))]
		for i := range part {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := w.session(ctx, &part[i]); err != nil {
				return err
			}
			if w.tables.sessions >= w.options.BatchSessions || w.tables.size >= w.options.BatchBytes {
				if err := w.flush(ctx); err != nil {
					return err
				}
			}
		}
	}
}

func (w *worker) flush(ctx context.Context) error {
	b := w.tables.take()
	if b == nil {
		return nil
	}
	select {
	case w.batches <- b:
		return nil
	case <-ctx.Done():
		b.release()
		return ctx.Err()
	}
}

// visit is what became of the files of one session.
type visit struct{ read, emitted, changed bool }

func (w *worker) session(ctx context.Context, s *Session) error {
	var v visit
	for file := range files {
		if err := w.file(ctx, s, file, &v); err != nil {
			return err
		}
	}
	w.stats.Looked++
	if v.read {
		w.stats.SessionsRead++
	}
	if v.changed {
		w.stats.SessionsChanged++
	}
	if v.emitted {
		w.tables.sessions++
	}
	return nil
}

func (w *worker) file(ctx context.Context, s *Session, file int, v *visit) error {
	path, known := s.ID+w.suffixes[file], &s.Files[file]
	var now Stamp
	trouble := w.files.look(w.dir, path, &now)
	if s.Known && !w.options.Rescan && (now.Missing() && known.Missing() || known.settled(&now)) {
		return nil
	}
	content, trouble, err := w.load(ctx, path, trouble, &now)
	if err != nil {
		return err
	}
	v.read = v.read || trouble == noTrouble && !now.Missing()

	same := s.Known && now.sameContent(known)
	if same && !w.options.Rescan && now.faulty() && now.sameFile(known) {
		return nil // still the same trouble: nothing to say
	}
	v.emitted = true
	v.changed = v.changed || !same
	w.tables.stamp(s.Key, file, &now)
	if same && !w.options.Rescan {
		return nil
	}
	w.tables.size += int64(len(content))
	defer w.files.forget()
	return w.content(ctx, s, file, content, now.Missing(), trouble)
}

// load reads what was looked at, unless it is missing or in trouble, and
// completes its stamp.
func (w *worker) load(ctx context.Context, path string, t trouble, now *Stamp) (content []byte, _ trouble, err error) {
	if now.Missing() {
		return nil, noTrouble, nil
	}
	now.ReadAtNS = w.options.Now().UnixNano()
	if t == noTrouble {
		if content, t, err = w.files.read(ctx, w.dir, path, false, now); err != nil {
			return nil, noTrouble, err
		}
	}
	if t != noTrouble {
		now.setTrouble(t)
	} else if !now.Missing() {
		now.setDigest(content)
	}
	w.stats.Bytes += int64(len(content))
	return content, t, nil
}

// content emits the rows of a file that changed.
func (w *worker) content(ctx context.Context, s *Session, file int, content []byte, missing bool, t trouble) error {
	reason := ""
	if t != noTrouble {
		reason = t.reason()
	}
	switch file {
	case Manifest:
		m := manifest{reason: reason}
		switch {
		case missing:
			m.reason = reasonNoManifest
		case t == noTrouble:
			m = readManifest(content)
			m.check(s.ID)
		}
		w.tables.manifest(s.Key, &m)
	case Ledger:
		var lines int64
		if !missing && t == noTrouble {
			var err error
			lines, err = w.ledgers.read(ctx, content, ledgerRows{w.tables, s.Key})
			if err != nil {
				return err
			}
			w.ledgers.record.forget()
			w.stats.Lines += lines
		}
		w.tables.ledger(s.Key, reason, lines)
	case SQL:
		w.tables.replaced.SQL = append(w.tables.replaced.SQL, s.Key)
		if missing {
			return nil
		}
		var text []byte
		if t == noTrouble {
			text, reason = sqlText(content)
		}
		w.tables.statement(s.Key, text, reason)
	}
	return nil
}

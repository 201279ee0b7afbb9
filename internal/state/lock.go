package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Holder is the note that the holder of the lock leaves for the others.
type Holder struct {
	RunID     string    `json:"run_id"`
	Job       string    `json:"job"`
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	StartedAt time.Time `json:"started_at"`
}

// Lock is a held lock. The kernel lets go of it when the process ends, however
// it ends.
type Lock struct{ file *os.File }

// lockPoll is how often a waiting job tries again: a job runs for minutes.
// lockGrace is waited for in any case, because LockedBy, called by a reader,
// has the lock for an instant and must not make a job fail.
const (
	lockPoll  = 100 * time.Millisecond
	lockGrace = 2 * lockPoll
)

// Lock takes the directory for a job that changes something. When another
// process (or another job of this one) holds it, it tries again for as long as
// wait, then returns the fault locked, or locked_unnamed when the holder left
// no note; a done ctx ends the waiting with the fault interrupted. Close the
// lock with Unlock.
func (d *Dir) Lock(ctx context.Context, h Holder, wait time.Duration) (*Lock, error) {
	timeout := time.NewTimer(max(wait, lockGrace))
	defer timeout.Stop()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		lock, err := d.tryLock(h)
		if err != nil || lock != nil {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fault.New(fault.Interrupted, "interrupted").Because(context.Cause(ctx))
		case <-timeout.C:
			return nil, d.held()
		case <-poll.C:
		}
	}
}

// tryLock returns nil without an error when somebody else holds the lock.
func (d *Dir) tryLock(h Holder) (*Lock, error) {
	path := d.LockFile()
	file, err := openPrivate(path, os.O_RDWR)
	if err != nil {
		return nil, notWritten(path, err)
	}
	lock := &Lock{file: file}
	switch err := flock(file); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, file.Close()
	case err != nil:
		return nil, errors.Join(unusable(d.path, cannotLock, err), file.Close())
	}
	// Who deletes the file lets the next one lock another: only the lock on
	// the file that is there counts.
	if !sameFile(file, path) {
		return nil, file.Close()
	}
	if err := lock.note(h); err != nil {
		return nil, errors.Join(notWritten(path, err), lock.Unlock())
	}
	return lock, nil
}

func flock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func sameFile(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}

func (l *Lock) note(h Holder) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(text, '\n'), 0)
	return err
}

// Unlock clears the note and lets go. A second call does nothing.
func (l *Lock) Unlock() error {
	if l == nil || l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	if err := errors.Join(file.Truncate(0), file.Close()); err != nil {
		return fmt.Errorf("unlock %s: %w", file.Name(), err)
	}
	return nil
}

// LockedBy is the note of whoever holds the lock now, nil when nobody does. A
// holder that left no note is a zero Holder. It is for doctor and messages: the
// answer may be old by the time it is read.
func (d *Dir) LockedBy() (*Holder, error) {
	file, err := os.Open(d.LockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "state_unreadable", "path", d.LockFile()).Because(err)
	}
	defer file.Close()
	// A shared lock that is granted says that nobody holds the exclusive one;
	// it is gone when the file is closed.
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	switch {
	case err == nil:
		return nil, nil
	case !errors.Is(err, unix.EWOULDBLOCK):
		return nil, unusable(d.path, cannotLock, err)
	}
	text, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err != nil {
		return nil, fault.New(fault.Failed, "state_unreadable", "path", d.LockFile()).Because(err)
	}
	var h Holder
	if json.Unmarshal(bytes.TrimSpace(text), &h) != nil {
		h = Holder{}
	}
	return &h, nil
}

// held is the fault for a lock that was not had.
func (d *Dir) held() error {
	text, err := os.ReadFile(d.LockFile())
	var h Holder
	if err != nil || json.Unmarshal(text, &h) != nil || h.PID == 0 {
		return fault.New(fault.Locked, "locked_unnamed", "path", d.path)
	}
	return fault.New(fault.Locked, "locked", "path", d.path, "job", h.Job, "pid", h.PID,
		"host", h.Host, "since", h.StartedAt, "run_id", h.RunID)
}

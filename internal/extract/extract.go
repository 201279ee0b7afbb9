// Package extract reads what the assistant left on disk: the manifest, the
// ledger and the SQL of every session, and the registry. Its readers are
// tolerant: a bad line, a bad file or a bad directory becomes a row that says
// so, and never ends a run. What is read leaves as Arrow record batches in the
// schemas of this package, which the warehouse's tables repeat column for
// column.
//
// The tree belongs to another program, which writes while we read: nothing is
// locked and nothing is written. A file is read again only when its stamp says
// that it may have changed; what changed in between is settled by the next
// scan.
//
// No error of this package and no reason it records carries a text of a
// session, only names, paths, counts and rules. Excerpts are masked unless
// Options.FullExcerpt is set.
package extract

import (
	"errors"
	"path/filepath"
	"time"
)

// ErrNoSessions says that the artifacts directory, or the directory of the
// sessions in it, does not exist. Whether that is a first run on a wrong path or
// a share that is not mounted, only the caller can know.
var ErrNoSessions = errors.New("no sessions directory")

// ErrNoRegistry says that there is no registry file.
var ErrNoRegistry = errors.New("no registry")

// Layout names what is on disk. Root is a directory, the other names are
// relative to it (Sessions, Registry) or to a session's directory (Manifest,
// Ledger, SQL).
type Layout struct {
	Root, Sessions, Manifest, Ledger, SQL, Registry string

	// FollowOutside follows symbolic links to session directories that leave
	// Root.
	FollowOutside bool
}

// DefaultLayout is the assistant's own layout under root.
func DefaultLayout(root string) Layout {
	return Layout{
		Root: root, Sessions: "sessions", Manifest: "manifest.yaml",
		Ledger: "review_decisions.jsonl", SQL: "sql_final.sql", Registry: "memory/registry.jsonl",
	}
}

// SessionsPath is the directory whose directories are the sessions.
func (l Layout) SessionsPath() string { return filepath.Join(l.Root, l.Sessions) }

// RegistryPath is the registry file.
func (l Layout) RegistryPath() string { return filepath.Join(l.Root, l.Registry) }

// The files of a session, as indexes of Session.Files and of FileNames.
const (
	Manifest = iota
	Ledger
	SQL
	files
)

// FileNames are the values of the column "file" of stamps and faults, in the
// order of Session.Files. Faults of the registry have RegistryFile there.
func FileNames() [files]string { return [files]string{"manifest", "ledger", "sql"} }

// RegistryFile is what FileNames has no place for.
const RegistryFile = "registry"

// Session is a directory to look at, and what the last scan saw of it.
type Session struct {
	Key   int64
	ID    string // name of the entry in the sessions directory
	Link  bool   // the entry is a symbolic link
	Known bool   // Files holds the stamps of an earlier scan
	Files [files]Stamp
}

// Options of one scan. The zero value is usable.
type Options struct {
	ScanID      int64
	Workers     int  // concurrent readers; 0 means 2
	Rescan      bool // read everything and emit all of it, whatever the stamps say
	FullExcerpt bool // excerpts as they are, not masked

	// Now is asked, from several goroutines, just before a file is opened; nil
	// is time.Now.
	Now func() time.Time

	BatchSessions int   // sessions with something to emit in one batch; 0 means 16384
	BatchBytes    int64 // bytes of file content in one batch; 0 means 64 MiB
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 2
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BatchSessions <= 0 {
		o.BatchSessions = 16384
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = 64 << 20
	}
	return o
}

// Stats counts one scan.
type Stats struct {
	Looked          int   // sessions looked at
	SessionsRead    int   // of which a file was opened and read
	SessionsChanged int   // of which a file appeared, vanished or holds other bytes
	Bytes           int64 // read from files
	Lines           int64 // physical lines of ledgers that were parsed
}

func (s *Stats) add(o Stats) {
	s.Looked += o.Looked
	s.SessionsRead += o.SessionsRead
	s.SessionsChanged += o.SessionsChanged
	s.Bytes += o.Bytes
	s.Lines += o.Lines
}

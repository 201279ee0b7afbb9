// Package state owns the state directory: its layout and version, the lock
// that lets one job at a time change things, and the small files that cannot
// be computed again (runs, known sessions, refusals, retractions). The DuckDB
// files beside them only have their names here.
//
// Directories are 0700 and files 0600 whatever the umask. Everything read
// back is treated as foreign bytes: an interrupted append is ignored, any other
// damage is named by file and line.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Version of the layout that this program reads and writes.
const Version = 1

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600

	versionFile     = "VERSION"
	lockFile        = "lock"
	runsFile        = "runs.jsonl"
	knownFile       = "known"
	refusalsFile    = "refusals.jsonl"
	retractionsFile = "retractions.jsonl"
	canariesFile    = "canaries.jsonl"
	indexDir        = "index"
	publishedDir    = "published"
)

// Why a directory cannot be the state directory: the values of the argument
// "reason" of the fault state_unusable.
const (
	notADirectory   = "not_a_directory"
	notWritable     = "not_writable"
	notReadable     = "not_readable"
	cannotCreate    = "cannot_create"
	foreignFiles    = "foreign_files"
	insideArtifacts = "inside_artifacts"
	cannotLock      = "cannot_lock"
)

// Dir is a state directory that was checked. It holds nothing open.
type Dir struct{ path string }

// Open returns the state directory at path for a job that changes something,
// and makes it when nothing is there. A directory that holds files and was not
// made by this program is refused, so that a mistyped path is neither filled
// nor has its mode changed. Faults: state_newer (nothing was touched),
// state_unusable, state_damaged.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, err)
	}
	found, err := readVersion(path)
	switch {
	case err != nil:
		return nil, err
	case found == 0:
		if err := create(path); err != nil {
			return nil, err
		}
	}
	if err := unix.Access(path, unix.W_OK|unix.X_OK|unix.R_OK); err != nil {
		return nil, unusable(path, notWritable, err)
	}
	for _, dir := range []string{path, filepath.Join(path, indexDir)} {
		if err := ensureDir(dir); err != nil {
			return nil, unusable(dir, notWritable, err)
		}
	}
	return &Dir{path: path}, nil
}

// OpenExisting returns the state directory at path for a command that only
// reads. It changes nothing on disk, the mode included. Faults: state_missing,
// state_newer, state_unusable, state_damaged.
func OpenExisting(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, err)
	}
	found, err := readVersion(path)
	if err != nil {
		return nil, err
	}
	if found == 0 {
		return nil, fault.New(fault.Usage, "state_missing", "path", path)
	}
	return &Dir{path: path}, nil
}

// CheckOutside refuses a state directory inside one of trees (directories that
// another program owns and that we only read). Symbolic links are resolved as
// far as the paths exist.
func CheckOutside(path string, trees ...string) error {
	real := resolve(path)
	for _, tree := range trees {
		rel, err := filepath.Rel(resolve(tree), real)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return fault.New(fault.Usage, "state_unusable", "path", path, "reason", insideArtifacts)
		}
	}
	return nil
}

// resolve follows the links of the longest part of path that exists.
func resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return abs
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Path is the absolute path of the directory itself.
func (d *Dir) Path() string { return d.path }

// Warehouse is the DuckDB file of what was parsed and derived; it may be
// deleted at any time.
func (d *Dir) Warehouse() string { return filepath.Join(d.path, "warehouse.duckdb") }

// Index is the DuckDB file of the embedded store.
func (d *Dir) Index() string { return filepath.Join(d.path, indexDir, "local.duckdb") }

// IndexDir is the directory of the two files of the embedded store; Open makes
// it.
func (d *Dir) IndexDir() string { return filepath.Join(d.path, indexDir) }

// SearchCopy is the copy of the index that searches read while a job runs.
func (d *Dir) SearchCopy() string { return filepath.Join(d.path, indexDir, "search.duckdb") }

// Cache is the DuckDB file of cached embeddings.
func (d *Dir) Cache() string { return filepath.Join(d.path, "embed_cache.duckdb") }

// Published is where views are published unless a setting says otherwise.
func (d *Dir) Published() string { return filepath.Join(d.path, publishedDir) }

// LockFile, RunsFile, KnownFile, RefusalsFile, RetractionsFile and CanariesFile
// are the small files, for messages and for whoever makes a backup.
func (d *Dir) LockFile() string { return filepath.Join(d.path, lockFile) }

// RunsFile is the log of runs.
func (d *Dir) RunsFile() string { return filepath.Join(d.path, runsFile) }

// KnownFile is what the last complete scan found.
func (d *Dir) KnownFile() string { return filepath.Join(d.path, knownFile) }

// RefusalsFile is what an embedder or store refused for good.
func (d *Dir) RefusalsFile() string { return filepath.Join(d.path, refusalsFile) }

// RetractionsFile is what reviewers took out of use.
func (d *Dir) RetractionsFile() string { return filepath.Join(d.path, retractionsFile) }

// CanariesFile is what the fixed texts gave in each vector space.
func (d *Dir) CanariesFile() string { return filepath.Join(d.path, canariesFile) }

// Tighten gives every file of the directory mode 0600 and every directory
// 0700, but for the published reports, which have a mode of their own. DuckDB
// makes its files under the umask: a job calls this when it ends.
func (d *Dir) Tighten() error {
	return filepath.WalkDir(d.path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a temporary file that went meanwhile
		case err != nil:
			return fmt.Errorf("tighten %s: %w", path, err)
		case path == d.Published():
			return fs.SkipDir
		}
		want := fileMode
		switch {
		case entry.IsDir():
			want = dirMode
		case !entry.Type().IsRegular():
			return nil
		}
		if err := chmod(path, want); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("tighten %s: %w", path, err)
		}
		return nil
	})
}

// readVersion is the version of the directory at path: 0 when nothing is
// there or it was not made by this program, a fault when it cannot be used.
func readVersion(path string) (int, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case errors.Is(err, unix.ENOTDIR):
		return 0, unusable(path, notADirectory, nil)
	case err != nil:
		return 0, unusable(path, notReadable, err)
	case !info.IsDir():
		return 0, unusable(path, notADirectory, nil)
	}
	file := filepath.Join(path, versionFile)
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, unusable(path, notReadable, err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || version < 1:
		return 0, damaged(file, 1, "no_version")
	case version > Version:
		return 0, fault.New(fault.Usage, "state_newer", "path", path, "found", version, "known", Version)
	}
	return version, nil
}

// create makes the directory, or takes an empty one over.
func create(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unusable(path, notReadable, err)
	}
	for _, entry := range entries {
		// Hidden files and lost+found are what an empty volume may hold.
		if !strings.HasPrefix(entry.Name(), ".") && entry.Name() != "lost+found" && entry.Name() != versionFile {
			return unusable(path, foreignFiles, nil)
		}
	}
	if err := os.MkdirAll(path, dirMode); err != nil {
		return unusable(path, cannotCreate, err)
	}
	if err := ensureDir(path); err != nil {
		return unusable(path, cannotCreate, err)
	}
	if err := writeFile(filepath.Join(path, versionFile), []byte(strconv.Itoa(Version)+"\n")); err != nil {
		return unusable(path, notWritable, err)
	}
	return nil
}

func ensureDir(path string) error {
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return chmod(path, dirMode)
}

// chmod changes a mode only where it differs: a directory that belongs to
// another user and is right already must not fail.
func chmod(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if info, err = os.Stat(path); err != nil {
			return err
		}
	}
	if info.Mode().Perm() == mode {
		return nil
	}
	return os.Chmod(path, mode)
}

func unusable(path, reason string, cause error) error {
	f := fault.New(fault.Usage, "state_unusable", "path", path, "reason", reason)
	if cause != nil {
		return f.Because(cause)
	}
	return f
}

func damaged(path string, line int, reason string) *fault.Error {
	return fault.New(fault.Failed, "state_damaged", "path", path, "line", line, "reason", reason)
}

func notWritten(path string, cause error) error {
	return fault.New(fault.Failed, "state_write_failed", "path", path).Because(cause)
}

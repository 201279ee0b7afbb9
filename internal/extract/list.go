package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Entry is a session directory.
type Entry struct {
	ID   string // the name under the sessions directory
	Link bool   // it is a symbolic link to a directory
}

// Skipped is an entry that looks like a session and is not taken for one.
type Skipped struct {
	Name   string // made valid UTF-8
	Reason string // one of the Skipped constants
}

// Why an entry was skipped. Names that begin with a dot or an underscore, and
// whatever is no directory, are no sessions and are not reported.
const (
	SkippedOutside  = "the link leaves the artifacts directory"
	SkippedTwice    = "the link leads to a session that is already listed"
	SkippedDangling = "the link leads nowhere"
	SkippedLink     = "the link cannot be followed"
	SkippedName     = "the name is not UTF-8"
)

const namesAtOnce = 4096 // directory entries read between two looks at the context

// List names the sessions, sorted by id. A symbolic link to a directory counts
// as that directory, once: a real directory comes before any link to it, and of
// several links the lowest name. It fails with ErrNoSessions when there is no
// artifacts or no sessions directory, and with the system's error when they
// cannot be read or are not directories.
func List(ctx context.Context, l Layout) (entries []Entry, skipped []Skipped, err error) {
	path := l.SessionsPath()
	names, err := readNames(ctx, path)
	if err != nil {
		return nil, nil, fmt.Errorf("list sessions %s: %w", path, err)
	}
	var links []string
	for _, e := range names {
		name := e.Name()
		switch {
		case name[0] == '.' || name[0] == '_':
		case e.Type() != fs.ModeSymlink && !e.IsDir():
		case !utf8.ValidString(name):
			skipped = append(skipped, Skipped{strings.ToValidUTF8(name, "\uFFFD"), SkippedName})
		case e.IsDir():
			entries = append(entries, Entry{ID: name})
		default:
			links = append(links, name)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	if len(links) > 0 {
		followed, refused, err := followLinks(ctx, l, entries, links)
		if err != nil {
			return nil, nil, fmt.Errorf("list sessions %s: %w", path, err)
		}
		entries, skipped = append(entries, followed...), append(skipped, refused...)
		slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	}
	slices.SortFunc(skipped, func(a, b Skipped) int { return strings.Compare(a.Name, b.Name) })
	return entries, skipped, nil
}

func readNames(ctx context.Context, path string) ([]fs.DirEntry, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNoSessions, err)
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var all []fs.DirEntry
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some, err := dir.ReadDir(namesAtOnce)
		all = append(all, some...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// followLinks resolves links against the real directories. A link to one of
// them is known by its resolved path, so that a link costs no look at each of
// them; links to the same place are known by device and inode.
func followLinks(ctx context.Context, l Layout, real []Entry, links []string) ([]Entry, []Skipped, error) {
	root, err := filepath.EvalSymlinks(l.Root)
	if err != nil {
		return nil, nil, err
	}
	sessions, err := filepath.EvalSymlinks(l.SessionsPath())
	if err != nil {
		return nil, nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, nil, err
	}
	if sessions, err = filepath.Abs(sessions); err != nil {
		return nil, nil, err
	}
	f := follower{layout: l, root: root, sessions: sessions, real: real, seen: make(map[place]bool)}
	slices.Sort(links)
	for _, name := range links {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if reason, isDir := f.follow(name); reason != "" {
			f.skipped = append(f.skipped, Skipped{name, reason})
		} else if isDir {
			f.entries = append(f.entries, Entry{ID: name, Link: true})
		}
	}
	return f.entries, f.skipped, nil
}

type place struct{ dev, ino uint64 }

type follower struct {
	layout         Layout
	root, sessions string // resolved and absolute
	real           []Entry
	seen           map[place]bool
	entries        []Entry
	skipped        []Skipped
}

// follow says why a link is not followed, or whether it leads to a directory.
func (f *follower) follow(name string) (reason string, isDir bool) {
	target, err := filepath.EvalSymlinks(filepath.Join(f.sessions, name))
	if errors.Is(err, fs.ErrNotExist) {
		return SkippedDangling, false
	}
	if err != nil {
		return SkippedLink, false
	}
	var st unix.Stat_t
	if err := unix.Stat(target, &st); err != nil {
		return SkippedLink, false
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return "", false
	}
	if !within(target, f.root) && !within(target, f.sessions) && !f.layout.FollowOutside {
		return SkippedOutside, false
	}
	at := place{uint64(st.Dev), uint64(st.Ino)}
	if f.seen[at] || f.isListed(target) {
		return SkippedTwice, false
	}
	f.seen[at] = true
	return "", true
}

func (f *follower) isListed(target string) bool {
	if filepath.Dir(target) != f.sessions {
		return false
	}
	_, found := slices.BinarySearchFunc(f.real, filepath.Base(target),
		func(e Entry, name string) int { return strings.Compare(e.ID, name) })
	return found
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

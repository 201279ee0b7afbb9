package extract

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

func (r tree) link(target, id string) { must(r.t, os.Symlink(target, r.path(id))) }

func TestList(t *testing.T) {
	r := newTree(t)
	outside := t.TempDir()
	for _, id := range []string{"b", "a", "007", "perché", ".hidden", "_archive", "with space"} {
		r.dir(id)
	}
	must(t, os.WriteFile(r.path("notes.txt"), nil, 0o644))
	must(t, unix.Mkfifo(r.path("fifo"), 0o644))
	must(t, os.MkdirAll(filepath.Join(r.Root, "elsewhere", "deep"), 0o755))
	must(t, os.Mkdir(r.path("bad\xff"), 0o755))
	r.link("a", "z-to-a")                                          // a session that is listed
	r.link(r.path("b"), "0-to-b")                                  // the same, absolute, and before it by name
	r.link("../elsewhere", "link1")                                // inside
	r.link("link1", "link2")                                       // the same place again
	r.link(filepath.Join(r.Root, "elsewhere", "deep"), "deep")     // inside, absolute
	r.link("_archive", "from-archive")                             // what is skipped by name may be linked to
	r.link(outside, "outside")                                     //
	r.link("../../"+filepath.Base(filepath.Dir(outside)), "round") // leads nowhere, or out
	r.link("nowhere", "dangling")
	r.link("loop", "loop")
	r.link("notes.txt", "to-a-file")
	r.link("a", ".hidden-link")

	entries, skipped, err := List(context.Background(), r.Layout)
	must(t, err)
	want := []Entry{{"007", false}, {"a", false}, {"b", false}, {"deep", true}, {"from-archive", true}, {"link1", true}, {"perché", false}, {"with space", false}}
	if !reflect.DeepEqual(entries, want) {
		t.Errorf("entries %v, want %v", entries, want)
	}
	reasons := make(map[string]string)
	for _, s := range skipped {
		reasons[s.Name] = s.Reason
	}
	delete(reasons, "round")
	wantReasons := map[string]string{"z-to-a": SkippedTwice, "0-to-b": SkippedTwice, "link2": SkippedTwice, "outside": SkippedOutside,
		"dangling": SkippedDangling, "loop": SkippedLink, "bad\uFFFD": SkippedName}
	if !reflect.DeepEqual(reasons, wantReasons) {
		t.Errorf("skipped %v, want %v", reasons, wantReasons)
	}

	r.FollowOutside = true
	entries, _, err = List(context.Background(), r.Layout)
	must(t, err)
	found := false
	for _, e := range entries {
		found = found || e == Entry{"outside", true}
	}
	if !found {
		t.Errorf("a link outside was not followed: %v", entries)
	}
}

// The artifacts directory may itself be reached through a link.
func TestListThroughALinkedRoot(t *testing.T) {
	r := newTree(t)
	r.session("a")
	must(t, os.MkdirAll(filepath.Join(r.Root, "elsewhere"), 0o755))
	r.link("../elsewhere", "inside")
	link := filepath.Join(t.TempDir(), "artifacts")
	must(t, os.Symlink(r.Root, link))
	entries, skipped, err := List(context.Background(), DefaultLayout(link))
	must(t, err)
	if want := []Entry{{"a", false}, {"inside", true}}; !reflect.DeepEqual(entries, want) || len(skipped) != 0 {
		t.Errorf("entries %v, skipped %v", entries, skipped)
	}
}

// A linked session is read through its link.
func TestLinkedSessionIsRead(t *testing.T) {
	r := newTree(t)
	must(t, os.MkdirAll(filepath.Join(r.Root, "elsewhere"), 0o755))
	r.link("../elsewhere", "s")
	r.session("s")
	got := r.scan(r.list(), Options{})
	if len(got.faults) != 0 || len(got.lines) != 1 || len(got.sql) != 1 {
		t.Errorf("read %+v", got)
	}
}

func TestListErrors(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	for name, l := range map[string]Layout{"no root": DefaultLayout(filepath.Join(root, "none")), "no sessions": DefaultLayout(root)} {
		if _, _, err := List(ctx, l); !errors.Is(err, ErrNoSessions) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Read(ctx, l, nil, Options{}, nil); !errors.Is(err, ErrNoSessions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(root, "sessions"), nil, 0o644))
	if _, _, err := List(ctx, DefaultLayout(root)); err == nil || errors.Is(err, ErrNoSessions) || !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file for a directory: %v", err)
	}
	r := newTree(t)
	if entries, skipped, err := List(ctx, r.Layout); err != nil || len(entries)+len(skipped) != 0 {
		t.Errorf("an empty directory: %v %v %v", entries, skipped, err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := List(stopped, r.Layout); !errors.Is(err, context.Canceled) {
		t.Errorf("a dead context: %v", err)
	}
}

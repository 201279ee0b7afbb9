package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// open makes a fresh state directory.
func open(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// wantFault checks code and id, and that the arguments named are there.
func wantFault(t *testing.T, err error, code fault.Code, id string, args ...string) *fault.Error {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || f.ID != id {
		t.Fatalf("error %v: want fault %s with code %d", err, id, code)
	}
	for _, name := range args {
		if _, ok := f.Args[name]; !ok {
			t.Fatalf("fault %s has no argument %q: %v", id, name, f.Args)
		}
	}
	return f
}

func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		rel, _ := filepath.Rel(root, path)
		out = append(out, rel+" "+info.Mode().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOpenIsPrivateWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o777} {
		root := t.TempDir()
		old := syscall.Umask(umask)
		d, err := Open(filepath.Join(root, "deep", "state"))
		if umask == 0o777 {
			// Parents of the directory are not ours: one may be unusable then.
			syscall.Umask(old)
			if os.Geteuid() != 0 && err != nil {
				continue
			}
			syscall.Umask(umask)
		}
		if err == nil {
			err = d.Begin(Run{RunID: "a", StartedAt: day})
		}
		if err == nil {
			_, err = d.SaveKnown(Known{Sessions: []string{"s"}})
		}
		var lock *Lock
		if err == nil {
			lock, err = d.Lock(t.Context(), Holder{RunID: "a", PID: 1}, 0)
		}
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
		want := []string{". drwx------", "VERSION -rw-------", "index drwx------", "known -rw-------", "lock -rw-------", "runs.jsonl -rw-------"}
		if got := tree(t, d.Path()); !slices.Equal(got, want) {
			t.Errorf("umask %o: %v", umask, got)
		}
	}
}

func TestOpenTwiceKeepsWhatIsThere(t *testing.T) {
	d := open(t)
	if err := d.Begin(Run{RunID: "a", StartedAt: day}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	if runs, _, err := again.Runs(); err != nil || len(runs) != 1 {
		t.Fatalf("runs %v, %v", runs, err)
	}
	if _, err := OpenExisting(d.Path()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	cases := []struct {
		name, id, reason string
		make             func(t *testing.T, path string)
		readersToo       bool
	}{
		{"a file", "state_unusable", notADirectory, func(t *testing.T, p string) { write(t, p, "x") }, true},
		{"below a file", "state_unusable", notADirectory, func(t *testing.T, p string) { write(t, filepath.Dir(p), "x") }, true},
		{"someone's files", "state_unusable", foreignFiles, func(t *testing.T, p string) { write(t, filepath.Join(p, "thesis.doc"), "x") }, false},
		{"a newer version", "state_newer", "", func(t *testing.T, p string) { write(t, filepath.Join(p, "VERSION"), "7\n") }, true},
		{"no number", "state_damaged", "no_version", func(t *testing.T, p string) { write(t, filepath.Join(p, "VERSION"), "\x00\xff") }, true},
		{"an empty version", "state_damaged", "no_version", func(t *testing.T, p string) { write(t, filepath.Join(p, "VERSION"), "") }, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "x", "state")
			c.make(t, path)
			before := tree(t, root)
			code := fault.Usage
			if c.id == "state_damaged" {
				code = fault.Failed
			}
			_, err := Open(path)
			f := wantFault(t, err, code, c.id, "path")
			if got, _ := f.Args["reason"].(string); got != c.reason {
				t.Errorf("reason %q, want %q", got, c.reason)
			}
			if c.readersToo {
				_, err = OpenExisting(path)
				wantFault(t, err, code, c.id)
			}
			if after := tree(t, root); !slices.Equal(before, after) {
				t.Errorf("something was changed:\n%v\n%v", before, after)
			}
		})
	}
}

func TestOpenNewerNamesBothVersions(t *testing.T) {
	d := open(t)
	write(t, filepath.Join(d.Path(), "VERSION"), "2\n")
	_, err := Open(d.Path())
	f := wantFault(t, err, fault.Usage, "state_newer")
	if f.Args["found"] != 2 || f.Args["known"] != Version || f.Path != d.Path() {
		t.Errorf("args %v, path %s", f.Args, f.Path)
	}
}

func TestOpenTakesAnEmptyVolume(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"lost+found", ".snapshot"} {
		if err := os.Mkdir(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(path); err != nil {
		t.Fatal(err)
	}
}

func TestOpenWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := Open(filepath.Join(parent, "state"))
	wantFault(t, err, fault.Usage, "state_unusable", "path", "reason")

	d := open(t)
	if err := os.Chmod(d.Path(), 0o500); err != nil {
		t.Fatal(err)
	}
	_, err = Open(d.Path())
	wantFault(t, err, fault.Usage, "state_unusable", "path", "reason")
	if _, err := OpenExisting(d.Path()); err != nil {
		t.Errorf("a reader needs no right to write: %v", err)
	}
}

func TestOpenExistingMakesNothing(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{filepath.Join(root, "none"), root} {
		_, err := OpenExisting(path)
		wantFault(t, err, fault.Usage, "state_missing", "path")
	}
	if got := tree(t, root); len(got) != 1 {
		t.Errorf("made %v", got)
	}
}

func TestCheckOutside(t *testing.T) {
	root := t.TempDir()
	sessions := filepath.Join(root, "artifacts", "sessions")
	if err := os.MkdirAll(sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(sessions, link); err != nil {
		t.Fatal(err)
	}
	for path, inside := range map[string]bool{
		sessions:                                           true,
		filepath.Join(sessions, "a", "state"):              true,
		filepath.Join(link, "state"):                       true,
		filepath.Join(root, "artifacts", "sessions-state"): false,
		filepath.Join(root, "artifacts", ".thtbatch"):      false,
		filepath.Join(root, "..state"):                     false,
		root:                                               false,
	} {
		err := CheckOutside(path, sessions)
		if inside {
			f := wantFault(t, err, fault.Usage, "state_unusable", "path")
			if f.Args["reason"] != insideArtifacts {
				t.Errorf("%s: %v", path, f.Args)
			}
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTightenLeavesThePublishedReports(t *testing.T) {
	d := open(t)
	write(t, d.Warehouse(), "x")
	write(t, d.Index(), "x")
	report := filepath.Join(d.Published(), "1", "runs.parquet")
	write(t, report, "x")
	for _, path := range []string{d.Warehouse(), d.Index(), report} {
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Tighten(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{d.Warehouse(): 0o600, d.Index(): 0o600, report: 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestNamesStayInside(t *testing.T) {
	d := open(t)
	for _, path := range []string{d.Warehouse(), d.Index(), d.SearchCopy(), d.Cache(), d.Published(), d.LockFile(),
		d.RunsFile(), d.KnownFile(), d.RefusalsFile(), d.RetractionsFile(), d.CanariesFile()} {
		if !strings.HasPrefix(path, d.Path()+string(filepath.Separator)) {
			t.Error(path)
		}
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

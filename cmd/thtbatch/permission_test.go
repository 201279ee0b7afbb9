package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user that owns nothing: root may read everything, so that a test
// run by root has to become somebody else.
const nobody = 65534

// user runs command lines as a user who is subject to permissions.
type user struct {
	top, program string              // the program, in a directory that everybody may enter
	dir          string              // where its command lines run
	credential   *syscall.Credential // nil: whoever runs the test
}

// newUser makes a directory "fresh" with the tree, and "night" with the tree and
// the state of one night, that belong to the user. Where a process of another
// user cannot be had it skips.
func newUser(t *testing.T) user {
	t.Helper()
	// Not t.TempDir: nobody but its owner may enter that.
	top, err := os.MkdirTemp("", "thtbatch-permission-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(top, func(path string, _ fs.DirEntry, _ error) error {
			return os.Chmod(path, 0o700) // what was taken away, to remove it
		})
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u := user{top: top, program: filepath.Join(top, programName), dir: filepath.Join(top, "fresh")}
	if os.Link(self, u.program) != nil { // another file system
		copyProgram(t, self, u.program)
	}
	if err := plant(filepath.Join(u.dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		u.credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		u.own(t)
	}
	if out, err := u.command(t, "--version").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, permissions are not tested: a process of user %d cannot run %s: %v %s", nobody, u.program, err, out)
	}
	night := u.at(t, "fresh", "night")
	if o := finished(t, night.command(t, "backfill", "--quiet")); o.code != 0 {
		t.Fatal(o)
	}
	return u
}

// at copies one of the user's directories, with its owner, and goes there.
func (u user) at(t *testing.T, from, to string) user {
	t.Helper()
	u.dir = filepath.Join(u.top, to)
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(u.top, from), u.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return u
}

// own gives the whole directory to nobody.
func (u user) own(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(u.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (u user) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, u.dir, args...)
	cmd.Path, cmd.Err = u.program, nil
	if u.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.credential}
	}
	return cmd
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// What a user may not read or write is named, with what to do about it.
func TestNoPermission(t *testing.T) {
	user := newUser(t)
	for i, c := range []struct {
		name  string
		fresh bool
		deny  string // mode 0, or 0500 for a directory that may not be written
		mode  fs.FileMode
		argv  string
		code  int
		path  string
		says  string
	}{
		{"artifacts, first run", true, "artifacts", 0, "backfill", 2, "artifacts", "permissions"},
		{"sessions, first run", true, "artifacts/sessions", 0, "backfill", 2, "artifacts/sessions", "permissions"},
		{"sessions", false, "artifacts/sessions", 0, "backfill", 6, "artifacts/sessions", "--accept-gone"},
		{"registry, first run", true, "artifacts/memory/registry.jsonl", 0, "backfill", 2, "artifacts/memory/registry.jsonl", "right to read"},
		{"registry", false, "artifacts/memory/registry.jsonl", 0, "backfill", 6, "artifacts/memory/registry.jsonl", "--accept-gone"},
		{"where the state would be made", true, ".", 0o500, "backfill", 2, "state", "--state"},
		{"state", false, "state", 0, "backfill", 2, "state", "may write"},
		{"state, reading", false, "state", 0, "runs", 2, "state", "--state"},
		{"state that cannot be written", false, "state", 0o500, "runs", 0, "", ""},
		{"warehouse", false, "state/warehouse.duckdb", 0, "backfill", 1, "state/warehouse.duckdb", "thtbatch backfill"},
		{"index", false, "state/index/local.duckdb", 0, "backfill", 1, "state/index/local.duckdb", "permissions"},
		{"list of runs", false, "state/runs.jsonl", 0, "runs", 1, "state/runs.jsonl", "permissions"},
		{"list of runs that cannot be written", false, "state/runs.jsonl", 0, "backfill", 1, "state/runs.jsonl", "permissions"},
		{"known sessions", false, "state/known", 0, "backfill", 1, "state/known", "permissions"},
		{"publications", false, "state/published", 0o500, "report", 1, "state/published", "thtbatch report"},
		{"publication", false, "state/published", 0, "query SHOW+TABLES", 1, "state/published", "permissions"},
		{"configuration", true, "artifacts/memory/registry.jsonl", 0, "backfill -c artifacts/memory/registry.jsonl", 2, "artifacts/memory/registry.jsonl", "readable"},
		{"where the configuration would be made", true, ".", 0o500, "init", 2, "thtbatch.yaml", "may write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := map[bool]string{true: "fresh", false: "night"}[c.fresh]
			u := user.at(t, from, fmt.Sprint("case", i))
			if err := os.Chmod(filepath.Join(u.dir, c.deny), c.mode); err != nil {
				t.Fatal(err)
			}
			argv := strings.Fields(c.argv)
			for i := range argv {
				argv[i] = strings.ReplaceAll(argv[i], "+", " ")
			}
			o := finished(t, u.command(t, argv...))
			if o.code != c.code || !strings.Contains(o.stderr, c.path) || !strings.Contains(o.stderr, c.says) {
				t.Errorf("exit %d instead of %d, or does not name %q and say %q: %s", o.code, c.code, c.path, c.says, o)
			}
			if c.fresh {
				if _, err := os.Stat(filepath.Join(u.dir, "state")); err == nil {
					t.Error("a state directory was made")
				}
			}
		})
	}
}

// A ledger that cannot be read degrades its session and stops nobody.
func TestNoPermissionOnALedger(t *testing.T) {
	u := newUser(t).at(t, "fresh", "ledger")
	if err := os.Chmod(filepath.Join(u.dir, "artifacts/sessions/s-active/review_decisions.jsonl"), 0); err != nil {
		t.Fatal(err)
	}
	if o := finished(t, u.command(t, "backfill", "--quiet")); o.code != 0 {
		t.Fatal(o)
	}
	o := finished(t, u.command(t, "query", "--csv", "SELECT state, reason FROM sessions WHERE session_id = 's-active'"))
	if o.code != 0 || !strings.Contains(o.stdout, "degraded,") || !strings.Contains(o.stdout, "permission denied") {
		t.Error(o)
	}
}

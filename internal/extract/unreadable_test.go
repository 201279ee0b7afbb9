package extract

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user who owns nothing.
const nobody = 65534

// asNobody runs the calling test once more in a process without privileges,
// since nothing is unreadable to root. It says whether this is that process; dir
// is open to it.
func asNobody(t *testing.T) (dir string, inside bool) {
	t.Helper()
	if dir := os.Getenv("THT_TEST_NOBODY"); dir != "" {
		return dir, true
	}
	if os.Getuid() != 0 {
		return t.TempDir(), true
	}
	dir, err := os.MkdirTemp("", "extract-nobody")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777))
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "test"), program, 0o755))
	must(t, os.Chmod(filepath.Join(dir, "test"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "tree"), 0o777))
	must(t, os.Chmod(filepath.Join(dir, "tree"), 0o777))
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"THT_TEST_NOBODY=" + filepath.Join(dir, "tree"), "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return "", false
}

func TestUnreadable(t *testing.T) {
	dir, inside := asNobody(t)
	if !inside {
		return
	}
	r := tree{t, DefaultLayout(dir)}
	r.session("a")
	for _, file := range []string{r.Manifest, r.Ledger, r.SQL} {
		must(t, os.Chmod(r.path("a", file), 0))
	}
	r.session("b")
	sessions := r.list()
	must(t, os.Chmod(r.path("b"), 0o600)) // its names cannot be looked up
	defer os.Chmod(r.path("b"), 0o700)
	const denied = "cannot be read: permission denied"
	got := r.scan(sessions, Options{Now: later})
	if got.stats.SessionsRead != 0 || len(got.faults) != 6 || len(got.lines) != 0 {
		t.Errorf("emitted %+v", got)
	}
	for _, rows := range [][]row{got.manifests, got.ledgers, got.sql} {
		if faults := pick(rows, "fault"); !reflect.DeepEqual(faults, []any{denied, denied}) {
			t.Errorf("faults %v", faults)
		}
	}
	for _, f := range got.faults {
		if degrades := f["file"] != "sql"; f["degrades"] != degrades || f["reason"] != denied {
			t.Errorf("fault %v", f)
		}
	}
	known := got.known(sessions)
	if again := r.scan(known, Options{Now: later}); again.batches != 0 {
		t.Errorf("the same trouble was said twice: %+v", again)
	}
	// What kept us out may end without a trace in the file.
	must(t, os.Chmod(r.path("b"), 0o700))
	mended := r.scan(known, Options{Now: later})
	if mended.stats.SessionsChanged != 1 || len(mended.lines) != 1 || len(mended.faults) != 0 {
		t.Errorf("mended: %+v", mended)
	}
	if again := r.scan(mended.known(known), Options{Now: later}); again.batches != 0 {
		t.Errorf("not settled: %+v", again)
	}
	must(t, os.Chmod(r.SessionsPath(), 0))
	defer os.Chmod(r.SessionsPath(), 0o700)
	if _, _, err := List(t.Context(), r.Layout); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("sessions that cannot be listed: %v", err)
	}
}

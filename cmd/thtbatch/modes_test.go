package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// withUmask runs a command line under a umask.
func withUmask(t *testing.T, dir, umask string, args ...string) outcome {
	t.Helper()
	cmd := command(t, dir)
	cmd.Args = append([]string{"sh", "-c", "umask " + umask + ` && exec "$0" "$@"`, programName}, args...)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Err = shell, nil
	return finished(t, cmd)
}

// The state is its owner's alone and reports are their group's too, whatever
// the umask, and whatever the modes were before.
func TestModesWhateverTheUmask(t *testing.T) {
	for _, umask := range []string{"000", "022", "077"} {
		t.Run(umask, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := plant(filepath.Join(dir, "artifacts")); err != nil {
				t.Fatal(err)
			}
			night := func(args ...string) {
				t.Helper()
				if o := withUmask(t, dir, umask, append(args, "--quiet")...); o.code != 0 {
					t.Fatal(o)
				}
				wrong, err := wrongModes(filepath.Join(dir, "state"))
				if err != nil || len(wrong) > 0 {
					t.Errorf("%v after %q, %v", wrong, args, err)
				}
			}
			night("backfill", "--dry-run")
			night("backfill")
			night("solved-index", "s-active")
			put(t, filepath.Join(dir, "artifacts/sessions/s-open/review_decisions.jsonl"), "")
			night("backfill")
			night("report")
			// As if the directory came back from a backup.
			for _, name := range []string{"warehouse.duckdb", "index/local.duckdb", "runs.jsonl", "known", "index", "."} {
				if err := os.Chmod(filepath.Join(dir, "state", name), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			night("backfill")

			// Reports elsewhere: the directories above them are the group's as well.
			if o := withUmask(t, dir, umask, "report", "--quiet", "-c", writeFile(t, "publish.dir: "+filepath.Join(dir, "srv/reports/tht")+"\n"),
				"--artifacts", "artifacts", "--state", "state"); o.code != 0 {
				t.Fatal(o)
			}
			for name, want := range map[string]fs.FileMode{"srv": 0o750, "srv/reports/tht": 0o750, "srv/reports/tht/current/runs.parquet": 0o640,
				"srv/reports/tht/current/thtbatch.duckdb": 0o640} {
				if got := mode(t, filepath.Join(dir, name)); got != want {
					t.Errorf("%s: mode %o instead of %o", name, got, want)
				}
			}
			// The configuration has no secret: whoever started the program decides.
			if o := withUmask(t, dir, umask, "init", "--quiet"); o.code != 0 {
				t.Fatal(o)
			}
			want := map[string]fs.FileMode{"000": 0o644, "022": 0o644, "077": 0o600}[umask]
			if got := mode(t, filepath.Join(dir, configName)); got != want {
				t.Errorf("configuration: mode %o instead of %o", got, want)
			}
		})
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// umaskOf is what a running process has: what DuckDB makes by itself, its log
// and what it spills, lives too short to be looked at.
func umaskOf(t *testing.T, pid int) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the umask of a process can be read on Linux only")
	}
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, "Umask:"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatal("no umask in /proc")
	return ""
}

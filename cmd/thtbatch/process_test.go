package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outcome is what a command line left, run as a process of its own.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("exit %d\nstdout: %s\nstderr: %s", o.code, o.stdout, o.stderr)
}

// command is one command line in a directory, in English, with no settings from
// outside.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), programName, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TMPDIR=" + os.TempDir()}
	return cmd
}

func process(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	return finished(t, command(t, dir, args...))
}

// finished runs a command to its end.
func finished(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs a command line that is to end well.
func must(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	o := process(t, dir, args...)
	if o.code != 0 {
		t.Fatalf("%q: %s", args, o)
	}
	return o
}

// nightDone makes a directory with the tree in "artifacts" and the "state" of
// one night.
func nightDone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := plant(filepath.Join(dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "backfill", "--quiet")
	return dir
}

// copied is a copy of a directory, links and times included, so that a run sees
// the same files.
func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// contentOf is a line for every file below dir, but for those whose base name is
// listed: its path and the hash of its bytes, or where a link leads.
func contentOf(t *testing.T, dir string, but ...string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, name := range but {
			if entry.Name() == name {
				return nil
			}
		}
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintln(&b, path, to)
			return err
		case entry.IsDir():
			fmt.Fprintln(&b, path)
			return nil
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/state"
)

// holdLock is a program of its own that holds the lock of a state directory, as
// a job does, until its standard input ends: holdlock DIR
func holdLock() {
	if err := hold(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hold(path string) error {
	dir, err := state.Open(path)
	if err != nil {
		return err
	}
	lock, err := dir.Lock(context.Background(), state.Holder{
		RunID: "20260101T000000Z-held00", Job: "backfill", PID: os.Getpid(), Host: "elsewhere", StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}, 0)
	if err != nil {
		return err
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return lock.Unlock()
}

// holder starts a process that holds the lock of a state directory; release
// lets it go.
func holder(t *testing.T, dir string) (pid int, release func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "holdlock", filepath.Join(dir, "state"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q %v", line, err)
	}
	return cmd.Process.Pid, sync.OnceFunc(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("holdlock: %v", err)
		}
	})
}

// While another process holds the lock, what changes something is refused, says
// by whom, and leaves no trace; what only reads works.
func TestLockHeldByAnotherProcess(t *testing.T) {
	dir := nightDone(t)
	pid, release := holder(t, dir)
	defer release()
	before := contentOf(t, dir)
	for _, argv := range [][]string{{"backfill"}, {"backfill", "--dry-run"}, {"report"}, {"solved-index", "s-active"}, {"demo", "--quiet"},
		{"backfill", "--wait", "1ms"}} {
		o := process(t, dir, argv...)
		if o.code != 5 || !strings.Contains(o.stderr, filepath.Join(dir, "state")) || !strings.Contains(o.stderr, strconv.Itoa(pid)) ||
			!strings.Contains(o.stderr, "elsewhere") || !strings.Contains(o.stderr, "--wait") {
			t.Errorf("%q: %s", argv, o)
		}
	}
	o := process(t, dir, "backfill", "--json")
	doc, err := onlyDocument([]byte(o.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := within(doc, "error.exit"); o.code != 5 || fmt.Sprint(code) != "5" || o.stderr != "" {
		t.Error(o)
	}
	for _, argv := range [][]string{{"query", "SELECT 1"}, {"search", "ward"}, {"solved-search", "ward"}, {"candidates", "--session", "s-open"},
		{"runs"}, {"doctor"}, {"jobs"}} {
		if o := process(t, dir, argv...); o.code != 0 {
			t.Errorf("%q while a job runs: %s", argv, o)
		}
	}
	if o := must(t, dir, "doctor"); !strings.Contains(o.stdout, "process "+strconv.Itoa(pid)) {
		t.Error(o)
	}
	if after := contentOf(t, dir); after != before {
		t.Errorf("something was written:\n%s", difference(before, after))
	}
}

func TestWaitingForTheLock(t *testing.T) {
	dir := nightDone(t)
	_, release := holder(t, dir)
	waiting := command(t, dir, "backfill", "--quiet", "--wait", "10m")
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	release()
	if err := waiting.Wait(); err != nil {
		t.Error(err)
	}
	// A holder that was killed leaves its note, which is nobody's.
	pid, _ := holder(t, dir)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "backfill", "--quiet", "--wait", "10m")
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// serving is a process of serve and the lines that it logs.
type serving struct {
	lines *bufio.Scanner
	log   strings.Builder
}

// until reads the log up to a line that has all of these.
func (s *serving) until(t *testing.T, parts ...string) string {
	t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		s.log.WriteString(line + "\n")
		found := true
		for _, part := range parts {
			found = found && strings.Contains(line, part)
		}
		if found {
			return line
		}
	}
	t.Fatalf("no line with %q in\n%s", parts, s.log.String())
	return ""
}

// A real schedule of a real job: it runs by the clock, a tick that comes while
// it still runs is skipped, another job that meets it is told who holds the lock,
// and the process stops at SIGTERM with the night recorded.
//
// A job runs for as long as the test likes because it waits for a lock that the
// test holds.
func TestServeEndToEnd(t *testing.T) {
	dir := t.TempDir()
	if err := plant(filepath.Join(dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "night.yaml"), `
serve.jobs:
  - {name: nightly, cron: '@every 1s', args: [backfill, --quiet]}
  - {name: waiting, cron: '@every 1s', args: [backfill, --quiet, --wait, 10m]}
`)
	_, release := holder(t, dir)
	cmd := command(t, dir, "serve", "-c", "night.yaml", "--json")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{lines: bufio.NewScanner(stderr)}
	s.until(t, "msg=serving", "entries=2")
	if got := umaskOf(t, cmd.Process.Pid); got != "0077" {
		t.Errorf("umask %s", got)
	}
	// While the lock is held one entry fails with its exit code, again and again,
	// and the other waits: its next tick is skipped.
	s.until(t, `msg="job ended"`, "entry=nightly", "exit=5")
	s.until(t, "level=WARN", `msg="job skipped: the last one still runs"`, "entry=waiting")
	release()
	s.until(t, `msg="job ended"`, "entry=waiting", "exit=0")
	s.until(t, `msg="job ended"`, "exit=0")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until(t, "msg=stopping")
	s.until(t, "msg=stopped")
	_, _ = io.Copy(io.Discard, stderr)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.log.String())
	}
	var doc struct{ Served []scheduled }
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || len(doc.Served) != 2 || doc.Served[1].Skipped == 0 || doc.Served[1].Started == 0 {
		t.Errorf("%v in %q", err, stdout.String())
	}
	o := must(t, dir, "runs", "--json", "--last", "0")
	var recorded []struct{ Status string }
	if err := json.Unmarshal([]byte(o.stdout), &recorded); err != nil || len(recorded) == 0 {
		t.Fatalf("%v: %s", err, o)
	}
	for _, r := range recorded { // those that did not get the lock are no runs
		if r.Status != "done" && r.Status != "interrupted" {
			t.Errorf("a run is recorded as %s", r.Status)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "state/published/current/sessions.parquet")); err != nil {
		t.Error(err)
	}
}

// SIGTERM while a job waits ends both, and the job is not recorded as begun.
func TestServeStopsWhileAJobRuns(t *testing.T) {
	dir := nightDone(t)
	_, release := holder(t, dir)
	defer release()
	put(t, filepath.Join(dir, "night.yaml"), "serve.jobs: [{name: waiting, cron: '@every 1s', args: [backfill, --wait, 10m]}]\n")
	cmd := command(t, dir, "serve", "-c", "night.yaml")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{lines: bufio.NewScanner(stderr)}
	s.until(t, `msg="job skipped`)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until(t, `msg="job ended"`, "exit=130")
	s.until(t, "msg=stopped")
	_, _ = io.Copy(io.Discard, stderr)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

func entry(name, expression string, args ...string) jobs.ServeEntry {
	return jobs.ServeEntry{Name: name, Cron: expression, Args: args}
}

// serveCall is a call of serve with these flags, up to where it would start.
func serveCall(t *testing.T, b *bench, argv ...string) *call {
	t.Helper()
	c := &call{program: b.program, level: slog.LevelDebug}
	var err error
	if c.request, err = parse(append([]string{"serve"}, argv...), c.verbs()); err != nil {
		t.Fatal(err)
	}
	return c
}

func serveEnv(b *bench, entries ...jobs.ServeEntry) *jobs.Env {
	e := &jobs.Env{Settings: defaults(), Now: b.now, Stdout: &b.stdout, Stderr: &b.stderr}
	e.Settings.ServeTimezone, e.Settings.ServeJobs = "Europe/Rome", entries
	return e
}

func TestScheduleIsCheckedAtTheStart(t *testing.T) {
	b := newBench(t, nil)
	ok := entry("ok", "@daily", "probe", "Q")
	for _, c := range []struct {
		bad jobs.ServeEntry
		id  string
	}{
		{entry("a", "61 2 * * *", "probe", "Q"), "cron_bad"},
		{entry("a", "* * * * * *", "probe", "Q"), "cron_bad"}, // seconds
		{entry("a", "0 0 30 2 *", "probe", "Q"), "cron_bad"},  // never
		{entry("a", "CRON_TZ=UTC", "probe", "Q"), "cron_bad"}, // panics in the library
		{entry("a", "CRON_TZ=Mars/Base 0 2 * * *", "probe", "Q"), "cron_bad"},
		{entry("a", "@daily", "prob", "Q"), "schedule_bad_entry"},
		{entry("a", "@daily", "probe"), "schedule_bad_entry"},
		{entry("a", "@daily", "probe", "Q", "--topp", "3"), "schedule_bad_entry"},
		{entry("a", "@daily", "probe", "Q", "--top", "three"), "schedule_bad_entry"},
		{entry("a", "@daily", "serve"), "schedule_serve"},
		{entry("ok", "@daily", "probe", "Q"), "schedule_same_name"},
	} {
		_, err := serveCall(t, b).server(serveEnv(b, ok, c.bad))
		var f *fault.Error
		if !errors.As(err, &f) || f.ID != c.id || f.Code != fault.Usage || f.Args["name"] != c.bad.Name {
			t.Errorf("%+v: %v instead of %s", c.bad, err, c.id)
		}
	}
	if _, err := serveCall(t, b).server(serveEnv(b)); fault.CodeOf(err) != fault.Usage {
		t.Errorf("an empty schedule: %v", err)
	}
	if _, err := serveCall(t, b).server(serveEnv(b, ok)); err != nil {
		t.Error(err)
	}
}

func TestFlagsOfServeArePassedOn(t *testing.T) {
	b := newBench(t, nil)
	c := serveCall(t, b, "-c", "/x/c.yaml", "--state", "/x/state", "--json", "--quiet")
	s, err := c.server(serveEnv(b, entry("a", "@daily", "probe", "Q"), entry("b", "@daily", "probe", "--state=/own", "Q", "--quiet=false")))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{
		{"probe", "--config=/x/c.yaml", "--state=/x/state", "--quiet=true", "Q"},
		{"probe", "--config=/x/c.yaml", "--state=/own", "Q", "--quiet=false"},
	} {
		if !slices.Equal(s.entries[i].argv, want) {
			t.Errorf("%q instead of %q", s.entries[i].argv, want)
		}
	}
}

// Midnight comes at eleven in the evening of UTC here, and the night of 29
// March 2026 has no half past two in Rome.
func TestTimeZoneOfTheSchedule(t *testing.T) {
	b := newBench(t, nil)
	s, err := serveCall(t, b).server(serveEnv(b, entry("a", "30 2 * * *", "probe", "Q")))
	if err != nil {
		t.Fatal(err)
	}
	next := s.entries[0].schedule.Next(b.now().In(s.location))
	if want := "2026-03-30T02:30:00+02:00"; next.Format(time.RFC3339) != want {
		t.Errorf("next is %s instead of %s", next.Format(time.RFC3339), want)
	}
}

func testServer(t *testing.T, execute func(context.Context, []string) fault.Code) (*server, *scheduled) {
	t.Helper()
	e := &scheduled{Name: "nightly", argv: []string{"probe"}}
	return &server{
		entries: []*scheduled{e}, location: time.UTC, now: time.Now, execute: execute,
		log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}, e
}

func TestTickIsSkippedWhileTheLastOneRuns(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	s, e := testServer(t, func(context.Context, []string) fault.Code {
		started <- struct{}{}
		<-finish
		return fault.Partial
	})
	job := s.job(t.Context(), e)
	ended := make(chan struct{})
	go func() { job.Run(); close(ended) }()
	<-started
	job.Run()
	close(finish)
	<-ended
	if e.Started != 1 || e.Skipped != 1 || e.LastExit != fault.Partial {
		t.Errorf("%+v", e)
	}
	go func() { <-started }()
	if job.Run(); e.Started != 2 {
		t.Errorf("not run again: %+v", e)
	}
}

func TestPanicDoesNotStopTheNextTick(t *testing.T) {
	s, e := testServer(t, func(context.Context, []string) fault.Code { panic("text of a session") })
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	job := s.job(t.Context(), e)
	for range 3 {
		job.Run()
	}
	if e.Started != 3 || strings.Contains(log.String(), "text of a session") {
		t.Errorf("%d ticks of 3, log %s", e.Started, log.String())
	}
}

func TestNoTickAfterTheStop(t *testing.T) {
	s, e := testServer(t, func(context.Context, []string) fault.Code { t.Error("run"); return fault.Done })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.job(ctx, e).Run()
	if e.Started != 0 {
		t.Errorf("%+v", e)
	}
}

// soon comes due as soon as it is scheduled, and once only.
type soon struct{ left chan struct{} }

func (s soon) Next(now time.Time) time.Time {
	select {
	case <-s.left:
		return now
	default:
		return time.Time{}
	}
}

func TestStopWaitsForTheRunningJob(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped := false
	s, e := testServer(t, func(ctx context.Context, _ []string) fault.Code {
		cancel()
		<-ctx.Done() // between two batches
		stopped = true
		return fault.Interrupted
	})
	left := make(chan struct{}, 2)
	left <- struct{}{} // for the line that says when it comes next
	left <- struct{}{}
	e.schedule = soon{left}
	s.run(ctx)
	if !stopped || e.LastExit != fault.Interrupted {
		t.Errorf("stopped %v, %+v", stopped, e)
	}
}

var _ cron.Schedule = soon{}

// A tick is carried out like a command line: with settings, language and
// streams of its own, and the exit code that the shell would see.
func TestTickIsACommandLine(t *testing.T) {
	var state string
	b := newBench(t, func(_ context.Context, e *jobs.Env, args []string) error {
		state = e.Settings.StateDir
		_, err := fmt.Fprintln(e.Stdout, "result of", args[0])
		return errors.Join(err, fault.New(fault.Guard, "panic", "kind", "x"))
	})
	for _, flags := range [][]string{{"--state=/x"}, {"--state=/x", "--json"}} {
		b.stdout.Reset()
		b.stderr.Reset()
		c := serveCall(t, b, flags...)
		e := serveEnv(b, entry("a", "@daily", "probe", "Q"))
		e.JSON = len(flags) > 1
		s, err := c.server(e)
		if err != nil {
			t.Fatal(err)
		}
		s.tick(t.Context(), s.entries[0])
		if s.entries[0].LastExit != fault.Guard || state != "/x" {
			t.Errorf("%+v, state %s", s.entries[0], state)
		}
		where := b.stdout.String()
		if e.JSON { // one document is still to come there
			if b.stdout.Len() > 0 {
				t.Errorf("stdout %q", b.stdout.String())
			}
			where = b.stderr.String()
		}
		if !strings.Contains(where, "result of Q") || !strings.Contains(b.stderr.String(), "exit=6") {
			t.Errorf("stdout %q, stderr %q", b.stdout.String(), b.stderr.String())
		}
	}
}

// The process itself: it stops at a signal, with exit code 0 and one document.
func TestServeStopsAtASignal(t *testing.T) {
	path := writeFile(t, "serve.jobs: [{name: yearly, cron: '@yearly', args: [jobs]}]\n")
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), programName, "serve", "--json", "-c", path)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stderr)
		serving := false
		for !serving && lines.Scan() {
			serving = strings.Contains(lines.Text(), "msg=serving")
		}
		if !serving {
			t.Fatal("it does not say that it serves")
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, stderr)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", s, err)
		}
		var doc struct{ Served []scheduled }
		if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || len(doc.Served) != 1 || doc.Served[0].Name != "yearly" {
			t.Errorf("%v in %q", err, stdout.String())
		}
	}
}

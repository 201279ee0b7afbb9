package jobs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

// childEnv makes this test binary a child that carries out one command line,
// as a process that can be killed. It holds an order in JSON.
const childEnv = "THTBATCH_TEST_JOB"

// order is what a child does. The clock is a point that can be named: every
// reading of a file and every record that is written asks it.
type order struct {
	Settings jobs.Settings
	Argv     []string
	// DieAt and StopAt are calls of the clock: at the one the child kills itself,
	// at the other it says "stopped" and waits for ever.
	DieAt, StopAt int64
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(obey(text))
	}
	os.Exit(m.Run())
}

func obey(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var calls atomic.Int64
	d := &desk{settings: o.Settings, log: os.Stderr, now: func() time.Time {
		switch calls.Add(1) {
		case o.DieAt:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case o.StopAt:
			fmt.Println("stopped")
			select {}
		}
		return time.Now()
	}}
	out := d.carryOut(ctx, o.Argv...)
	if out.err != nil {
		fmt.Fprintln(os.Stderr, out.err)
	}
	fmt.Print(out.stdout)
	return int(out.code)
}

// child is a job in a process of its own.
type child struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr *bufio.Reader
	log    bytes.Buffer // what was read of stderr
}

func (d *desk) start(t *testing.T, o order) *child {
	t.Helper()
	o.Settings = d.settings
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+canonical(t, o))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd: cmd, stdout: bufio.NewReader(stdout), stderr: bufio.NewReader(stderr)}
}

// wait returns the exit code, -1 for a child that was killed, and what it wrote
// to its standard error.
func (c *child) wait(t *testing.T) (code int, log string) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&c.log, c.stderr)
	}()
	_, _ = io.Copy(io.Discard, c.stdout)
	<-ended
	_ = c.cmd.Wait() // how it ended is asked below
	return c.cmd.ProcessState.ExitCode(), c.log.String()
}

func (c *child) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil && err != os.ErrProcessDone {
		t.Fatal(err)
	}
}

// signalAfter sends a signal when so many lines of the log were read and a
// moment has passed, wherever the child is by then.
func (c *child) signalAfter(t *testing.T, lines int, moment time.Duration, s os.Signal) {
	t.Helper()
	for range lines {
		line, err := c.stderr.ReadString('\n')
		c.log.WriteString(line)
		if err != nil {
			return // it has ended
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&c.log, c.stderr)
	}()
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ended:
	}
	c.signal(t, s)
	<-ended
}

// awaitStop waits until the child has come to its StopAt.
func (c *child) awaitStop(t *testing.T) {
	t.Helper()
	go func() { _, _ = io.Copy(io.Discard, c.stderr) }()
	for {
		line, err := c.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("the child ended before it stopped: %v", err)
		}
		if line == "stopped\n" {
			return
		}
	}
}

// moments up to a second and a half, most of them short.
func moment(rng *rand.Rand) time.Duration {
	return time.Duration(rng.ExpFloat64() * float64(60*time.Millisecond))
}

// clockCalls counts how often a run that nothing disturbs asks the clock.
func (d *desk) clockCalls(t *testing.T, argv ...string) int64 {
	t.Helper()
	var calls atomic.Int64
	counting := *d
	counting.now = func() time.Time {
		calls.Add(1)
		return time.Now()
	}
	if out := counting.carryOut(t.Context(), argv...); out.code != fault.Done {
		t.Fatalf("%v: exit %d: %v", argv, out.code, out.err)
	}
	return calls.Load()
}

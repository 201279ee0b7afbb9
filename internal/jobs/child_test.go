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
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
	"github.com/thtbatch/thtbatch/internal/report"
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
	// Until the process is gone: what comes after the job must not kill it.
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
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

// signalIn sends a signal when the log says that a stage has begun and a moment
// has passed, wherever the child is by then.
func (c *child) signalIn(t *testing.T, stage string, moment time.Duration, s os.Signal) {
	t.Helper()
	for line := ""; !strings.Contains(line, `"stage started" stage=`+stage); {
		var err error
		line, err = c.stderr.ReadString('\n')
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

// rehearse carries out a command line that nothing disturbs. It returns how
// often that asked the clock, and how long each stage took.
func (d *desk) rehearse(t *testing.T, argv ...string) (calls int64, stages []report.Phase) {
	t.Helper()
	var count atomic.Int64
	counting := *d
	counting.now = func() time.Time {
		count.Add(1)
		return time.Now()
	}
	out := counting.run(t, fault.Done, argv...)
	return count.Load(), out.summary.Phases
}

// pick is a stage and a moment in it, with publishing as often as all others.
func pick(rng *rand.Rand, stages []report.Phase) (string, time.Duration) {
	stage := stages[len(stages)-1]
	if rng.IntN(2) == 0 {
		stage = stages[rng.IntN(len(stages))]
	}
	return stage.Name, time.Duration(rng.Float64() * 1.2 * float64(stage.Wall))
}

package state

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// The variable that makes the test binary hold the lock of a directory until
// its standard input ends.
const holdVar = "THTBATCH_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdVar); path != "" {
		os.Exit(holdLock(path))
	}
	os.Exit(m.Run())
}

func holdLock(path string) int {
	d, err := Open(path)
	if err == nil {
		_, err = d.Lock(context.Background(), Holder{RunID: "r1", Job: "backfill", PID: os.Getpid(), Host: "node", StartedAt: day}, 0)
	}
	fmt.Println(err)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	return 0
}

// holder starts a process that holds the lock when holder returns. Closing
// stdin ends it.
func holder(t *testing.T, path string) (cmd *exec.Cmd, stdin io.Closer) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdVar+"="+path)
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
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	return cmd, stdin
}

func TestLockNamesTheOtherProcess(t *testing.T) {
	d := open(t)
	cmd, _ := holder(t, d.Path())
	_, err := d.Lock(t.Context(), Holder{RunID: "r2", PID: os.Getpid()}, 0)
	f := wantFault(t, err, fault.Locked, "locked", "path", "job", "pid", "host", "since", "run_id")
	if f.Args["job"] != "backfill" || f.Args["pid"] != cmd.Process.Pid || !f.Args["since"].(time.Time).Equal(day) {
		t.Errorf("args %v", f.Args)
	}
	by, err := d.LockedBy()
	if err != nil || by == nil || by.PID != cmd.Process.Pid || by.RunID != "r1" {
		t.Errorf("locked by %+v, %v", by, err)
	}
}

func TestLockOfAKilledProcessIsFree(t *testing.T) {
	d := open(t)
	cmd, _ := holder(t, d.Path())
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if by, err := d.LockedBy(); by != nil || err != nil {
		t.Errorf("a dead process holds it: %+v, %v", by, err)
	}
	lock, err := d.Lock(t.Context(), Holder{RunID: "r2", Job: "report", PID: os.Getpid(), StartedAt: day}, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(d.LockFile())
	var note Holder
	if err != nil || json.Unmarshal(text, &note) != nil || note.RunID != "r2" {
		t.Errorf("note %q, %v", text, err)
	}
	if err := errors.Join(lock.Unlock(), lock.Unlock()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(d.LockFile()); err != nil || len(text) != 0 {
		t.Errorf("the note stayed: %q, %v", text, err)
	}
}

func TestLockWaits(t *testing.T) {
	d := open(t)
	_, stdin := holder(t, d.Path())
	got := make(chan error, 1)
	go func() {
		lock, err := d.Lock(t.Context(), Holder{PID: os.Getpid()}, time.Minute)
		got <- errors.Join(err, lock.Unlock())
	}()
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestLockWaitEndsWithTheContext(t *testing.T) {
	d := open(t)
	holder(t, d.Path())
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := d.Lock(ctx, Holder{PID: os.Getpid()}, time.Hour)
		got <- err
	}()
	cancel()
	err := <-got
	wantFault(t, err, fault.Interrupted, "interrupted")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLockIsForOneJobOfTheProcess(t *testing.T) {
	d := open(t)
	lock, err := d.Lock(t.Context(), Holder{RunID: "r1"}, 0) // no pid: no note worth the name
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Lock(t.Context(), Holder{RunID: "r2"}, time.Millisecond)
	wantFault(t, err, fault.Locked, "locked_unnamed", "path")
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	lock, err = d.Lock(t.Context(), Holder{RunID: "r2"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Deleting the file must not let two in.
	if err := os.Remove(d.LockFile()); err != nil {
		t.Fatal(err)
	}
	other, err := d.Lock(t.Context(), Holder{RunID: "r3"}, 0)
	if err != nil {
		t.Fatalf("a new file is a new lock: %v", err)
	}
	if err := errors.Join(lock.Unlock(), other.Unlock()); err != nil {
		t.Fatal(err)
	}
}

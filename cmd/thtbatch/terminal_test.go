//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what programs write to its far end is collected.
type terminal struct {
	near, far *os.File
	shown     chan string
	began     chan struct{} // closed with the first byte
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED, nothing is tested on a terminal: %v", err)
	}
	t.Cleanup(func() { _ = near.Close() })
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(near.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{near, far, make(chan string, 1), make(chan struct{})}
	go func() {
		var all bytes.Buffer
		var first [1]byte
		if n, _ := near.Read(first[:]); n == 1 {
			all.Write(first[:])
			close(term.began)
		}
		_, _ = io.Copy(&all, near) // ends with EIO when nobody has the far end open
		term.shown <- all.String()
	}()
	return term
}

// finish closes the far end and returns what was shown.
func (term *terminal) finish() string {
	_ = term.far.Close()
	return <-term.shown
}

// onTerminal runs a command line whose standard error is a terminal.
func onTerminal(t *testing.T, dir, kind string, args ...string) (stdout, shown string, code int) {
	t.Helper()
	term := newTerminal(t)
	cmd := command(t, dir, args...)
	cmd.Env = append(cmd.Env, "TERM="+kind)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, term.far
	err := cmd.Run()
	if _, is := err.(*exec.ExitError); err != nil && !is {
		t.Fatal(err)
	}
	return out.String(), term.finish(), cmd.ProcessState.ExitCode()
}

func TestBarsOnATerminal(t *testing.T) {
	dir := t.TempDir()
	if err := plant(filepath.Join(dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "artifacts/sessions/s-torn/manifest.yaml"), "id: s-torn\nquestion: \"?!\"\nstatus: finalized\n")
	stdout, shown, code := onTerminal(t, dir, "xterm", "backfill")
	if code != 7 {
		t.Fatalf("exit %d: %s%s", code, stdout, shown)
	}
	for _, want := range []string{"Reading sessions", "5 / 5", "Writing the index", "Publishing", "\x1b["} {
		if !strings.Contains(shown, want) {
			t.Errorf("the terminal does not show %q: %q", want, shown)
		}
	}
	if strings.Contains(shown, "level=INFO") || strings.ContainsAny(stdout, "\x1b\r") || !strings.HasPrefix(stdout, "backfill: partial in") {
		t.Errorf("shown %q, standard output %q", shown, stdout)
	}
	// A warning is a line of its own among the bars, and the error comes last.
	whole := false
	for line := range strings.SplitSeq(shown, "\n") {
		whole = whole || strings.HasSuffix(line, "reason=\"no letter or digit to embed\"\r")
	}
	if !whole || !strings.Contains(shown[strings.LastIndex(shown, "Publishing"):], "One item failed") {
		t.Errorf("%q", shown)
	}

	// The bars speak Italian too.
	if _, shown, _ := onTerminal(t, dir, "xterm", "backfill", "--lang", "it", "--rescan"); !strings.Contains(shown, "Lettura delle sessioni") {
		t.Errorf("%q", shown)
	}
	// A level that was asked for is logged there as well.
	if _, shown, _ := onTerminal(t, dir, "xterm", "backfill", "--log-level", "debug"); !strings.Contains(shown, "level=DEBUG") {
		t.Errorf("%q", shown)
	}
}

// Where nobody looks, or nobody wants to, there are no bars.
func TestNoBars(t *testing.T) {
	dir := nightDone(t)
	if stdout, shown, code := onTerminal(t, dir, "xterm", "backfill", "--quiet"); stdout+shown != "" || code != 0 {
		t.Errorf("quiet: exit %d, %q, %q", code, stdout, shown)
	}
	if _, shown, _ := onTerminal(t, dir, "dumb", "backfill"); strings.Contains(shown, "\x1b") || !strings.Contains(shown, "level=INFO") {
		t.Errorf("on a dumb terminal: %q", shown)
	}
	if o := must(t, dir, "backfill"); strings.ContainsAny(o.stdout+o.stderr, "\x1b\r") || !strings.Contains(o.stderr, `msg="stage done" stage=publish`) {
		t.Errorf("elsewhere: %s", o)
	}
	stdout, shown, _ := onTerminal(t, dir, "xterm", "backfill", "--json")
	if _, err := onlyDocument([]byte(stdout)); err != nil || !strings.Contains(shown, "Publishing") {
		t.Errorf("%v, %q", err, shown)
	}
}

// Control-C ends a job that waits: exit 130, said in a sentence.
func TestControlC(t *testing.T) {
	dir := nightDone(t)
	_, release := holder(t, dir)
	defer release()
	term := newTerminal(t)
	cmd := command(t, dir, "backfill", "--wait", "10m")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.far, term.far, term.far
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-term.began // it says for whom it waits
	if _, err := term.near.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	shown := term.finish()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(shown, "Waiting for backfill, process") || !strings.Contains(shown, "Interrupted") || !strings.Contains(shown, "Run the same command again") {
		t.Errorf("exit %d, %q", code, shown)
	}
}

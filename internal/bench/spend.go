package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// spendAs is the small process that starts the one to be measured.
func spendAs(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdout = os.Stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	w := &watch{pid: cmd.Process.Pid, peaks: map[string]int64{}, ended: make(chan struct{})}
	var watching sync.WaitGroup
	watching.Go(w.sample)
	w.listen(stderr)
	close(w.ended)
	watching.Wait()
	if err := cmd.Wait(); err != nil {
		return err
	}
	c := cost{Wall: time.Since(began), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), PeakIn: w.peaks}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.Peak = usage.Maxrss * 1024
	}
	return json.NewEncoder(os.NewFile(billFile, "bill")).Encode(c)
}

// watch keeps the largest memory of a process between the lines by which it says
// that a stage has ended.
type watch struct {
	pid   int
	ended chan struct{}

	mu    sync.Mutex
	most  int64
	peaks map[string]int64
}

func (w *watch) listen(stderr io.Reader) {
	stageEnd := regexp.MustCompile(`msg=stage name=(\w+)`)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		found := stageEnd.FindStringSubmatch(lines.Text())
		if found == nil {
			if !strings.Contains(lines.Text(), "level=DEBUG") && !strings.Contains(lines.Text(), "level=INFO") {
				fmt.Fprintln(os.Stderr, lines.Text())
			}
			continue
		}
		w.mu.Lock()
		w.peaks[found[1]], w.most = max(w.peaks[found[1]], w.most), 0
		w.mu.Unlock()
	}
}

func (w *watch) sample() {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-tick.C:
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", w.pid))
		if err != nil {
			continue // it has ended, or there is no /proc
		}
		fields := strings.Fields(string(text))
		if len(fields) < 2 {
			continue
		}
		pages, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		w.mu.Lock()
		w.most = max(w.most, pages*int64(os.Getpagesize()))
		w.mu.Unlock()
	}
}

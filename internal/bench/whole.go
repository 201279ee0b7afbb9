package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/thtbatch/thtbatch/internal/sample"
)

type options struct {
	program, tree string
	sessions      int
}

// changedSessions is how many sessions the third run finds changed.
const changedSessions = 100

// cost is what the operating system charged one process for.
type cost struct {
	CPU, Wall time.Duration
	Peak      int64 // bytes
	// PeakIn is the largest memory seen in each stage, of a process that logs them
	// at level debug.
	PeakIn  map[string]int64
	summary summary
}

// summary is what bench reads of the program's own report.
type summary struct {
	Sessions struct {
		Listed, Read, Changed int
	}
	BytesRead int64 `json:"bytes_read"`
	Decisions int64
	Embedded  int
	Phases    []struct {
		Name string
		CPU  float64 `json:"cpu_seconds"`
	}
}

func (s summary) phase(name string) time.Duration {
	for _, p := range s.Phases {
		if p.Name == name {
			return time.Duration(p.CPU * float64(time.Second))
		}
	}
	return 0
}

func measure(o options) (err error) {
	work, err := os.MkdirTemp("", "thtbatch-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if o.tree == "" {
		o.tree = filepath.Join(work, "artifacts")
		stats, err := sample.Tree(o.tree, o.sessions, 1, 0)
		if err != nil {
			return err
		}
		fmt.Printf("tree: %+v\n", stats)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	state := filepath.Join(work, "state")
	night := func(extra ...string) (cost, error) {
		return spend(o.program, append([]string{"backfill", "--json", "--quiet", "--artifacts", o.tree, "--state", state}, extra...)...)
	}
	steps := []struct {
		name string
		run  func() (cost, error)
	}{
		{"read", func() (cost, error) { return spend(self, "read", o.tree) }},
		{"cold dry run", func() (cost, error) { return night("--dry-run") }},
		{"first night", func() (cost, error) { return night() }},
		{"settle", func() (cost, error) { return night() }},
		{"lstat", func() (cost, error) { return spend(self, "lstat", o.tree) }},
		{"unchanged night", func() (cost, error) { return night() }},
		{"changed night", func() (cost, error) {
			if _, err := sample.Touch(o.tree, changedSessions, time.Now().UnixNano()); err != nil {
				return cost{}, err
			}
			return night()
		}},
	}
	costs := map[string]cost{}
	fmt.Printf("%-16s %10s %10s %10s   %s\n", "", "CPU s", "wall s", "peak MB", "sessions listed, read, changed; decisions; bytes read")
	for _, s := range steps {
		c, err := s.run()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		costs[s.name] = c
		fmt.Printf("%-16s %10.2f %10.2f %10.0f   %d, %d, %d; %d; %d\n", s.name, c.CPU.Seconds(), c.Wall.Seconds(), float64(c.Peak)/1e6,
			c.summary.Sessions.Listed, c.summary.Sessions.Read, c.summary.Sessions.Changed, c.summary.Decisions, c.summary.BytesRead)
		for _, p := range c.summary.Phases {
			fmt.Printf("  %-20s %10.2f\n", p.Name, p.CPU)
		}
	}
	changed := costs["changed night"].CPU - costs["changed night"].summary.phase("publish")
	unchanged := costs["unchanged night"].CPU
	fmt.Printf("\ncold dry run / read         %6.2f   (bound 5)\n", ratio(costs["cold dry run"].CPU, costs["read"].CPU))
	fmt.Printf("cold dry run, peak          %6.0f MB (bound 1200)\n", float64(costs["cold dry run"].Peak)/1e6)
	fmt.Printf("unchanged night / lstat     %6.2f   (bound 3)\n", ratio(unchanged, costs["lstat"].CPU))
	fmt.Printf("%d changed - unchanged     %6.2f CPU s without publishing (bound 1)\n", changedSessions, (changed - unchanged).Seconds())
	fmt.Printf("publishing, all / %d changed %5.2f / %.2f CPU s\n", changedSessions,
		costs["first night"].summary.phase("publish").Seconds(), costs["changed night"].summary.phase("publish").Seconds())
	return nil
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }

// spend runs a process and returns what it cost. The process is started by
// another, small one: the largest memory of a process is counted from before it
// becomes the program, when it still is a copy of the one that starts it.
func spend(program string, args ...string) (c cost, err error) {
	self, err := os.Executable()
	if err != nil {
		return c, err
	}
	bill, err := os.CreateTemp("", "thtbatch-bench-bill-")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, bill.Close(), os.Remove(bill.Name())) }()
	cmd := exec.Command(self, append([]string{"spend", program}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{bill}
	out, err := cmd.Output()
	if err != nil {
		return c, err
	}
	if _, err := bill.Seek(0, io.SeekStart); err != nil {
		return c, err
	}
	if err := json.NewDecoder(bill).Decode(&c); err != nil {
		return c, err
	}
	if json.Valid(out) {
		return c, json.Unmarshal(out, &c.summary)
	}
	return c, nil
}

// billFile is the descriptor on which a small process writes what its child cost.
const billFile = 3

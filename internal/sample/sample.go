// Package sample makes larger artifacts trees for benchmarks and tests. The
// texts are composed from word lists of an invented analytics desk, half in
// Italian and half in English; how often sessions are reopened, withdrawn, left
// half way or promoted follows what such desks do. Nothing of the program
// imports it.
package sample

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// Stats say what a tree holds.
type Stats struct {
	Sessions, Files int
	Bytes           int64
	// Decisions are ledger lines as the assistant wrote them, before oddities.
	Decisions int
	Registry  int
}

func (s *Stats) add(o Stats) {
	s.Sessions += o.Sessions
	s.Files += o.Files
	s.Bytes += o.Bytes
	s.Decisions += o.Decisions
	s.Registry += o.Registry
}

// sessionsPerTask is how many sessions a worker takes at a time.
const sessionsPerTask = 256

// Tree writes an artifacts tree of so many sessions at dir, which must hold no
// sessions yet. A fraction odd (0 to 1) of the sessions gets one of the faults
// that real directories show: a torn tail, CRLF, a broken line, a repeated seq,
// no manifest. Equal arguments give equal bytes.
func Tree(dir string, sessions int, seed int64, odd float64) (Stats, error) {
	root := filepath.Join(dir, "sessions")
	for _, d := range []string{dir, filepath.Join(dir, "memory")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return Stats{}, fmt.Errorf("make tree: %w", err)
		}
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		return Stats{}, fmt.Errorf("make tree: %w", err)
	}
	tasks := (sessions + sessionsPerTask - 1) / sessionsPerTask
	writers := make([]writer, tasks)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for t := range tasks {
		group.Go(func() error {
			w := &writers[t]
			for i := t * sessionsPerTask; i < min(sessions, (t+1)*sessionsPerTask); i++ {
				// A stream of its own for each session, so that a tree does not depend on
				// who wrote which part of it.
				rng := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				if err := w.session(root, i, rng, odd); err != nil {
					return fmt.Errorf("make tree: %w", err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Stats{}, err
	}
	return finish(dir, writers)
}

// finish writes the registry, whose ids run through all sessions in order.
func finish(dir string, writers []writer) (Stats, error) {
	var total Stats
	var registry bytes.Buffer
	for _, w := range writers {
		for _, record := range w.registry {
			total.Registry++
			fmt.Fprintf(&registry, `{"id": "mem-%04d", %s}`+"\n", total.Registry, record)
		}
		total.add(w.stats)
	}
	total.Files++
	total.Bytes += int64(registry.Len())
	if err := os.WriteFile(filepath.Join(dir, "memory", "registry.jsonl"), registry.Bytes(), 0o644); err != nil {
		return Stats{}, fmt.Errorf("make tree: %w", err)
	}
	return total, nil
}

// writer writes the sessions of one task.
type writer struct {
	stats    Stats
	registry []string // records without their id
}

var epoch = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func (w *writer) session(root string, i int, rng *rand.Rand, odd float64) error {
	started := epoch.Add(time.Duration(i) * 17 * time.Minute)
	id := fmt.Sprintf("%s_%06d_%04x", started.Format("20060102_150405"), i, rng.IntN(1<<16))
	dir := filepath.Join(root, id)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	s := newSession(id, started, rng)
	s.work()
	w.stats.Sessions++
	w.stats.Decisions += len(s.decisions)
	w.registry = append(w.registry, s.registry()...)

	fault := plain
	if rng.Float64() < odd {
		fault = faults[rng.IntN(len(faults))]
	}
	if fault != noManifest {
		if err := w.write(dir, "manifest.yaml", s.manifest(fault)); err != nil {
			return err
		}
	}
	if err := w.write(dir, "review_decisions.jsonl", s.ledger(fault)); err != nil {
		return err
	}
	if s.solved {
		return w.write(dir, "sql_final.sql", append(s.sql(), '\n'))
	}
	return nil
}

func (w *writer) write(dir, name string, data []byte) error {
	w.stats.Files++
	w.stats.Bytes += int64(len(data))
	return os.WriteFile(filepath.Join(dir, name), data, 0o644)
}

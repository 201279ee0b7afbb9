package jobs_test

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
)

// nights is a tree that changed since it was indexed: a run has to insert, to
// update and to write payloads. The state is that of before the change.
type nights struct {
	*desk
	before, after string // state directories
	// calls of the clock and stages of a run from the one to the other.
	calls  int64
	stages []report.Phase
}

func newNights(t *testing.T) *nights {
	t.Helper()
	d := cleanDesk(t, 60)
	d.settings.Index.Batch = 8 // many batches
	for i := 0; i < 60; i += 7 {
		d.session(t, sessionID(i), degraded(solved("select 0")))
	}
	d.age(t)
	d.run(t, fault.Done, "backfill")
	n := &nights{desk: d, before: d.settings.StateDir}
	var concepts []string
	for i := range 90 {
		subject := "concept number " + strconv.Itoa(i)
		if i%5 == 0 {
			subject += " as of 2026"
		}
		concepts = append(concepts, concept("mem-"+strconv.Itoa(1000+i), subject), concept(memoryID(i), subject))
		switch i % 4 {
		case 0: // another query for the same question
			d.session(t, sessionID(i), solved("select -1"))
		case 1: // another table: only the payload differs
			d.session(t, sessionID(i), sessionText{ledger: ledger("table_promoted|fact_visits", "sql_approved|phase:7"), sql: "select " + strconv.Itoa(i)})
		}
	}
	d.registry(t, concepts...)
	d.age(t)
	n.after = filepath.Join(t.TempDir(), "after")
	copyState(t, n.before, n.after)
	unbroken := n.at(n.after)
	n.calls, n.stages = unbroken.rehearse(t, "backfill")
	return n
}

func sessionID(i int) string { return "s-" + strconv.Itoa(1000 + i)[1:] }

func memoryID(i int) string { return "mem-" + strconv.Itoa(10000 + i + 1)[1:] }

// at is the desk with another state directory.
func (n *nights) at(state string) *desk {
	d := *n.desk
	d.settings.StateDir = state
	return &d
}

// copyState copies a state directory with times, which the program looks at,
// and links.
func copyState(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		case e.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, text, info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(target, info.ModTime(), info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// expected are the files that a state directory may have between two runs.
var expected = regexp.MustCompile(`^(VERSION|lock|known|runs\.jsonl|refusals\.jsonl|warehouse\.duckdb|index/(local|search)\.duckdb|` +
	`published/(current|[0-9TZ]+-[0-9a-z]+/(contents\.json|thtbatch\.duckdb|[a-z_]+\.parquet)))$`)

// noStrays fails for every other file.
func (d *desk) noStrays(t *testing.T) {
	t.Helper()
	for name := range filesOf(t, d.settings.StateDir) {
		if !expected.MatchString(name) {
			t.Errorf("%s was left behind", name)
		}
	}
	if _, err := os.Stat(d.state("warehouse.duckdb.spill")); err == nil {
		t.Error("a directory for what does not fit into memory was left behind")
	}
}

// A run that is killed wherever it is, and the next one, leave in the index and
// in the views what one run leaves that nothing disturbs.
func TestKilledRunIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	n := newNights(t)
	unbroken := n.at(n.after)
	views, points := unbroken.views(t), unbroken.index(t)
	unbroken.noStrays(t)
	kills := 7 * len(seeds(t, 2))
	abandoned := 0
	for i := range kills {
		d := n.at(filepath.Join(t.TempDir(), "state"))
		if i%6 != 5 { // else from nothing
			copyState(t, n.before, d.settings.StateDir)
		}
		deaths := 1 + rng.IntN(2)
		for range deaths {
			if i%3 == 0 {
				at := 1 + rng.Int64N(n.calls)
				t.Logf("kill %d: at call %d of the clock", i, at)
				d.start(t, order{Argv: []string{"backfill"}, DieAt: at}).wait(t)
				continue
			}
			c := d.start(t, order{Argv: []string{"backfill"}})
			stage, pause := pick(rng, n.stages)
			t.Logf("kill %d: after %v of %s", i, pause, stage)
			c.signalIn(t, stage, pause, syscall.SIGKILL)
			c.wait(t)
		}
		d.run(t, fault.Done, "backfill")
		abandoned += d.endedRuns(t, state.Abandoned)
		sameViews(t, "after a kill", d.views(t), views)
		samePoints(t, "after a kill", d.index(t), points)
		samePoints(t, "the copy for searches", pointsIn(t, d.state("index", "search.duckdb")), points)
		d.noStrays(t)
		if i%4 == 0 {
			again := d.run(t, fault.Done, "backfill").summary
			if !again.Published.Unchanged || again.Unchanged != len(points) || again.Embedded != 0 {
				t.Errorf("the run after it: %+v, unchanged %d of %d", again.Published, again.Unchanged, len(points))
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if abandoned < kills/4 {
		t.Errorf("only %d of %d kills met a run", abandoned, kills)
	}
}

// endedRuns counts the runs of a status, in the command runs and in the
// published view, which must agree once the last run has ended.
func (d *desk) endedRuns(t *testing.T, status state.RunStatus) int {
	t.Helper()
	var all []state.Run
	if err := json.Unmarshal([]byte(d.run(t, fault.Done, "runs", "--last", "0").stdout), &all); err != nil {
		t.Fatal(err)
	}
	count := 0
	for i, r := range all {
		if r.Status == status {
			count++
		}
		if r.Status == state.Running {
			t.Errorf("run %d of %d is still running", i, len(all))
		}
	}
	if published := d.query(t, "SELECT run_id FROM runs WHERE status = '"+string(status)+"'"); len(published) != count {
		t.Errorf("the view runs has %d %s, the list %d", len(published), status, count)
	}
	return count
}

// A run that is asked to stop ends between two batches, says so, and the next
// one finishes its work.
func TestInterruptedRunIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	n := newNights(t)
	unbroken := n.at(n.after)
	views, points := unbroken.views(t), unbroken.index(t)
	stops := 8
	if testing.Short() {
		stops = 4
	}
	interrupted := 0
	for i := range stops {
		d := n.at(filepath.Join(t.TempDir(), "state"))
		copyState(t, n.before, d.settings.StateDir)
		c := d.start(t, order{Argv: []string{"backfill"}})
		signal := []os.Signal{syscall.SIGTERM, syscall.SIGINT}[i%2]
		stage, pause := pick(rng, n.stages)
		t.Logf("stop %d: %v after %v of %s", i, signal, pause, stage)
		c.signalIn(t, stage, pause, signal)
		code, log := c.wait(t)
		switch code {
		case int(fault.Interrupted):
			interrupted++
			d.run(t, fault.Done, "backfill")
			if n := d.endedRuns(t, state.Interrupted); n != 1 {
				t.Errorf("%d runs are interrupted", n)
			}
		case int(fault.Done): // too late
		default:
			t.Fatalf("exit %d:\n%s", code, log)
		}
		sameViews(t, "after a stop", d.views(t), views)
		samePoints(t, "after a stop", d.index(t), points)
		d.noStrays(t)
		if t.Failed() {
			t.FailNow()
		}
	}
	if interrupted == 0 {
		t.Error("no run was interrupted")
	}
}

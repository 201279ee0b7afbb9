package jobs_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// What can be computed again may be deleted.
func TestWhatIsDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	d := randomDesk(t, rand.New(rand.NewPCG(14, 0)), 40)
	first := d.backfill(t)
	views, points := d.views(t), d.index(t)
	for _, test := range []struct {
		name     string
		remove   []string
		inserted int
	}{
		{"warehouse", []string{"warehouse.duckdb", "warehouse.duckdb.wal"}, 0},
		{"index", []string{"index/local.duckdb", "index/local.duckdb.wal"}, first.Inserted},
		{"directory of the index", []string{"index"}, first.Inserted},
		{"copy for searches", []string{"index/search.duckdb"}, 0},
		{"publications", []string{"published"}, 0},
		{"link to the publication", []string{"published/current"}, 0},
		{"warehouse and publications", []string{"warehouse.duckdb", "published"}, 0},
		{"all but the small files", []string{"warehouse.duckdb", "published", "index"}, first.Inserted},
		{"known sessions", []string{"known"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range test.remove {
				if err := os.RemoveAll(d.state(name)); err != nil {
					t.Fatal(err)
				}
			}
			s := d.backfill(t)
			if s.Inserted != test.inserted || s.Embedded != test.inserted || s.Updated+s.Repayloaded+s.Failed != 0 {
				t.Errorf("inserted %d, embedded %d, updated %d, repayloaded %d, failed %d", s.Inserted, s.Embedded, s.Updated, s.Repayloaded, s.Failed)
			}
			sameViews(t, "made again", d.views(t), views)
			samePoints(t, "made again", d.index(t), points)
			samePoints(t, "copy for searches", pointsIn(t, d.state("index", "search.duckdb")), points)
			d.noStrays(t)
		})
	}
}

// A killed run leaves a write-ahead log. Who deletes the warehouse and forgets
// it, or has only the log left, loses nothing.
func TestWarehouseDeletedBesideItsLog(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	unbroken := n.at(n.after)
	views, points := unbroken.views(t), unbroken.index(t)
	d := n.at(n.before)
	d.start(t, order{Argv: []string{"backfill"}, DieAt: n.calls - 20}).wait(t)
	if _, err := os.Stat(d.state("warehouse.duckdb.wal")); err != nil {
		t.Fatalf("the killed run left no log: %v", err)
	}
	if err := os.Remove(d.state("warehouse.duckdb")); err != nil {
		t.Fatal(err)
	}
	d.run(t, fault.Done, "backfill")
	sameViews(t, "without the file", d.views(t), views)
	samePoints(t, "without the file", d.index(t), points)
	d.noStrays(t)
}

// A file that is no warehouse, or half of one, is named and not written over.
func TestDamagedFilesAreNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"warehouse.duckdb", "index/local.duckdb"} {
		t.Run(name, func(t *testing.T) {
			d := cleanDesk(t, 3)
			d.run(t, fault.Done, "backfill")
			if err := os.WriteFile(d.state(name), []byte("this is no database, but it may be what somebody needs"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, d.settings.StateDir)
			out := d.run(t, fault.Failed, "backfill")
			if got := pathOf(out.err); got != d.state(name) {
				t.Errorf("the error names %q: %v", got, out.err)
			}
			sameFiles(t, "state", without(before, ofAnyRun...), without(filesOf(t, d.settings.StateDir), ofAnyRun...))
			if got := read(t, d.state(name)); !strings.Contains(got, "somebody needs") {
				t.Error("it was written over")
			}
		})
	}
}

// report reads no artifacts and publishes everything anew.
func TestReportMakesTheSameViews(t *testing.T) {
	t.Parallel()
	d := randomDesk(t, rand.New(rand.NewPCG(15, 0)), 30)
	d.backfill(t)
	views, index := d.views(t), filesOf(t, d.state("index"))
	if err := os.Rename(d.settings.ArtifactsDir, d.settings.ArtifactsDir+".away"); err != nil {
		t.Fatal(err)
	}
	s := d.run(t, fault.Done, "report").summary
	if len(s.Published.Views) < len(views) || s.Published.Unchanged {
		t.Errorf("published %+v", s.Published)
	}
	sameViews(t, "report", d.views(t), views)
	sameFiles(t, "index", index, filesOf(t, d.state("index")))
}

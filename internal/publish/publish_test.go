//go:build duckdb_arrow

package publish_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/extract"
	"github.com/thtbatch/thtbatch/internal/publish"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

func openWarehouse(t *testing.T, path string) *warehouse.DB {
	t.Helper()
	db, err := warehouse.Open(t.Context(), duck.Options{Path: path, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func filled(t *testing.T) *warehouse.DB {
	t.Helper()
	return fill(t, filepath.Join(t.TempDir(), "warehouse.duckdb"))
}

// fill makes a warehouse with a session and a registry of one line, derived.
func fill(t *testing.T, path string) *warehouse.DB {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"sessions/s1/manifest.yaml":          "id: s1\nquestion: how many?\nstatus: finalized\n",
		"sessions/s1/review_decisions.jsonl": `{"seq": 1, "ts": "2026-01-02T03:04:05Z", "type": "concept_clarified", "subject": "stay", "n": 12345678901234567890}` + "\n",
		"memory/registry.jsonl":              `{"id": "mem-0001", "type": "concept_clarified", "subject": "stay", "tables": ["t"]}` + "\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := openWarehouse(t, path)
	layout := extract.DefaultLayout(root)
	_, err := db.SetRules(t.Context(), warehouse.Rules{
		WithdrawalType: "decision_withdrawn", ReopeningType: "phase_reopened", CandidateCap: 5, SolvedStatuses: []string{"finalized"},
		ArtifactsRoot: root, Sessions: layout.Sessions, Manifest: layout.Manifest, Ledger: layout.Ledger, SQL: layout.SQL, Registry: layout.Registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = extract.Read(t.Context(), layout, []extract.Session{{Key: 1, ID: "s1"}}, extract.Options{ScanID: 1, Now: time.Now}, func(b *extract.Batch) error {
		return db.Store(t.Context(), warehouse.Batch{
			New:      []warehouse.Session{{Key: 1, ID: "s1"}},
			Replaced: [3][]int64{b.Replaced.Manifest, b.Replaced.Ledger, b.Replaced.SQL},
			Stamps:   b.Stamps, Manifests: b.Manifests, Ledgers: b.Ledgers, Lines: b.Lines, SQL: b.SQL, Faults: b.Faults,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := db.NewRegistry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = extract.ReadRegistry(t.Context(), layout.RegistryPath(), nil, extract.Options{ScanID: 1, Now: time.Now}, func(lines, faults arrow.RecordBatch) error {
		return registry.Add(t.Context(), lines, faults)
	})
	if err := errors.Join(err, registry.Commit(t.Context(), warehouse.Stamp{})); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Derive(t.Context(), warehouse.Accept{}); err != nil || n != 1 {
		t.Fatalf("%d derived, %v", n, err)
	}
	if err := db.SetRuns(t.Context(), []warehouse.Run{{RunID: "r1", Job: "backfill", Status: "done"}}); err != nil {
		t.Fatal(err)
	}
	return db
}

// change touches the group of the sessions and no other.
func change(t *testing.T, db *warehouse.DB, name string) {
	t.Helper()
	if err := db.SetSkipped(t.Context(), []warehouse.Skipped{{Name: name, Reason: "a link that leaves the artifacts"}}); err != nil {
		t.Fatal(err)
	}
}

func mustPublish(t *testing.T, db *warehouse.DB, o publish.Options) publish.Result {
	t.Helper()
	result, err := publish.Publish(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// listing are the names in a directory, without where a link goes.
func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func current(t *testing.T, dir string) string {
	t.Helper()
	target, err := os.Readlink(filepath.Join(dir, publish.Current))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func viewNames() (names []string) {
	for _, v := range warehouse.Views() {
		names = append(names, v.Name)
	}
	return names
}

func TestFirstPublication(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		t.Run(fmt.Sprintf("umask %#o", umask), func(t *testing.T) {
			db := filled(t)
			dir := filepath.Join(t.TempDir(), "deep", "published")
			before := syscall.Umask(umask)
			result := mustPublish(t, db, publish.Options{Dir: dir, RunID: "r1", Keep: 3})
			syscall.Umask(before)
			if result.Unchanged || result.Dir != filepath.Join(dir, publish.Current) || !slices.Equal(result.Views, viewNames()) {
				t.Errorf("%+v", result)
			}
			if current(t, dir) != "r1" || !slices.Equal(listing(t, dir), []string{"current", "r1"}) {
				t.Errorf("%s holds %q, current is %s", dir, listing(t, dir), current(t, dir))
			}
			want := []string{"contents.json", warehouse.PublishedFile}
			for _, name := range viewNames() {
				want = append(want, warehouse.ParquetFile(name))
			}
			slices.Sort(want)
			published := filepath.Join(dir, "r1")
			if got := listing(t, published); !slices.Equal(got, want) {
				t.Errorf("published are\n %q\nwant\n %q", got, want)
			}
			for path, mode := range map[string]fs.FileMode{filepath.Dir(dir): 0o750, dir: 0o750, published: 0o750} {
				checkMode(t, path, mode)
			}
			for _, name := range want {
				checkMode(t, filepath.Join(published, name), 0o640)
			}
		})
	}
}

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s has mode %#o, want %#o", path, info.Mode().Perm(), want)
	}
}

// The file is one that any DuckDB from 1.0 on opens: its header has the storage
// version of 1.0.0, which is number 64.
func TestPublishedFileIsForEveryone(t *testing.T) {
	db := filled(t)
	dir := t.TempDir()
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "r1", Keep: 3})
	path := filepath.Join(dir, "r1", warehouse.PublishedFile)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if magic, version := string(file[8:12]), binary.LittleEndian.Uint64(file[12:20]); magic != "DUCK" || version != 64 {
		t.Errorf("magic %q, storage version %d", magic, version)
	}
	// Without the right to write beside it, as an analyst of the group has it.
	if err := os.Chmod(filepath.Join(dir, "r1"), 0o550); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Join(dir, "r1"), 0o750) }()
	reader, err := duck.Open(t.Context(), duck.Options{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	for statement, want := range map[string]string{
		"SELECT count(*) || '' FROM sessions":                                                      "1",
		"SELECT extra->>'n' FROM decisions":                                                        "12345678901234567890",
		"SELECT subject FROM effective_decisions":                                                  "stay",
		"SELECT status FROM promotion_candidates":                                                  "proposed",
		"SELECT tables[1] FROM memories":                                                           "t",
		"SELECT run_id FROM runs":                                                                  "r1",
		"SELECT string_agg(view_name, ' ') FROM duckdb_views() WHERE NOT internal":                 "effective_decisions",
		"SELECT count(*) || '' FROM duckdb_tables() WHERE NOT internal":                            "12",
		"SELECT comment FROM duckdb_columns() WHERE table_name = 'decisions' AND column_index = 2": "Number of the decision in its session; decisions are ordered by it",
	} {
		var got string
		if err := reader.Value(t.Context(), &got, statement); err != nil || got != want {
			t.Errorf("%s: %q, %v", statement, got, err)
		}
	}
	for _, v := range warehouse.Views() {
		var inFile, inParquet int64
		parquet := duck.Quote(filepath.Join(dir, "r1", warehouse.ParquetFile(v.Name)))
		err := errors.Join(reader.Value(t.Context(), &inFile, "SELECT count(*) FROM "+v.Name),
			reader.Value(t.Context(), &inParquet, "SELECT count(*) FROM "+parquet))
		if err != nil || inFile != inParquet {
			t.Errorf("%s: %d rows in the file, %d in Parquet, %v", v.Name, inFile, inParquet, err)
		}
	}
}

func TestOnlyRunsAreWrittenOnAnUnchangedNight(t *testing.T) {
	db := filled(t)
	dir := t.TempDir()
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "r1", Keep: 3})
	before := stats(t, filepath.Join(dir, "r1"))
	if err := db.SetRuns(t.Context(), []warehouse.Run{{RunID: "r1"}, {RunID: "r2"}}); err != nil {
		t.Fatal(err)
	}
	result := mustPublish(t, db, publish.Options{Dir: dir, RunID: "r2", Keep: 3})
	if !result.Unchanged || !slices.Equal(result.Views, []string{"runs"}) || current(t, dir) != "r1" {
		t.Errorf("%+v, current is %s", result, current(t, dir))
	}
	after := stats(t, filepath.Join(dir, "r1"))
	if len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
	for name, info := range before {
		same := os.SameFile(info, after[name]) && info.ModTime().Equal(after[name].ModTime())
		if same == (name == "runs.parquet") {
			t.Errorf("%s: the former file is %t", name, same)
		}
	}
	checkMode(t, filepath.Join(dir, "r1", "runs.parquet"), 0o640)
	// The command reads what is newest.
	if got := publishedRuns(t, dir); got != 2 {
		t.Errorf("%d runs are published, want 2", got)
	}
}

func stats(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	infos := map[string]os.FileInfo{}
	for _, name := range listing(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		infos[name] = info
	}
	return infos
}

func publishedRuns(t *testing.T, dir string) (n int) {
	t.Helper()
	p, err := warehouse.OpenPublished(t.Context(), filepath.Join(dir, publish.Current), duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	err = p.Query(t.Context(), "SELECT * FROM runs", func([]string) error { return nil }, func([]any) error { n++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A view is written anew when a group that it depends on changed, and is the
// former file otherwise.
func TestOnlyWhatChangedIsWritten(t *testing.T) {
	db := filled(t)
	dir := t.TempDir()
	runs := 1
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "r1", Keep: 3})
	for _, change := range []struct {
		group warehouse.Group
		do    func() error
	}{
		{warehouse.GroupSessions, func() error { return db.SetSkipped(t.Context(), []warehouse.Skipped{{Name: "a", Reason: "b"}}) }},
		{warehouse.GroupIndex, func() error {
			err := db.BeginPlan(t.Context(), nil, nil)
			return errors.Join(err, db.AddApplied(t.Context(), []warehouse.Applied{{Key: "memory:mem-0001", Kind: "memory", PointID: "p"}}),
				db.Settle(t.Context(), "w", time.Unix(1, 0)))
		}},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		before := stats(t, filepath.Join(dir, current(t, dir)))
		runs++
		result := mustPublish(t, db, publish.Options{Dir: dir, RunID: fmt.Sprintf("r%d", runs), Keep: 3})
		after := stats(t, filepath.Join(dir, current(t, dir)))
		for _, v := range warehouse.Views() {
			name := warehouse.ParquetFile(v.Name)
			anew := len(v.Groups) == 0 || slices.Contains(v.Groups, change.group)
			if os.SameFile(before[name], after[name]) == anew || slices.Contains(result.Views, v.Name) != anew {
				t.Errorf("%s changed: %s written anew is %t", change.group, v.Name, !anew)
			}
		}
	}
	// The index again, at another time: only seen_at would change.
	if err := db.Settle(t.Context(), "w", time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if result := mustPublish(t, db, publish.Options{Dir: dir, RunID: "r9", Keep: 3}); !result.Unchanged {
		t.Errorf("written for a new seen_at: %v", result.Views)
	}
	if result := mustPublish(t, db, publish.Options{Dir: dir, RunID: "r9", Keep: 3, All: true}); result.Unchanged || len(result.Views) != len(viewNames()) {
		t.Errorf("all were asked for, written were %v", result.Views)
	}
}

func TestThreeAreKept(t *testing.T) {
	db := filled(t)
	dir := t.TempDir()
	for _, other := range []string{"notes", "00-not-a-publication"} {
		if err := os.Mkdir(filepath.Join(dir, other), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		change(t, db, fmt.Sprint(i))
		mustPublish(t, db, publish.Options{Dir: dir, RunID: fmt.Sprintf("r%d", i), Keep: 3})
		if publishedRuns(t, dir) != 1 {
			t.Error("the publication cannot be read")
		}
	}
	if got, want := listing(t, dir), []string{"00-not-a-publication", "current", "notes", "r2", "r3", "r4"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	// A clock that was set back gives a name that sorts first: the current one stays.
	change(t, db, "again")
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "a", Keep: 1})
	if got, want := listing(t, dir), []string{"00-not-a-publication", "a", "current", "notes"}; !slices.Equal(got, want) || current(t, dir) != "a" {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// What cannot be used is written anew, whatever is wrong with it.
func TestDamagedPublicationsAreReplaced(t *testing.T) {
	db := filled(t)
	dir := t.TempDir()
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "r0", Keep: 3})
	for i, damage := range []func(current string) error{
		func(c string) error { return os.WriteFile(filepath.Join(c, "contents.json"), []byte(`{"run`), 0o640) },
		func(c string) error { return os.Remove(filepath.Join(c, "contents.json")) },
		func(c string) error { return os.Remove(filepath.Join(c, warehouse.PublishedFile)) },
		func(c string) error { return os.Remove(filepath.Join(c, "memories.parquet")) },
		os.RemoveAll,
		func(string) error { return os.Remove(filepath.Join(dir, publish.Current)) },
	} {
		if err := damage(filepath.Join(dir, current(t, dir))); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("r%d", i+1)
		result := mustPublish(t, db, publish.Options{Dir: dir, RunID: id, Keep: 3})
		if result.Unchanged || len(result.Views) != len(viewNames()) || current(t, dir) != id || publishedRuns(t, dir) != 1 {
			t.Errorf("damage %d: %+v, current is %s", i, result, current(t, dir))
		}
	}
}

// A failure leaves the link and what it points to as they were, and no draft.
func TestFailedPublicationLeavesTheFormer(t *testing.T) {
	db := filled(t)
	dir := t.TempDir()
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "r1", Keep: 3})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := publish.Publish(ended, db, publish.Options{Dir: dir, RunID: "r2", Keep: 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled on an unchanged night: %v", err)
	}
	if n := len(listing(t, filepath.Join(dir, "r1"))); n != len(viewNames())+2 {
		t.Errorf("%d files are in the publication", n)
	}
	change(t, db, "x")
	if _, err := publish.Publish(ended, db, publish.Options{Dir: dir, RunID: "r2", Keep: 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// The name of the new publication is taken by something that is not ours.
	if err := os.MkdirAll(filepath.Join(dir, "r3", "notes"), 0o750); err != nil {
		t.Fatal(err)
	}
	_, err := publish.Publish(t.Context(), db, publish.Options{Dir: dir, RunID: "r3", Keep: 3})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("name taken: %v", err)
	}
	if got := listing(t, dir); !slices.Equal(got, []string{"current", "r1", "r3"}) || current(t, dir) != "r1" || publishedRuns(t, dir) != 1 {
		t.Errorf("left are %q", got)
	}
	if result := mustPublish(t, db, publish.Options{Dir: dir, RunID: "r4", Keep: 3}); result.Unchanged || current(t, dir) != "r4" {
		t.Errorf("afterwards: %+v", result)
	}
}

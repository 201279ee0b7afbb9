//go:build duckdb_arrow

package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/record"
)

const dims = 8

// point is a write of one Memory; revision decides its vector and its payload.
func point(n, revision int) load.Write {
	ref := fmt.Sprintf("mem-%04d", n)
	key := record.MemoryKey(ref)
	vector := make([]float32, dims)
	vector[revision%dims] = 1
	return load.Write{PointID: record.PointID(key), Key: key, Vector: vector, Payload: map[string]any{
		"record_key": key, "kind": record.KindMemory, "ref": ref, "type": record.ReusableType,
		"content_hash": fmt.Sprint(revision), "subject": fmt.Sprintf("subject %d of %s", revision, ref),
	}}
}

func points(from, n, revision int) []load.Write {
	writes := make([]load.Write, n)
	for i := range writes {
		writes[i] = point(from+i, revision)
	}
	return writes
}

// fill makes a store of n points at path and closes it.
func fill(t testing.TB, path string, n, revision int) {
	t.Helper()
	s, err := local.Open(t.Context(), duck.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(s.Prepare(t.Context(), dims), s.Write(t.Context(), points(0, n, revision)), s.Close())
	if err != nil {
		t.Fatal(err)
	}
}

func TestAStoreIsFoundAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.duckdb")
	fill(t, path, 10, 3)
	if _, err := os.Stat(path + ".wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a closed store leaves its log: %v", err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, duck.Options{Path: path})
	info, err := s.Info(t.Context())
	if want := (load.Info{Exists: true, Dimensions: dims, Points: 10, Place: path}); err != nil || info != want {
		t.Fatalf("%+v, %v, want %+v", info, err, want)
	}
	if err := errors.Join(s.Prepare(t.Context(), dims), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	// What only reads must leave the file as it is: a copy is made when it changed.
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !after.ModTime().Equal(before.ModTime()) || !bytes.Equal(content, again) {
		t.Error("opening and closing changed the file")
	}
	if before.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", before.Mode().Perm())
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, statements ...string) string {
		path := filepath.Join(dir, name)
		db, err := duck.Open(t.Context(), duck.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range statements {
			if err := db.Exec(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ path, id string }{
		{file("newer", "CREATE TABLE store_meta (version INTEGER, dimensions INTEGER, more INTEGER)", "INSERT INTO store_meta VALUES (99, 8, 1)"), "store_newer"},
		{file("other", "CREATE TABLE t (x INTEGER)"), "store_foreign"},
	} {
		_, err := local.Open(t.Context(), duck.Options{Path: c.path})
		var classified *fault.Error
		if !errors.As(err, &classified) || classified.ID != c.id || classified.Path != c.path || classified.Code != fault.Usage {
			t.Errorf("%v, want %s", err, c.id)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), bytes.Repeat([]byte("no database "), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Open(t.Context(), duck.Options{Path: filepath.Join(dir, "text")}); err == nil {
		t.Error("a text file was opened")
	}
	if _, err := local.Open(t.Context(), duck.Options{Path: filepath.Join(dir, "absent"), ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestCopyIsForReaders(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "index.duckdb"), filepath.Join(dir, "published.duckdb")
	fill(t, src, 100, 1)
	current := func(want bool) {
		t.Helper()
		if got, err := local.Current(src, dst); err != nil || got != want {
			t.Fatalf("current is %v, %v, want %v", got, err, want)
		}
	}
	current(false)
	if err := local.Copy(ctx, src, dst); err != nil {
		t.Fatal(err)
	}
	current(true)
	if info, err := os.Stat(dst); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	first, second := open(t, duck.Options{Path: dst, ReadOnly: true}), open(t, duck.Options{Path: dst, ReadOnly: true})
	if err := first.Write(ctx, points(0, 1, 1)); err == nil {
		t.Error("a reader wrote")
	}
	if err := first.Prepare(ctx, dims+1); err == nil {
		t.Error("a reader prepared another dimension")
	}

	// A writer at work and a new copy do not disturb who reads the old one.
	fill(t, src, 100, 2)
	current(false)
	if err := local.Copy(ctx, src, dst); err != nil {
		t.Fatal(err)
	}
	current(true)
	third := open(t, duck.Options{Path: dst, ReadOnly: true})
	for i, c := range []struct {
		store    *local.Store
		revision string
	}{{first, "1"}, {second, "1"}, {third, "2"}} {
		hits, err := c.store.Search(ctx, load.Query{Vector: point(0, 1).Vector, Limit: 100, Filter: map[string]string{"content_hash": c.revision}})
		if err != nil || len(hits) != 100 {
			t.Errorf("reader %d finds %d of revision %s, %v", i, len(hits), c.revision, err)
		}
	}
	if left, _ := filepath.Glob(dst + ".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestCopyThatFailsLeavesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "index.duckdb"), filepath.Join(dir, "published.duckdb")
	fill(t, src, 10, 1)
	if err := local.Copy(t.Context(), src, dst); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(dst)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, src, 20, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := local.Copy(ctx, src, dst); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
	if err := local.Copy(t.Context(), filepath.Join(dir, "absent"), dst); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want an absent source", err)
	}
	if now, err := os.ReadFile(dst); err != nil || !bytes.Equal(old, now) {
		t.Errorf("the old copy changed, %v", err)
	}
}

// A store is written over every night. The file may hold what is replaced
// until it is closed, and must not grow from night to night.
func TestRewritesDoNotGrowTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.duckdb")
	const n = 2000
	fill(t, path, n, 0)
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	first := size()
	var sizes []int64
	for night := 1; night <= 18; night++ {
		s, err := local.Open(t.Context(), duck.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		writes := points(0, n, night)
		if night%3 == 0 {
			for i := range writes {
				writes[i].Vector = nil
			}
		}
		for batch := range slices.Chunk(writes, 1000) {
			if err := s.Write(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size())
	}
	t.Logf("%d bytes, then %d", first, sizes)
	if most := slices.Max(sizes); most > 5*first {
		t.Errorf("the file grew from %d to %d bytes", first, most)
	}
	// Free blocks are used again: a store that grew by what is written every
	// night would be far beyond this.
	if late := slices.Max(sizes[12:]); late > 2*slices.Max(sizes[:6]) {
		t.Errorf("the file still grows: %d", sizes)
	}
}

func TestCallsTakeTurns(t *testing.T) {
	s := open(t, duck.Options{Path: filepath.Join(t.TempDir(), "index.duckdb")})
	if err := s.Prepare(t.Context(), dims); err != nil {
		t.Fatal(err)
	}
	const writers = 4
	done := make(chan error, 2*writers)
	for w := range writers {
		go func() { done <- s.Write(t.Context(), points(w*100, 100, w)) }()
		go func() {
			_, err := s.Search(t.Context(), load.Query{Vector: point(0, 0).Vector, Limit: 5})
			done <- err
		}()
	}
	for range 2 * writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	info, err := s.Info(t.Context())
	if err != nil || info.Points != 100*writers {
		t.Errorf("%+v, %v", info, err)
	}
	// A call that waits for its turn ends with its context.
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if err := s.Write(ctx, points(0, 1, 9)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of the context", err)
	}
}

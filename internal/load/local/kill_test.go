//go:build duckdb_arrow

package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/record"
)

// The killed writer keeps writing over groups of points, one group a batch,
// and says the number of a batch when Write has returned. Batch r brings
// revision r to every point of group r modulo killGroups.
const (
	killGroups = 5
	killGroup  = 60
	killEnv    = "THTBATCH_TEST_KILL_STORE"
	holdEnv    = "THTBATCH_TEST_HOLD_STORE"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(killEnv); path != "" {
		if err := writeForEver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if path := os.Getenv(holdEnv); path != "" {
		if err := hold(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold keeps a store open for writing until its standard input ends.
func hold(path string) error {
	s, err := local.Open(context.Background(), duck.Options{Path: path})
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

func killBatch(revision int) []load.Write {
	writes := points(revision%killGroups*killGroup, killGroup, revision)
	if revision%7 == 6 && revision >= killGroups {
		// Payloads alone: the vectors stay those of the last revision before.
		for i := range writes {
			writes[i].Vector = nil
		}
	}
	return writes
}

// vectorOf is the revision that a group's vectors are of when its payloads are
// of this one.
func vectorOf(revision int) int {
	for revision%7 == 6 && revision >= killGroups {
		revision -= killGroups
	}
	return revision
}

func writeForEver(path string) error {
	ctx := context.Background()
	from, err := strconv.Atoi(os.Getenv(killEnv + "_FROM"))
	if err != nil {
		return err
	}
	for revision := from; ; {
		s, err := local.Open(ctx, duck.Options{Path: path, Threads: 1})
		if err != nil {
			return err
		}
		if err := s.Prepare(ctx, dims); err != nil {
			return err
		}
		// Closing moves the log into the file: kills must meet that too.
		for range 4 {
			if err := s.Write(ctx, killBatch(revision)); err != nil {
				return err
			}
			fmt.Println(revision)
			revision++
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
}

func TestKilledWriterLeavesWholeBatches(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "index.duckdb")
	kills := 12
	if testing.Short() {
		kills = 4
	}
	done := -1 // the last batch whose Write is known to have returned
	for range kills {
		acknowledged := killWriter(t, path, done+1, time.Duration(random.IntN(250))*time.Millisecond, 1+random.IntN(6))
		done = wantWholeBatches(t, path, max(done, acknowledged))
	}
	t.Logf("%d batches in %d runs", done+1, kills)
}

// killWriter runs a writer that begins with a batch and kills it some time
// after it has said some batches. It returns the last one that it said.
func killWriter(t *testing.T, path string, from int, after time.Duration, said int) int {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), killEnv+"="+path, killEnv+"_FROM="+strconv.Itoa(from))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last, lines := from-1, 0
	var timer *time.Timer
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		if last, err = strconv.Atoi(scanner.Text()); err != nil {
			t.Errorf("the writer said %q", scanner.Text())
			break
		}
		if lines++; lines == said {
			timer = time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
	}
	if timer == nil {
		_ = child.Process.Kill()
		t.Errorf("the writer ended after %d batches", lines)
	} else {
		timer.Stop()
	}
	_ = child.Wait()
	return last
}

// wantWholeBatches reads the store that a killed writer left and returns the
// last batch that it holds, which is the last acknowledged one or the next.
func wantWholeBatches(t *testing.T, path string, acknowledged int) int {
	t.Helper()
	s, err := local.Open(t.Context(), duck.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	last := -1
	revisions := make(map[int]int)
	for group := range killGroups {
		var keys []string
		for i := range killGroup {
			keys = append(keys, record.MemoryKey(fmt.Sprintf("mem-%04d", group*killGroup+i)))
		}
		held, err := s.Lookup(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		if len(held) == 0 {
			continue
		}
		if len(held) != killGroup {
			t.Fatalf("group %d has %d points, want all or none", group, len(held))
		}
		revision, err := strconv.Atoi(held[0].ContentHash)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range held {
			if p.ContentHash != held[0].ContentHash {
				t.Fatalf("group %d holds revisions %s and %s", group, held[0].ContentHash, p.ContentHash)
			}
		}
		revisions[group] = revision
		last = max(last, revision)
	}
	if last != acknowledged && last != acknowledged+1 {
		t.Fatalf("the last batch held is %d, the last acknowledged %d", last, acknowledged)
	}
	for group, revision := range revisions {
		want := last - (last-group+killGroups)%killGroups
		if revision != want {
			t.Fatalf("group %d holds batch %d, want %d", group, revision, want)
		}
		wantVectors(t, s, revision)
	}
	if want := min(last+1, killGroups); len(revisions) != want {
		t.Fatalf("%d groups, want %d", len(revisions), want)
	}
	return last
}

// wantVectors finds a group's points by the vector that their payload says.
func wantVectors(t *testing.T, s *local.Store, revision int) {
	t.Helper()
	hits, err := s.Search(t.Context(), load.Query{
		Vector: point(0, vectorOf(revision)).Vector, Limit: 2 * killGroup,
		Filter: map[string]string{"content_hash": strconv.Itoa(revision)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) != killGroup {
		t.Fatalf("batch %d: %d points have its payload, want %d", revision, len(hits), killGroup)
	}
	for _, h := range hits {
		if h.Score < 0.9999 {
			t.Fatalf("batch %d: %s has another batch's vector", revision, h.Key)
		}
	}
}

// A copy of a store whose writer was killed holds what the log holds.
func TestCopyTakesTheLogOfAKilledWriter(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "index.duckdb"), filepath.Join(dir, "published.duckdb")
	killWriter(t, src, 0, 0, 2)
	if err := local.Copy(t.Context(), src, dst); err != nil {
		t.Fatal(err)
	}
	if current, err := local.Current(src, dst); err != nil || !current {
		t.Errorf("current is %v, %v", current, err)
	}
	reader := open(t, duck.Options{Path: dst, ReadOnly: true})
	info, err := reader.Info(t.Context())
	if err != nil || info.Points < 2*killGroup {
		t.Errorf("%+v, %v", info, err)
	}
}

// While another process writes, nobody else may open the file.
func TestAHeldFileIsBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.duckdb")
	fill(t, path, 1, 0)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), holdEnv+"="+path)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = child.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		_, err := local.Open(t.Context(), duck.Options{Path: path, ReadOnly: readOnly})
		if !errors.Is(err, duck.ErrBusy) || fault.CodeOf(err) != fault.Locked {
			t.Errorf("read only %v: %v, want a busy file", readOnly, err)
		}
	}
	if err := local.Copy(t.Context(), path, path+".copy"); !errors.Is(err, duck.ErrBusy) {
		t.Errorf("copy: %v, want a busy file", err)
	}
}

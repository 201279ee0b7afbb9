//go:build duckdb_arrow

package embed_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// model stands for a costly embedder: it remembers what was sent, and refuses,
// or answers with a zero vector, where a text asks for it.
type model struct {
	space string
	mu    sync.Mutex
	sent  []string
	err   error
}

func newModel(prefix string) *model {
	return &model{space: embed.Space{
		Provider: "test", Model: "m", Dimensions: 3, Normalisation: "none", Truncation: "none", Prefix: prefix,
	}.String()}
}

func (m *model) Space() string   { return m.space }
func (m *model) Dimensions() int { return 3 }

func (m *model) Embed(ctx context.Context, role embed.Role, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	m.sent = append(m.sent, texts...)
	var batch embed.BatchError
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		switch {
		case strings.HasPrefix(text, "refuse"):
			batch.Items = append(batch.Items, embed.ItemError{Index: i, Reason: "too large", Permanent: true})
		case strings.HasPrefix(text, "zero"):
			vectors[i] = make([]float32, 3)
		default:
			vectors[i] = vectorOf(text)
		}
	}
	if batch.Items != nil {
		return vectors, &batch
	}
	return vectors, ctx.Err()
}

func (m *model) sentSince() []string {
	sent := m.sent
	m.sent = nil
	return sent
}

func vectorOf(text string) []float32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	n := h.Sum32()
	return []float32{float32(n%97) + 1, float32(n%89) / 3, -float32(n % 83)}
}

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 7200))} }

func openCache(t testing.TB, path string, c *clock) *embed.Cache {
	t.Helper()
	cache, err := embed.OpenCache(context.Background(), duck.Options{Path: path}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

func closeCache(t testing.TB, cache *embed.Cache) {
	t.Helper()
	if err := cache.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantVectors(t testing.TB, e embed.Embedder, texts ...string) {
	t.Helper()
	got, err := e.Embed(context.Background(), embed.Document, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if !slices.Equal(got[i], vectorOf(text)) {
			t.Errorf("text %d has vector %v", i, got[i])
		}
	}
}

func TestCacheAnswersAfterReopening(t *testing.T) {
	t.Parallel()
	path, m, c := filepath.Join(t.TempDir(), "it's.duckdb"), newModel(""), newClock()
	cache := openCache(t, path, c)
	e := embed.Cached(m, cache)
	wantVectors(t, e, "a", "b", "a", "c\x00d")
	if sent := m.sentSince(); !slices.Equal(sent, []string{"a", "b", "c\x00d"}) || e.Misses() != 3 || e.Hits() != 1 {
		t.Errorf("sent %q, %d misses, %d hits", sent, e.Misses(), e.Hits())
	}
	closeCache(t, cache)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	cache = openCache(t, path, c)
	defer closeCache(t, cache)
	e = embed.Cached(m, cache)
	wantVectors(t, e, "c\x00d", "e", "b", "a")
	wantVectors(t, e, "e")
	if sent := m.sentSince(); !slices.Equal(sent, []string{"e"}) || e.Misses() != 1 || e.Hits() != 4 || e.Err() != nil {
		t.Errorf("sent %q, %d misses, %d hits, %v", sent, e.Misses(), e.Hits(), e.Err())
	}
	if e.Space() != m.Space() || e.Dimensions() != 3 {
		t.Error(e.Space(), e.Dimensions())
	}
}

func TestCacheKeepsSpacesApart(t *testing.T) {
	t.Parallel()
	path, c := filepath.Join(t.TempDir(), "cache.duckdb"), newClock()
	cache := openCache(t, path, c)
	for _, prefix := range []string{"", "passage: "} {
		m := newModel(prefix)
		wantVectors(t, embed.Cached(m, cache), "a", "b")
		if len(m.sent) != 2 {
			t.Errorf("sent %q with prefix %q", m.sent, prefix)
		}
	}
	closeCache(t, cache)
	// The key is the hash of the text as sent, prefix included.
	db, err := duck.Open(context.Background(), duck.Options{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for space, text := range map[string]string{newModel("").space: "a", newModel("passage: ").space: "passage: a"} {
		hash, n := sha256.Sum256([]byte(text)), 0
		err := db.Value(context.Background(), &n, "SELECT count(*) FROM vectors WHERE embed_space = ? AND text_hash = unhex(?)", space, hex.EncodeToString(hash[:]))
		if err != nil || n != 1 {
			t.Errorf("%s: %d rows, %v", space, n, err)
		}
	}
}

func TestCacheDoesNotKeepWhatIsOfNoUse(t *testing.T) {
	t.Parallel()
	cache := openCache(t, filepath.Join(t.TempDir(), "cache.duckdb"), newClock())
	defer closeCache(t, cache)
	m := newModel("")
	e := embed.Cached(m, cache)
	ctx := context.Background()
	wantVectors(t, e, "b")
	m.sentSince()
	texts := []string{"refuse", "a", "b", "zero", "refuse", "refuse too", "a"}
	for round := range 2 {
		got, err := e.Embed(ctx, embed.Document, texts)
		var at []int
		for _, item := range embed.Refused(err) {
			at = append(at, item.Index)
			if item.Reason != "too large" || !item.Permanent || got[item.Index] != nil {
				t.Errorf("%+v", item)
			}
		}
		if !slices.Equal(at, []int{0, 4, 5}) || !slices.Equal(got[1], vectorOf("a")) || !slices.Equal(got[6], vectorOf("a")) || !slices.Equal(got[2], vectorOf("b")) {
			t.Errorf("round %d: %v, %v", round, at, got)
		}
		if items, err := embed.Check(got[3:4], 3, 1); err != nil || len(items) != 1 {
			t.Errorf("round %d: the zero vector became %v", round, got[3])
		}
		want := []string{"refuse", "a", "zero", "refuse too"}
		if round == 1 {
			want = []string{"refuse", "zero", "refuse too"}
		}
		if sent := m.sentSince(); !slices.Equal(sent, want) {
			t.Errorf("round %d: sent %q", round, sent)
		}
	}
	// One caller's change of a vector must not reach another.
	got, _ := e.Embed(ctx, embed.Document, []string{"a", "a", "new", "new"})
	got[0][0], got[2][0] = 9, 9
	if got[1][0] == 9 || got[3][0] == 9 {
		t.Error("equal texts share a vector")
	}
}

func TestQuestionsPassTheCacheBy(t *testing.T) {
	t.Parallel()
	cache := openCache(t, filepath.Join(t.TempDir(), "cache.duckdb"), newClock())
	defer closeCache(t, cache)
	m := newModel("")
	e := embed.Cached(m, cache)
	for range 2 {
		if _, err := e.Embed(context.Background(), embed.Query, []string{"q"}); err != nil {
			t.Fatal(err)
		}
	}
	if spaces, err := cache.Spaces(context.Background()); err != nil || spaces != nil || len(m.sent) != 2 || e.Hits()+e.Misses() != 0 {
		t.Errorf("%v %v, sent %q", spaces, err, m.sent)
	}
}

func TestCachePrunes(t *testing.T) {
	t.Parallel()
	ctx, c := context.Background(), newClock()
	cache := openCache(t, filepath.Join(t.TempDir(), "cache.duckdb"), c)
	defer closeCache(t, cache)
	m, other := newModel(""), newModel("x")
	first := c.at
	wantVectors(t, embed.Cached(m, cache), "old", "used", "again")
	wantVectors(t, embed.Cached(other, cache), "old")
	c.at = c.at.Add(10 * 24 * time.Hour)
	wantVectors(t, embed.Cached(m, cache), "used", "new")
	c.at = c.at.Add(time.Hour)
	wantVectors(t, embed.Cached(m, cache), "used")

	spaces, err := cache.Spaces(ctx)
	want := []embed.CachedSpace{
		{Space: m.space, Vectors: 4, LastUsed: c.at.Add(-time.Hour).UTC()},
		{Space: other.space, Vectors: 1, LastUsed: first.UTC()},
	}
	if err != nil || !reflect.DeepEqual(spaces, want) {
		t.Errorf("%v %v", spaces, err)
	}
	if n, err := cache.PruneUnused(ctx, 30*24*time.Hour); n != 0 || err != nil {
		t.Errorf("%d pruned, %v", n, err)
	}
	if n, err := cache.PruneUnused(ctx, 5*24*time.Hour); n != 3 || err != nil {
		t.Errorf("%d pruned, %v", n, err)
	}
	m.sentSince()
	wantVectors(t, embed.Cached(m, cache), "old", "used", "new")
	if sent := m.sentSince(); !slices.Equal(sent, []string{"old"}) {
		t.Errorf("sent %q", sent)
	}
	if n, err := cache.PruneSpace(ctx, m.space); n != 3 || err != nil {
		t.Errorf("%d pruned, %v", n, err)
	}
	if spaces, err := cache.Spaces(ctx); len(spaces) != 0 || err != nil {
		t.Errorf("%v %v", spaces, err)
	}
}

func TestInnerErrorsPass(t *testing.T) {
	t.Parallel()
	cache := openCache(t, filepath.Join(t.TempDir(), "cache.duckdb"), newClock())
	defer closeCache(t, cache)
	m := newModel("")
	e := embed.Cached(m, cache)
	m.err = errors.New("down")
	if v, err := e.Embed(context.Background(), embed.Document, []string{"a"}); v != nil || !errors.Is(err, m.err) {
		t.Errorf("%v %v", v, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := e.Embed(ctx, embed.Document, []string{"a"}); v != nil || !errors.Is(err, context.Canceled) || e.Err() != nil {
		t.Errorf("%v %v, %v", v, err, e.Err())
	}
}

func TestCacheThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	ctx, dir, now := context.Background(), t.TempDir(), newClock().now
	damaged, foreign := filepath.Join(dir, "damaged.duckdb"), filepath.Join(dir, "foreign.duckdb")
	if err := os.WriteFile(damaged, bytes.Repeat([]byte("no database "), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := duck.Open(ctx, duck.Options{Path: foreign})
	if err == nil {
		err = errors.Join(db.Exec(ctx, "CREATE TABLE vectors (n INTEGER)"), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{damaged, foreign, filepath.Join(dir, "missing", "cache.duckdb")} {
		_, err := embed.OpenCache(ctx, duck.Options{Path: path}, now)
		var f *fault.Error
		if !errors.As(err, &f) || f.ID != "cache_unusable" || f.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := embed.OpenCache(cancelled, duck.Options{Path: filepath.Join(dir, "new.duckdb")}, now); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLostCacheDoesNotCostTheRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache.duckdb")
	cache, m := openCache(t, path, newClock()), newModel("")
	e := embed.Cached(m, cache)
	closeCache(t, cache)
	wantVectors(t, e, "a")
	wantVectors(t, e, "a")
	if e.Err() == nil || !strings.Contains(e.Err().Error(), path) || e.Misses() != 2 {
		t.Errorf("%v, %d misses", e.Err(), e.Misses())
	}
	m.space = "not in the form"
	if e := embed.Cached(m, cache); e.Err() == nil {
		t.Error("a space that cannot be read is cached")
	}
}

func TestConcurrentCache(t *testing.T) {
	t.Parallel()
	cache := openCache(t, filepath.Join(t.TempDir(), "cache.duckdb"), newClock())
	defer closeCache(t, cache)
	e := embed.Cached(newModel(""), cache)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 10 {
				wantVectors(t, e, fmt.Sprint("shared", i), fmt.Sprint(g, "own", i))
			}
		})
	}
	all.Wait()
	if e.Err() != nil || e.Hits()+e.Misses() != 80 {
		t.Errorf("%v, %d and %d", e.Err(), e.Hits(), e.Misses())
	}
}

func BenchmarkCache(b *testing.B) {
	const rows = 20_000
	cache := openCache(b, filepath.Join(b.TempDir(), "cache.duckdb"), newClock())
	defer closeCache(b, cache)
	e := embed.Cached(newModel(""), cache)
	texts := make([]string, rows)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	wantVectors(b, e, texts...)
	b.Run("hits", func(b *testing.B) {
		for b.Loop() {
			wantVectors(b, e, texts[:64]...)
		}
		b.ReportMetric(float64(64*b.N)/b.Elapsed().Seconds(), "texts/s")
	})
	b.Run("misses", func(b *testing.B) {
		n := 0
		for b.Loop() {
			batch := make([]string, 64)
			for i := range batch {
				n++
				batch[i] = fmt.Sprint("new ", b.N, " ", n)
			}
			wantVectors(b, e, batch...)
		}
		b.ReportMetric(float64(64*b.N)/b.Elapsed().Seconds(), "texts/s")
	})
}

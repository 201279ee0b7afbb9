//go:build duckdb_arrow

package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	query "github.com/thtbatch/thtbatch/sql"
)

// usedWithin is the grain of last_used: a vector that was used less than this
// ago is not written again to say so.
const usedWithin = 24 * time.Hour

// Cache keeps vectors in a DuckDB file of its own, by space and by the SHA-256
// of the text as it was sent to the model. Neither texts nor keys of records
// are in it. Every change is one transaction, so that a killed process leaves
// whole batches. A Cache may be used by several goroutines, one at a time
// getting through, and by one process.
type Cache struct {
	mu  sync.Mutex
	db  *duck.DB
	now func() time.Time
}

// OpenCache opens or creates the file of o, which only its owner can read; its
// directory must exist. While another process holds the file the error is
// duck.ErrBusy. A file that cannot be used (damaged, not ours, no permission)
// is the fault "cache_unusable" with its path: the caller decides whether to
// work without a cache.
func OpenCache(ctx context.Context, o duck.Options, now func() time.Time) (*Cache, error) {
	db, err := duck.Open(ctx, o)
	if err != nil {
		return nil, unusable(ctx, o.Path, err)
	}
	c := &Cache{db: db, now: now}
	err = db.Exec(ctx, query.Text("embed/cache_schema"))
	if err == nil {
		// A table of another shape shows here and not in the middle of a run.
		_, err = c.lookup(ctx, "", []textHash{{}})
	}
	if err != nil {
		return nil, unusable(ctx, o.Path, errors.Join(err, db.Close()))
	}
	return c, nil
}

func unusable(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil || errors.Is(err, duck.ErrBusy) {
		return fmt.Errorf("open the cache of embeddings: %w", err)
	}
	return fault.New(fault.Failed, "cache_unusable", "path", path, "cause", err.Error()).Because(err)
}

// Close writes what is pending and releases the file.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", c.db.Path(), err)
	}
	return nil
}

// CachedSpace is what the cache holds of one space.
type CachedSpace struct {
	Space    string
	Vectors  int64
	LastUsed time.Time // to within a day
}

// Spaces lists what the cache holds, by name of the space.
func (c *Cache) Spaces(ctx context.Context) (spaces []CachedSpace, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows, err := c.db.Query(ctx, query.Text("embed/cache_spaces"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s CachedSpace
		if err := rows.Scan(&s.Space, &s.Vectors, &s.LastUsed); err != nil {
			return nil, err
		}
		spaces = append(spaces, s)
	}
	return spaces, rows.Err()
}

// PruneSpace removes the vectors of one space and returns how many there were.
func (c *Cache) PruneSpace(ctx context.Context, space string) (removed int64, err error) {
	return c.prune(ctx, "embed/cache_prune_space", space)
}

// PruneUnused removes the vectors that were last used more than age ago, to
// within a day, and returns how many there were.
func (c *Cache) PruneUnused(ctx context.Context, age time.Duration) (removed int64, err error) {
	return c.prune(ctx, "embed/cache_prune_unused", c.now().UTC().Add(-age))
}

func (c *Cache) prune(ctx context.Context, statement string, arg any) (removed int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.db.Tx(ctx, func() error { return c.db.Value(ctx, &removed, query.Text(statement), arg) })
	if err != nil {
		return 0, fmt.Errorf("prune %s: %w", c.db.Path(), err)
	}
	return removed, nil
}

type textHash = [sha256.Size]byte

type cachedVector struct {
	vector   []float32
	lastUsed time.Time
}

// lookup finds the vectors of a batch, in one query.
func (c *Cache) lookup(ctx context.Context, space string, hashes []textHash) (map[textHash]cachedVector, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[textHash]cachedVector, len(hashes))
	err := c.db.ReadArrow(ctx, func(r arrow.RecordBatch) error {
		keys, ok1 := r.Column(0).(*array.Binary)
		lists, ok2 := r.Column(1).(*array.List)
		times, ok3 := r.Column(2).(*array.Timestamp)
		if !ok1 || !ok2 || !ok3 {
			return fmt.Errorf("look up %s: columns of another type", c.db.Path())
		}
		values, ok := lists.ListValues().(*array.Float32)
		if !ok {
			return fmt.Errorf("look up %s: vectors of another type", c.db.Path())
		}
		for i := range keys.Len() {
			var hash textHash
			copy(hash[:], keys.Value(i))
			from, to := lists.ValueOffsets(i)
			vector := append([]float32(nil), values.Float32Values()[from:to]...)
			found[hash] = cachedVector{vector, times.Value(i).ToTime(arrow.Microsecond)}
		}
		return nil
	}, query.Text("embed/cache_lookup"), space, inHex(hashes))
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", c.db.Path(), err)
	}
	return found, nil
}

// store adds vectors, and notes the use of others that are there, in one
// transaction.
func (c *Cache) store(ctx context.Context, space string, added map[textHash][]float32, used []textHash) (err error) {
	if len(added) == 0 && len(used) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", c.db.Path(), err)
		}
	}()
	now := c.now().UTC()
	rows := vectorRows(space, added, now)
	defer rows.Release()
	stream, err := c.db.Stream(ctx, rows.Schema(), rows)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	return c.db.Tx(ctx, func() error {
		if len(used) > 0 {
			if err := c.db.Exec(ctx, query.Text("embed/cache_touch"), space, inHex(used), now); err != nil {
				return err
			}
		}
		return c.db.Insert(ctx, "vectors", stream)
	})
}

// vectorRows has the columns of the table, in its order.
func vectorRows(space string, added map[textHash][]float32, now time.Time) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{
		{Name: "embed_space", Type: arrow.BinaryTypes.String},
		{Name: "text_hash", Type: arrow.BinaryTypes.Binary},
		{Name: "vector", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)},
		{Name: "last_used", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
	}, nil))
	defer b.Release()
	spaces, hashes := b.Field(0).(*array.StringBuilder), b.Field(1).(*array.BinaryBuilder)
	lists, times := b.Field(2).(*array.ListBuilder), b.Field(3).(*array.TimestampBuilder)
	values := lists.ValueBuilder().(*array.Float32Builder)
	for hash, vector := range added {
		spaces.Append(space)
		hashes.Append(hash[:])
		lists.Append(true)
		values.AppendValues(vector, nil)
		times.Append(arrow.Timestamp(now.UnixMicro()))
	}
	return b.NewRecordBatch()
}

func inHex(hashes []textHash) string {
	var b strings.Builder
	b.Grow(len(hashes) * (2*sha256.Size + 1))
	for i, hash := range hashes {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(hex.EncodeToString(hash[:]))
	}
	return b.String()
}

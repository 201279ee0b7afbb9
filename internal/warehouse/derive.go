//go:build duckdb_arrow

package warehouse

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/record"
	query "github.com/thtbatch/thtbatch/sql"
)

// Accept says of which degraded sessions a person accepted what can be read.
type Accept struct {
	All      bool
	Sessions []string
}

// Derive computes what is effective, what could be promoted and what is
// solved, for the sessions that need it and for no other, in one transaction.
// It returns their number.
func (db *DB) Derive(ctx context.Context, accept Accept) (int, error) {
	accepted := make([]any, len(accept.Sessions))
	for i, id := range accept.Sessions {
		accepted[i] = id
	}
	if err := db.duck.Exec(ctx, query.Text("derive/todo"), accept.All, accepted); err != nil {
		return 0, err
	}
	var todo int
	if err := db.duck.Value(ctx, &todo, query.Text("derive/todo_count")); err != nil || todo == 0 {
		return 0, err
	}
	err := db.duck.Tx(ctx, func() error {
		for _, name := range []string{"clear", "controls", "ineffective", "line_faults", "line_excerpts", "states", "candidates", "session_memories", "solved"} {
			if err := db.duck.Exec(ctx, query.Text("derive/"+name)); err != nil {
				return err
			}
		}
		return db.touch(ctx, GroupSessions)
	})
	return todo, err
}

// Forget has everything that is derived computed again by the next Derive and
// Hash.
func (db *DB) Forget(ctx context.Context) error {
	return db.duck.Tx(ctx, func() error {
		for _, name := range []string{"derive/forget_all", "derive/memories", "derive/forget_hashes"} {
			if err := db.duck.Exec(ctx, query.Text(name)); err != nil {
				return err
			}
		}
		return db.touch(ctx, GroupSessions, GroupMemories)
	})
}

// hashBatch is how many records are hashed between two inserts: only their
// hashes are held, and the content of Memory. It is more than a row group of
// the engine, whose rows then go into the file and not into its log first.
const hashBatch = 1 << 17

// Hash makes the content and the hashes of the records that lack them. shape
// names the builder's settings: where it differs from what the hashes were
// made with, all are made again.
func (db *DB) Hash(ctx context.Context, b record.Builder, template []string) error {
	shape, err := json.Marshal([]any{rulesVersion, b.Workspace, b.Layout, template})
	if err != nil {
		return err
	}
	before, err := db.meta(ctx, "record_shape")
	if err != nil {
		return err
	}
	if before != string(shape) {
		err := db.duck.Tx(ctx, func() error {
			if err := db.duck.Exec(ctx, query.Text("derive/forget_hashes")); err != nil {
				return err
			}
			if err := db.touch(ctx, GroupSessions, GroupMemories); err != nil {
				return err
			}
			return db.setMeta(ctx, "record_shape", string(shape))
		})
		if err != nil {
			return err
		}
	}
	solved := func(c columns, row int) (int64, record.Record, error) {
		r, err := b.Solved(c.solved(row))
		return c.int("session_key", row), r, err
	}
	if err := db.hashAll(ctx, "derive/solved_pending", "derived.solved_hash", GroupSessions, false, solved); err != nil {
		return err
	}
	memories := func(c columns, row int) (int64, record.Record, error) {
		r, err := b.Memory(c.memory(row))
		return c.int("line", row), r, err
	}
	return db.hashAll(ctx, "derive/memories_pending", "derived.memory_hash", GroupMemories, true, memories)
}

// hashAll reads what lacks hashes, builds the records and inserts the hashes,
// one bounded batch after the other.
func (db *DB) hashAll(ctx context.Context, pending, table string, group Group, withContent bool,
	build func(c columns, row int) (int64, record.Record, error)) error {
	for {
		out := newHashRows(withContent)
		err := db.duck.ReadArrow(ctx, func(batch arrow.RecordBatch) error {
			c := columnsOf(batch)
			for row := range int(batch.NumRows()) {
				key, r, err := build(c, row)
				if err != nil {
					return err
				}
				out.add(key, r)
			}
			return nil
		}, query.Text(pending), hashBatch)
		if err == nil {
			err = db.insertHashes(ctx, table, group, out)
		}
		n := out.n
		out.release()
		if err != nil || n < hashBatch {
			return err
		}
	}
}

func (db *DB) insertHashes(ctx context.Context, table string, group Group, out *hashRows) error {
	if out.n == 0 {
		return nil
	}
	rows := out.b.NewRecordBatch()
	defer rows.Release()
	stream, err := db.duck.Stream(ctx, rows.Schema(), rows)
	if err != nil {
		return err
	}
	err = db.duck.Tx(ctx, func() error {
		if err := db.duck.Insert(ctx, table, stream); err != nil {
			return err
		}
		return db.touch(ctx, group)
	})
	return errors.Join(err, stream.Close())
}

// hashRows builds rows of derived.solved_hash, or of derived.memory_hash,
// which keeps the content too.
type hashRows struct {
	b           *array.RecordBuilder
	withContent bool
	n           int
}

func newHashRows(withContent bool) *hashRows {
	fields := []arrow.Field{{Name: "key", Type: arrow.PrimitiveTypes.Int64}}
	names := []string{"content_hash", "text_hash", "payload_hash"}
	if withContent {
		names = append([]string{"content"}, names...)
	}
	for _, name := range names {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.BinaryTypes.String})
	}
	fields = append(fields, arrow.Field{Name: "bytes", Type: arrow.PrimitiveTypes.Int64})
	return &hashRows{b: array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil)), withContent: withContent}
}

func (h *hashRows) add(key int64, r record.Record) {
	h.n++
	h.b.Field(0).(*array.Int64Builder).Append(key)
	texts := []string{r.ContentHash, r.TextHash, r.PayloadHash}
	if h.withContent {
		texts = append([]string{r.Content}, texts...)
	}
	for i, text := range texts {
		h.b.Field(1 + i).(*array.StringBuilder).Append(text)
	}
	h.b.Field(1 + len(texts)).(*array.Int64Builder).Append(int64(r.Size()))
}

func (h *hashRows) release() { h.b.Release() }

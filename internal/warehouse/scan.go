//go:build duckdb_arrow

package warehouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/duck"
	query "github.com/thtbatch/thtbatch/sql"
)

// Stamp is what the scan that last read a file saw of it; Size -1 means that
// there was no file.
type Stamp struct {
	Size, MtimeNS, CtimeNS, Ino, ReadAtNS, DigestHi, DigestLo int64
}

// Session is a session that an earlier scan found, with the stamps of its
// manifest, ledger and SQL file.
type Session struct {
	Key   int64
	ID    string
	Gone  bool
	Files [3]Stamp
}

// Known hands the sessions that are known to fn, in the order of the bytes of
// their ids.
func (db *DB) Known(ctx context.Context, fn func(Session)) error {
	return db.duck.ReadArrow(ctx, func(b arrow.RecordBatch) error {
		ints := make([]*array.Int64, b.NumCols())
		for i := range ints {
			ints[i], _ = b.Column(i).(*array.Int64)
		}
		ids, gone := b.Column(1).(*array.String), b.Column(2).(*array.Boolean)
		for row := range int(b.NumRows()) {
			s := Session{Key: ints[0].Value(row), ID: strings.Clone(ids.Value(row)), Gone: gone.Value(row)}
			for f := range s.Files {
				at := func(n int) int64 { return ints[3+7*f+n].Value(row) }
				s.Files[f] = Stamp{at(0), at(1), at(2), at(3), at(4), at(5), at(6)}
			}
			fn(s)
		}
		return nil
	}, query.Text("scan/known"))
}

// Batch is what a scan read of some sessions, each whole. The record batches
// are the caller's and may be nil; their schemas are those of the tables
// parsed.stamp, manifest, ledger, ledger_line, sql_final and fault.
type Batch struct {
	// New are the sessions that were not known before.
	New []Session
	// Replaced are the keys whose manifest, ledger or SQL file changed.
	Replaced                                       [3][]int64
	Stamps, Manifests, Ledgers, Lines, SQL, Faults arrow.RecordBatch
}

// FileNames are the names under which the three files stand in the warehouse,
// in the order of Session.Files.
func FileNames() [3]string { return [3]string{"manifest", "ledger", "sql"} }

// Store commits a batch: rows and stamps together, so that a scan that is
// killed has lost at most the batch it was in.
func (db *DB) Store(ctx context.Context, b Batch) error {
	if err := db.duck.Exec(ctx, query.Text("scan/scratch")); err != nil {
		return err
	}
	replaced := replacedBatch(b.Replaced)
	defer replaced.Release()
	sessions := sessionBatch(b.New)
	defer sessions.Release()

	changed := replaced.NumRows() > 0 || len(b.New) > 0
	inserts := []struct {
		table string
		rows  arrow.RecordBatch
	}{
		{"temp.main.replaced", replaced}, {"temp.main.fresh_stamp", b.Stamps}, {"parsed.session", sessions},
		{"parsed.manifest", b.Manifests}, {"parsed.ledger", b.Ledgers}, {"parsed.ledger_line", b.Lines},
		{"parsed.sql_final", b.SQL}, {"parsed.fault", b.Faults},
	}
	const first = 2 // the inserts before it only fill scratch tables
	streams := make([]*duck.Stream, len(inserts))
	defer func() {
		for _, s := range streams {
			if s != nil {
				_ = s.Close()
			}
		}
	}()
	for i, in := range inserts {
		if in.rows == nil {
			continue
		}
		s, err := db.duck.Stream(ctx, in.rows.Schema(), in.rows)
		if err != nil {
			return err
		}
		streams[i] = s
	}
	insert := func(from, to int) error {
		for i := from; i < to; i++ {
			if streams[i] == nil {
				continue
			}
			if err := db.duck.Insert(ctx, inserts[i].table, streams[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := insert(0, first); err != nil {
		return err
	}
	return db.duck.Tx(ctx, func() error {
		if changed {
			if err := db.duck.Exec(ctx, query.Text("scan/replace")); err != nil {
				return err
			}
			if err := db.touch(ctx, GroupSessions); err != nil {
				return err
			}
		}
		if err := db.duck.Exec(ctx, query.Text("scan/restamp")); err != nil {
			return err
		}
		return insert(first, len(inserts))
	})
}

func replacedBatch(replaced [3][]int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "session_key", Type: arrow.PrimitiveTypes.Int64}, {Name: "file", Type: arrow.BinaryTypes.String}}, nil))
	defer b.Release()
	for f, keys := range replaced {
		for _, key := range keys {
			b.Field(0).(*array.Int64Builder).Append(key)
			b.Field(1).(*array.StringBuilder).Append(FileNames()[f])
		}
	}
	return b.NewRecordBatch()
}

func sessionBatch(sessions []Session) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "session_key", Type: arrow.PrimitiveTypes.Int64}, {Name: "session_id", Type: arrow.BinaryTypes.String},
		{Name: "gone", Type: arrow.FixedWidthTypes.Boolean}}, nil))
	defer b.Release()
	for _, s := range sessions {
		b.Field(0).(*array.Int64Builder).Append(s.Key)
		b.Field(1).(*array.StringBuilder).Append(s.ID)
		b.Field(2).(*array.BooleanBuilder).Append(false)
	}
	return b.NewRecordBatch()
}

// Moved marks sessions as gone (true) or as there again (false).
func (db *DB) Moved(ctx context.Context, gone map[int64]bool) error {
	if len(gone) == 0 {
		return nil
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "session_key", Type: arrow.PrimitiveTypes.Int64}, {Name: "gone", Type: arrow.FixedWidthTypes.Boolean}}, nil))
	defer b.Release()
	for key, is := range gone {
		b.Field(0).(*array.Int64Builder).Append(key)
		b.Field(1).(*array.BooleanBuilder).Append(is)
	}
	rows := b.NewRecordBatch()
	defer rows.Release()
	if err := db.duck.Exec(ctx, query.Text("scan/scratch")); err != nil {
		return err
	}
	if err := db.stage(ctx, "temp.main.moved", rows); err != nil {
		return err
	}
	return db.duck.Tx(ctx, func() error {
		return errors.Join(db.duck.Exec(ctx, query.Text("scan/move")), db.touch(ctx, GroupSessions))
	})
}

// Skipped is a name below the sessions directory that was not followed.
type Skipped struct{ Name, Reason string }

// SetSkipped replaces the list of names that were not followed; an equal list
// is no change.
func (db *DB) SetSkipped(ctx context.Context, skipped []Skipped) error {
	text, err := json.Marshal(skipped)
	if err != nil {
		return err
	}
	before, err := db.meta(ctx, "skipped")
	if err != nil || before == string(text) || (before == "" && len(skipped) == 0) {
		return err
	}
	return db.duck.Tx(ctx, func() error {
		if err := db.duck.Exec(ctx, query.Text("scan/skipped_clear")); err != nil {
			return err
		}
		for _, s := range skipped {
			if err := db.duck.Exec(ctx, query.Text("scan/skipped"), s.Name, s.Reason); err != nil {
				return err
			}
		}
		return errors.Join(db.touch(ctx, GroupSessions), db.setMeta(ctx, "skipped", string(text)))
	})
}

// stage inserts rows outside a transaction, into a scratch table.
func (db *DB) stage(ctx context.Context, table string, rows arrow.RecordBatch) error {
	if rows == nil || rows.NumRows() == 0 {
		return nil
	}
	s, err := db.duck.Stream(ctx, rows.Schema(), rows)
	if err != nil {
		return err
	}
	return errors.Join(db.duck.Insert(ctx, table, s), s.Close())
}

// Registry collects the lines of a registry that is read, and puts them in the
// place of the former ones when it was read to its end.
type Registry struct{ db *DB }

// NewRegistry begins a reading.
func (db *DB) NewRegistry(ctx context.Context) (*Registry, error) {
	return &Registry{db}, db.duck.Exec(ctx, query.Text("scan/scratch"))
}

// Add takes some lines; the batches have the columns of parsed.memory_line and
// parsed.fault.
func (r *Registry) Add(ctx context.Context, lines, faults arrow.RecordBatch) error {
	return errors.Join(r.db.stage(ctx, "temp.main.memory_stage", lines), r.db.stage(ctx, "temp.main.fault_stage", faults))
}

// Commit puts the lines in place. Sessions whose candidates depend on what
// changed are to be derived again; no ledger has to be read for it.
func (r *Registry) Commit(ctx context.Context, stamp Stamp) error {
	return r.db.duck.Tx(ctx, func() error {
		for _, name := range []string{"scan/registry", "derive/memories", "scan/registry_touches"} {
			if err := r.db.duck.Exec(ctx, query.Text(name)); err != nil {
				return err
			}
		}
		return errors.Join(r.db.touch(ctx, GroupMemories, GroupSessions), r.db.setRegistryStamp(ctx, stamp))
	})
}

// Restamp records that the registry was read again and is as it was.
func (db *DB) RestampRegistry(ctx context.Context, stamp Stamp) error {
	return db.duck.Tx(ctx, func() error { return db.setRegistryStamp(ctx, stamp) })
}

func (db *DB) setRegistryStamp(ctx context.Context, stamp Stamp) error {
	text, err := json.Marshal(stamp)
	if err != nil {
		return err
	}
	return db.setMeta(ctx, "registry_stamp", string(text))
}

// RegistryStamp is nil when no registry was read yet.
func (db *DB) RegistryStamp(ctx context.Context) (*Stamp, error) {
	text, err := db.meta(ctx, "registry_stamp")
	if err != nil || text == "" {
		return nil, err
	}
	var s Stamp
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("stamp of the registry: %w", err)
	}
	return &s, nil
}

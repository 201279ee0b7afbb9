//go:build duckdb_arrow

package duck

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"
)

// ReadArrow runs query and hands its rows to fn in batches. A batch, and every
// string read from it, is valid until fn returns: clone what is kept.
func (db *DB) ReadArrow(ctx context.Context, fn func(arrow.RecordBatch) error, query string, args ...any) error {
	return db.raw(func(c driver.Conn) error {
		conn, err := duckdb.NewArrowFromConn(c)
		if err != nil {
			return fmt.Errorf("%s: %w", firstLine(query), err)
		}
		reader, err := conn.QueryContext(ctx, query, args...)
		if err != nil {
			return fmt.Errorf("%s: %w", firstLine(query), db.cause(ctx, err))
		}
		defer reader.Release()
		for reader.Next() {
			if err := fn(reader.RecordBatch()); err != nil {
				return err
			}
		}
		if err := reader.Err(); err != nil {
			return fmt.Errorf("%s: %w", firstLine(query), db.cause(ctx, err))
		}
		return ctx.Err()
	})
}

// Stream is a set of Arrow batches that one Insert can read.
type Stream struct {
	db      *DB
	view    string
	rows    int64
	release func()
}

// Stream registers batches for one Insert. It is called outside a transaction,
// because the driver puts its view into the current catalog, which must not be
// the file, and a transaction may write to one catalog only. The batches are
// the caller's, who releases them after Close.
func (db *DB) Stream(ctx context.Context, schema *arrow.Schema, batches ...arrow.RecordBatch) (*Stream, error) {
	s := &Stream{db: db}
	for _, b := range batches {
		s.rows += b.NumRows()
	}
	if s.rows == 0 {
		return s, nil
	}
	reader, err := array.NewRecordReader(schema, batches)
	if err != nil {
		return nil, fmt.Errorf("register arrow batches: %w", err)
	}
	defer reader.Release()
	// The name is used once: a second read of a view returns nothing, without
	// an error, and a read after its release crashes.
	db.views++
	s.view = fmt.Sprintf("memory.main.arrow_stream_%d", db.views)
	if err := db.Exec(ctx, "USE memory.main"); err != nil {
		return nil, err
	}
	err = db.raw(func(c driver.Conn) error {
		conn, err := duckdb.NewArrowFromConn(c)
		if err != nil {
			return err
		}
		s.release, err = conn.RegisterView(reader, fmt.Sprintf("arrow_stream_%d", db.views))
		return err
	})
	if db.path != "" {
		err = errors.Join(err, db.Exec(context.WithoutCancel(ctx), "USE "+catalog+".main"))
	}
	if err != nil {
		return nil, fmt.Errorf("register arrow batches: %w", errors.Join(err, s.Close()))
	}
	return s, nil
}

// Close releases the stream; it is called after the transaction that read it.
func (s *Stream) Close() error {
	if s.release == nil {
		return nil
	}
	s.release()
	s.release = nil
	return s.db.Exec(context.Background(), "DROP VIEW IF EXISTS "+s.view)
}

// Insert appends a stream to an existing table whose columns have the names,
// order and types of its schema. The rows are moved by a bare "SELECT *": any
// projection or filter over a registered stream gives wrong rows. The number
// of rows that arrived is compared with the number sent, because the driver's
// end of stream does not tell an error from an end.
func (db *DB) Insert(ctx context.Context, table string, s *Stream) error {
	if s.rows == 0 {
		return nil
	}
	res, err := db.conn.ExecContext(ctx, "INSERT INTO "+table+" SELECT * FROM "+s.view)
	if err != nil {
		return fmt.Errorf("insert into %s: %w", table, db.cause(ctx, err))
	}
	got, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	if got != s.rows {
		return fmt.Errorf("insert into %s: %d rows arrived of %d sent", table, got, s.rows)
	}
	return nil
}

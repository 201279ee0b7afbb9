//go:build duckdb_arrow

// Package local is the embedded vector store: one DuckDB file, exact search,
// nothing to install.
//
// A vector is stored as given, in float32, beside its length in float64. The
// score of a hit is the float32 inner product of the stored vector with the
// query at unit length, divided by that length: every point is looked at, there
// is no approximate index. The error is the rounding of a float32 sum, some
// 1e-6 at a thousand dimensions.
//
// The file has one writer and, while there is one, no reader. What Copy makes
// of it is for readers, of which any number may be at work.
package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	query "github.com/thtbatch/thtbatch/sql"
)

// version of the tables in the file. A file of a newer one is refused.
const version = 1

// Store is an open file. It may be used from several goroutines, which take
// turns.
type Store struct {
	db         *duck.DB
	readOnly   bool
	dimensions int // 0: not prepared
	closed     bool
	turn       chan struct{} // holds one token: the connection is one goroutine's at a time
}

var _ load.Store = (*Store)(nil)

// Open opens the store at o.Path, and creates the file, whose directory must
// exist, unless o.ReadOnly is set. A missing file of a reader is an error that
// is fs.ErrNotExist, and a file that another process holds one that is
// duck.ErrBusy. Close releases the file.
func Open(ctx context.Context, o duck.Options) (*Store, error) {
	if o.Path == "" {
		return nil, errors.New("open local store: no path")
	}
	if o.ReadOnly {
		if _, err := os.Stat(o.Path); err != nil {
			return nil, fmt.Errorf("open local store: %w", err)
		}
	}
	db, err := duck.Open(ctx, o)
	if err != nil {
		if errors.Is(err, duck.ErrBusy) {
			return nil, fault.New(fault.Locked, "store_busy", "path", o.Path).Because(err)
		}
		return nil, fmt.Errorf("open local store: %w", err)
	}
	s := &Store{db: db, readOnly: o.ReadOnly, turn: make(chan struct{}, 1)}
	err = s.readMeta(ctx)
	if err == nil && !o.ReadOnly {
		err = db.Exec(ctx, query.Text("local/settings"))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.turn <- struct{}{}
	return s, nil
}

func (s *Store) readMeta(ctx context.Context) error {
	var isStore, hasTables bool
	if err := s.row(ctx, query.Text("local/holds"), &isStore, &hasTables); err != nil {
		return fmt.Errorf("open local store %s: %w", s.db.Path(), err)
	}
	if !isStore {
		if hasTables {
			return fault.New(fault.Usage, "store_foreign", "path", s.db.Path())
		}
		return nil
	}
	var held int
	if err := s.row(ctx, query.Text("local/meta"), &held, &s.dimensions); err != nil {
		return fmt.Errorf("open local store %s: %w", s.db.Path(), err)
	}
	if held > version {
		return fault.New(fault.Usage, "store_newer", "path", s.db.Path(), "held", held, "known", version).
			Because(fmt.Errorf("the file has version %d, this program knows up to %d", held, version))
	}
	return nil
}

// row reads the one row of a statement.
func (s *Store) row(ctx context.Context, text string, dest ...any) error {
	rows, err := s.db.Query(ctx, text)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return errors.Join(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close()
}

// take waits for the connection; the caller calls give when take returned nil.
func (s *Store) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) give() { s.turn <- struct{}{} }

// Path of the file.
func (s *Store) Path() string { return s.db.Path() }

// Info implements load.Store.
func (s *Store) Info(ctx context.Context) (load.Info, error) {
	if err := s.take(ctx); err != nil {
		return load.Info{}, err
	}
	defer s.give()
	info := load.Info{Exists: s.dimensions > 0, Dimensions: s.dimensions, Place: s.db.Path()}
	if !info.Exists {
		return info, nil
	}
	if err := s.db.Value(ctx, &info.Points, query.Text("local/count")); err != nil {
		return load.Info{}, fmt.Errorf("count points of %s: %w", s.db.Path(), err)
	}
	return info, nil
}

// Prepare implements load.Store.
func (s *Store) Prepare(ctx context.Context, dimensions int) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	switch {
	case dimensions < 1:
		return fmt.Errorf("prepare %s: %d dimensions", s.db.Path(), dimensions)
	case s.dimensions == dimensions:
		return nil
	case s.dimensions > 0:
		return load.OtherDimension(s.db.Path(), s.dimensions, dimensions)
	case s.readOnly:
		return fmt.Errorf("prepare %s: opened for reading", s.db.Path())
	}
	create := strings.ReplaceAll(statement("create", dimensions), "{version}", strconv.Itoa(version))
	err := s.db.Tx(ctx, func() error { return s.db.Exec(ctx, create) })
	if err != nil {
		return fmt.Errorf("prepare %s: %w", s.db.Path(), err)
	}
	s.dimensions = dimensions
	return nil
}

// Close implements load.Store. It waits for a call that is under way, and
// moves the write-ahead log into the file. Closing twice is no error.
func (s *Store) Close() error {
	<-s.turn
	defer s.give()
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", s.db.Path(), err)
	}
	return nil
}

// statement is the text of a statement that names the type of a vector. The
// dimension is part of the type and cannot be bound; it is an integer and
// nothing else is ever put into a text.
func statement(name string, dimensions int) string {
	return strings.ReplaceAll(query.Text("local/"+name), "{dimensions}", strconv.Itoa(dimensions))
}

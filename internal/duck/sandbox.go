//go:build duckdb_arrow

package duck

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// ErrNotReadOnly is returned by Prepared queries that are no plain reading.
var ErrNotReadOnly = errors.New("only a statement that reads is allowed")

// Seal takes every way out of the database: no other file, no extension, no
// network, and no way to undo it. Queries on the files that are open go on, and
// may spill at most 8 GiB.
func (db *DB) Seal(ctx context.Context) error {
	for _, s := range []string{
		"SET max_temp_directory_size = '8GiB'",
		"SET allow_community_extensions = false",
		"SET enable_external_access = false",
		"SET lock_configuration = true",
	} {
		if err := db.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// CheckReads refuses a text that is not one reading statement: SELECT and its
// kin, or EXPLAIN. A text that DuckDB cannot prepare is returned as its error.
func (db *DB) CheckReads(ctx context.Context, query string) error {
	return db.raw(func(c driver.Conn) error {
		conn, ok := c.(*duckdb.Conn)
		if !ok {
			return fmt.Errorf("a connection of type %T", c)
		}
		stmt, err := conn.PrepareContext(ctx, query)
		if err != nil {
			return db.cause(ctx, err)
		}
		defer func() { _ = stmt.Close() }()
		prepared, ok := stmt.(*duckdb.Stmt)
		if !ok {
			return fmt.Errorf("a statement of type %T", stmt)
		}
		kind, err := prepared.StatementType()
		if err != nil {
			return err
		}
		if kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
			return ErrNotReadOnly
		}
		return nil
	})
}

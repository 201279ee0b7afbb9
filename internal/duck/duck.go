//go:build duckdb_arrow

// Package duck opens DuckDB files and moves Arrow batches in and out of them.
// It is the only package that knows the driver. Every other package sends it
// SQL text and plain values.
//
// A DB is one in-memory instance with one file attached to it and one pinned
// connection: temporary tables, transactions and registered Arrow streams all
// live on that connection, so a DB is used by one goroutine at a time.
package duck

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	bindings "github.com/duckdb/duckdb-go-bindings"
	duckdb "github.com/duckdb/duckdb-go/v2"
)

// storageVersion is the file format written: any DuckDB from 1.0 on opens it.
const storageVersion = "v1.0.0"

// catalog is the name under which the file is attached.
const catalog = "store"

// Options say which file is opened and within which limits.
type Options struct {
	// Path of the database file; empty keeps everything in memory.
	Path string
	// ReadOnly opens an existing file without the right to change it. Many
	// readers may hold a file at once, and none together with a writer.
	ReadOnly bool
	// MemoryLimit in bytes for DuckDB's buffers; 0 takes DefaultMemoryLimit.
	MemoryLimit int64
	// Threads of one statement; 0 is 1. The driver polls while other threads
	// work, which costs a quarter more processor time than it saves in waiting:
	// worth it for a large statement that somebody waits for, and only there.
	Threads int
	// TempDir is where DuckDB spills. Empty is a directory beside a file that is
	// written, and one of its own, gone after Close, for everything else: who
	// reads a file may not write beside it.
	TempDir string
}

// DB is an open file. Close releases it.
type DB struct {
	pool *sql.DB
	conn *sql.Conn
	path string
	// views counts the Arrow streams that were registered.
	views int
	// spill is the directory that Close removes, or empty.
	spill string
}

// ErrBusy is returned by Open when another process holds the file.
var ErrBusy = errors.New("the database file is held by another process")

// DefaultMemoryLimit is half of what the control group or the machine has,
// and at most 640 MiB: what the jobs need does not grow with the corpus, and
// the rest belongs to whoever else works on the machine.
func DefaultMemoryLimit() int64 {
	const most = 640 << 20
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil || limit == 0 || limit/2 > most {
		return most
	}
	return int64(limit / 2)
}

// Open opens or creates the file. The directory of Path must exist.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.MemoryLimit == 0 {
		o.MemoryLimit = DefaultMemoryLimit()
	}
	if o.Threads == 0 {
		o.Threads = 1
	}
	if err := o.dropOrphanedLog(); err != nil {
		return nil, err
	}
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, fmt.Errorf("start duckdb: %w", err)
	}
	db := &DB{pool: sql.OpenDB(connector), path: o.Path}
	db.pool.SetMaxOpenConns(1)
	if db.conn, err = db.pool.Conn(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to duckdb: %w", err), db.pool.Close())
	}
	switch {
	case o.TempDir != "":
	case o.Path != "" && !o.ReadOnly:
		o.TempDir = o.Path + ".spill"
	default:
		// Where there is no place for it, nothing is spilled: most readers
		// never need to.
		if db.spill, err = os.MkdirTemp("", "thtbatch-spill-*"); err == nil {
			o.TempDir = db.spill
		}
	}
	if err := db.configure(ctx, o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// dropOrphanedLog removes the write-ahead log of a file that is no longer
// there: whoever deletes the file means its content, and a log that is replayed
// into a new file damages it.
func (o Options) dropOrphanedLog() error {
	if o.Path == "" || o.ReadOnly {
		return nil
	}
	if _, err := os.Stat(o.Path); !errors.Is(err, os.ErrNotExist) {
		return nil // there, or the open finds out why not
	}
	if err := os.Remove(o.Path + ".wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open %s: remove the log of a deleted file: %w", o.Path, err)
	}
	return nil
}

func (db *DB) configure(ctx context.Context, o Options) error {
	settings := []string{
		"SET memory_limit = '" + strconv.FormatInt(o.MemoryLimit, 10) + "B'",
		"SET threads = " + strconv.Itoa(o.Threads),
		"SET temp_directory = " + Quote(o.TempDir),
		"SET autoinstall_known_extensions = false",
		"SET autoload_known_extensions = false",
		"SET preserve_insertion_order = true",
		"SET TimeZone = 'UTC'",
		// A batch of a first scan is larger than the default of 16 MB, and a
		// checkpoint after each would write the last row groups again and again.
		"SET checkpoint_threshold = '1GB'",
		// Compressing texts costs a tenth of a first scan and saves a third of
		// the file, which may be deleted at any time.
		"SET disabled_compression_methods = 'fsst'",
	}
	for _, s := range settings {
		if err := db.Exec(ctx, s); err != nil {
			return err
		}
	}
	if o.Path == "" {
		return nil
	}
	attach := Attach(o.Path, catalog)
	if o.ReadOnly {
		attach = "ATTACH " + Quote(o.Path) + " AS " + catalog + " (READ_ONLY)"
	}
	if _, err := db.conn.ExecContext(ctx, attach); err != nil {
		if held(o.Path) {
			return fmt.Errorf("open %s: %w", o.Path, ErrBusy)
		}
		return fmt.Errorf("open %s: %w", o.Path, db.cause(ctx, err))
	}
	if !o.ReadOnly {
		if err := os.Chmod(o.Path, 0o600); err != nil {
			return fmt.Errorf("open %s: %w", o.Path, err)
		}
	}
	return db.Exec(ctx, "USE "+catalog)
}

// Close writes what is pending to the file and releases it.
func (db *DB) Close() error {
	err := errors.Join(db.conn.Close(), db.pool.Close())
	if db.spill != "" {
		err = errors.Join(err, os.RemoveAll(db.spill))
	}
	return err
}

// Path of the file, empty for a database in memory.
func (db *DB) Path() string { return db.path }

// Exec runs one or more statements; arguments are bound to the last one.
func (db *DB) Exec(ctx context.Context, query string, args ...any) error {
	if _, err := db.conn.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", firstLine(query), db.cause(ctx, err))
	}
	return nil
}

// Query runs one statement and returns its rows; the caller closes them.
func (db *DB) Query(ctx context.Context, query string, args ...any) (*Rows, error) {
	rows, err := db.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", firstLine(query), db.cause(ctx, err))
	}
	return &Rows{rows, db, ctx}, nil
}

// Rows are those of database/sql, with errors that may be repeated.
type Rows struct {
	*sql.Rows
	db  *DB
	ctx context.Context // of the query, for the errors that it causes
}

// Err is why there was no further row, nil at the end of them.
func (r *Rows) Err() error { return r.db.cause(r.ctx, r.Rows.Err()) }

// Scan reads the columns of the row.
func (r *Rows) Scan(dest ...any) error { return r.db.scanned(r.ctx, r.Rows.Scan(dest...)) }

// Value reads the first column of the one row that the statement returns.
// Without a row it returns sql.ErrNoRows.
func (db *DB) Value(ctx context.Context, dest any, query string, args ...any) error {
	if err := db.conn.QueryRowContext(ctx, query, args...).Scan(dest); err != nil {
		return fmt.Errorf("%s: %w", firstLine(query), db.scanned(ctx, err))
	}
	return nil
}

// Tx runs fn inside a transaction: committed when fn returns nil, otherwise
// rolled back, also when ctx has ended.
func (db *DB) Tx(ctx context.Context, fn func() error) (err error) {
	if err := db.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, db.Exec(end, "ROLLBACK"))
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := db.Exec(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return err
	}
	done = true
	return nil
}

// Checkpoint moves the write-ahead log into the file.
func (db *DB) Checkpoint(ctx context.Context) error {
	if db.path == "" {
		return nil
	}
	return db.Exec(ctx, "CHECKPOINT "+catalog)
}

// Attach is the statement that opens another file for writing beside the one
// that is open, in the format that every file of ours has.
func Attach(path, name string) string {
	return "ATTACH " + Quote(path) + " AS " + name + " (STORAGE_VERSION '" + storageVersion + "')"
}

// Version of the engine that is linked.
func Version() string { return bindings.LibraryVersion() }

// Quote makes a string literal of s for the few statements that take no
// parameters (ATTACH, COPY, SET).
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// firstLine names a statement in an error by its first line that says
// something, which in the .sql files is a comment with the statement's purpose.
func firstLine(query string) string {
	for line := range strings.Lines(query) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "--")); line != "" {
			if len(line) > 80 {
				line = line[:80]
			}
			return strings.ToValidUTF8(line, "")
		}
	}
	return "empty statement"
}

// raw runs fn on the driver's connection.
func (db *DB) raw(fn func(driver.Conn) error) error {
	return db.conn.Raw(func(c any) error { return fn(c.(driver.Conn)) })
}

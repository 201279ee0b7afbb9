//go:build duckdb_arrow

package duck

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// Error is what DuckDB said, as far as it may be repeated: the message of a
// conversion, a constraint or an overflow quotes the value that it is about,
// which is a text of a session, so of most classes only the name is kept.
type Error struct {
	Class   string // such as "Conversion Error"
	Message string // empty where it could quote a value
	kind    duckdb.ErrorType
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Class + " (its message may quote a value and is left out)"
	}
	return e.Class + ": " + e.Message
}

// IsFull says that err came from memory that was not enough.
func IsFull(err error) bool { return isOf(err, duckdb.ErrorTypeOutOfMemory) }

// IsBroken says that err came from a file or a disk: damaged, full, or gone.
func IsBroken(err error) bool {
	return isOf(err, duckdb.ErrorTypeIO) || isOf(err, duckdb.ErrorTypeSerialization) || isOf(err, duckdb.ErrorTypeFatal)
}

func isOf(err error, t duckdb.ErrorType) bool {
	var said *Error
	return errors.As(err, &said) && said.kind == t
}

// quotable are the classes whose messages are about the statement, a path or
// the machine. What is executed on rows raises none of them but out of memory,
// which speaks of sizes, and the errors of files.
func quotable(t duckdb.ErrorType) bool {
	switch t {
	case duckdb.ErrorTypeParser, duckdb.ErrorTypeSyntax, duckdb.ErrorTypeBinder, duckdb.ErrorTypeCatalog,
		duckdb.ErrorTypeIO, duckdb.ErrorTypeConnection, duckdb.ErrorTypePermission, duckdb.ErrorTypeSettings,
		duckdb.ErrorTypeOutOfMemory, duckdb.ErrorTypeInterrupt, duckdb.ErrorTypeMissingExtension, duckdb.ErrorTypeAutoLoad:
		return true
	}
	return false
}

// cause prefers the end of the context to what DuckDB made of it, and keeps of
// DuckDB's own errors what may be repeated.
func (db *DB) cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return repeatable(err)
}

func repeatable(err error) error {
	var said *duckdb.Error
	if !errors.As(err, &said) {
		return err
	}
	if said.Type == duckdb.ErrorTypeInvalid {
		return &Error{Class: "Invalid Error"} // the driver did not recognise it
	}
	class, message, _ := strings.Cut(said.Msg, ": ")
	if !quotable(said.Type) {
		message = ""
	}
	return &Error{Class: class, Message: strings.TrimRight(message, " \n!."), kind: said.Type}
}

// errUnreadable stands for database/sql's error of a value that does not fit
// where it is read into, which quotes the value.
var errUnreadable = errors.New("the value that came back cannot be read")

// scanned is the error of reading one value.
func (db *DB) scanned(ctx context.Context, err error) error {
	var said *duckdb.Error
	if err == nil || errors.Is(err, sql.ErrNoRows) || errors.As(err, &said) || ctx.Err() != nil {
		return db.cause(ctx, err)
	}
	return errUnreadable
}

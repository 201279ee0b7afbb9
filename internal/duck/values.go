//go:build duckdb_arrow

package duck

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// ReadRows runs one statement and hands its column names, as they are, then
// each row, to fn. The values are those of JSON: nil, bool, json.Number,
// string, []any and map[string]any.
//
// Numbers keep all their digits. A TIMESTAMP is ISO 8601 in UTC; dates, times,
// intervals and what is inside lists, structs and maps are written as DuckDB
// writes them in JSON, a blob that is a column in hex. NaN and the infinities,
// of numbers and of times, are text.
func (db *DB) ReadRows(ctx context.Context, header func(names []string) error, row func([]any) error, query string, args ...any) (failed error) {
	names, nested, err := db.columns(ctx, query)
	if err != nil {
		return err
	}
	if len(nested) > 0 {
		statement, drop, err := db.nestedAsText(ctx, query, len(names), nested)
		if err != nil {
			return err
		}
		query = statement
		defer func() { failed = errors.Join(failed, drop()) }()
	}
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, rows.Close()) }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	if names == nil {
		if names, err = rows.Columns(); err != nil {
			return err
		}
	}
	if err := header(names); err != nil {
		return err
	}
	return eachRow(rows, types, nested, row)
}

func eachRow(rows *Rows, types []*sql.ColumnType, nested map[int]string, row func([]any) error) error {
	values, into := make([]any, len(types)), make([]any, len(types))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		out := make([]any, len(values))
		for i, v := range values {
			if out[i] = plain(v, types[i].DatabaseTypeName()); nested[i] != "" && v != nil {
				out[i] = parsedJSON(fmt.Sprint(v))
			}
		}
		if err := row(out); err != nil {
			return err
		}
	}
	return rows.Err()
}

// columns are the names of a statement's columns, and for those whose type the
// driver cannot give whole, by their number, how they become JSON text. The
// driver reads the numbers of JSON as floats, knows no VARIANT and no TIME_NS,
// and loses offsets, names of unions and units of intervals.
func (db *DB) columns(ctx context.Context, query string) (names []string, nested map[int]string, err error) {
	nested = map[int]string{}
	err = db.prepared(ctx, query, func(stmt *duckdb.Stmt) error {
		n, err := stmt.ColumnCount()
		if err != nil {
			return err
		}
		for i := range n {
			name, err := stmt.ColumnName(i)
			if err != nil {
				return err
			}
			names = append(names, name)
			kind, err := stmt.ColumnType(i)
			if err != nil {
				return err
			}
			if kind == duckdb.TYPE_INVALID {
				names = nil // known when it runs, with its arguments
				return nil
			}
			info, err := stmt.ColumnTypeInfo(i)
			switch {
			case err == nil && info.Alias() == "JSON":
				nested[i] = "CAST(%s AS VARCHAR)"
			case !isPlain(kind):
				nested[i] = "CAST(to_json(%s) AS VARCHAR)"
			}
		}
		return nil
	})
	return names, nested, err
}

func isPlain(t duckdb.Type) bool {
	switch t {
	case duckdb.TYPE_BOOLEAN, duckdb.TYPE_TINYINT, duckdb.TYPE_SMALLINT, duckdb.TYPE_INTEGER, duckdb.TYPE_BIGINT,
		duckdb.TYPE_UTINYINT, duckdb.TYPE_USMALLINT, duckdb.TYPE_UINTEGER, duckdb.TYPE_UBIGINT, duckdb.TYPE_HUGEINT,
		duckdb.TYPE_UHUGEINT, duckdb.TYPE_BIGNUM, duckdb.TYPE_DECIMAL, duckdb.TYPE_FLOAT, duckdb.TYPE_DOUBLE,
		duckdb.TYPE_VARCHAR, duckdb.TYPE_ENUM, duckdb.TYPE_BLOB, duckdb.TYPE_BIT, duckdb.TYPE_UUID, duckdb.TYPE_SQLNULL,
		duckdb.TYPE_TIMESTAMP, duckdb.TYPE_TIMESTAMP_TZ:
		return true
	}
	return false
}

// nestedAsText is a statement that gives the rows of query in their order, the
// nested columns as JSON text. Columns go by number: two may share a name. A
// query that cannot stand in brackets, for a comment behind its semicolon,
// becomes a view, which drop removes.
func (db *DB) nestedAsText(ctx context.Context, query string, n int, nested map[int]string) (statement string, drop func() error, err error) {
	names, read := make([]string, n), make([]string, n)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
		if read[i] = names[i]; nested[i] != "" {
			read[i] = fmt.Sprintf(nested[i], names[i])
		}
	}
	from := "SELECT " + strings.Join(read, ", ") + " FROM "
	columns := "(" + strings.Join(names, ", ") + ")"
	statement = from + "(\n" + strings.TrimRight(query, "; \t\r\n") + "\n) AS asked" + columns
	if db.prepared(ctx, statement, func(*duckdb.Stmt) error { return nil }) == nil {
		return statement, func() error { return nil }, nil
	}
	const view = "thtbatch_asked"
	if err := db.Exec(ctx, "CREATE TEMP VIEW "+view+columns+" AS\n"+query); err != nil {
		return "", nil, err
	}
	return from + "temp.main." + view, func() error { return db.Exec(context.WithoutCancel(ctx), "DROP VIEW temp.main."+view) }, nil
}

func plain(v any, typeName string) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case time.Time:
		return timeText(v)
	case float32:
		return float(float64(v), 32)
	case float64:
		return float(v, 64)
	case int8, int16, int32, int64, int, uint8, uint16, uint32, uint64:
		return json.Number(fmt.Sprint(v))
	case *big.Int:
		return json.Number(v.String())
	case duckdb.Decimal:
		return json.Number(v.String())
	case []byte:
		if typeName == "UUID" && len(v) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
		}
		return hex.EncodeToString(v)
	}
	return fmt.Sprint(v)
}

// timeText knows the two timestamps that are none: DuckDB's infinities.
func timeText(t time.Time) string {
	switch t.UnixMicro() {
	case math.MaxInt64:
		return "infinity"
	case -math.MaxInt64:
		return "-infinity"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func float(v float64, bits int) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	text, err := json.Marshal(v)
	if bits == 32 {
		text, err = json.Marshal(float32(v))
	}
	if err != nil {
		return fmt.Sprint(v)
	}
	return json.Number(text)
}

//go:build duckdb_arrow

package duck

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// ErrNotReadOnly is returned by CheckReads for what is no plain reading.
var ErrNotReadOnly = errors.New("only one statement that reads the views is allowed")

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

// CheckReads refuses a text that is not exactly one reading statement: SELECT
// and its kin (VALUES, FROM, DESCRIBE, SUMMARIZE, SHOW), or EXPLAIN of one. A
// text that DuckDB cannot prepare is returned as its error.
//
// The text is judged by what DuckDB's own parser makes of it, before anything
// is prepared: preparing several statements runs all but the last. Its table
// functions must be among readingFunctions, because a sealed database still
// reads its own file and its spill directory, and because some functions change
// what the process does (enable_logging writes files). EXPLAIN is judged by the
// statement behind it: with ANALYZE it runs that statement.
func (db *DB) CheckReads(ctx context.Context, query string) error {
	if strings.ContainsRune(query, 0) {
		return ErrNotReadOnly // the parser would see less than is run
	}
	asked := query
	if m := explain.FindStringSubmatch(query); m != nil {
		asked = m[1]
	}
	statements, err := db.parse(ctx, asked)
	if err != nil {
		return err
	}
	if len(statements) != 1 || !reads(statements[0]) {
		return ErrNotReadOnly
	}
	return db.prepared(ctx, query, func(stmt *duckdb.Stmt) error {
		kind, err := stmt.StatementType()
		if err != nil {
			return err
		}
		if kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
			return ErrNotReadOnly
		}
		return nil
	})
}

// parse is the parser's view of the statements of a text, as JSON. It knows
// those that read and returns ErrNotReadOnly for a text with any other.
func (db *DB) parse(ctx context.Context, query string) ([]any, error) {
	var text string
	if err := db.Value(ctx, &text, "SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)", query); err != nil {
		return nil, err
	}
	var parsed struct {
		Error      bool   `json:"error"`
		ErrorType  string `json:"error_type"`
		Message    string `json:"error_message"`
		Statements []any  `json:"statements"`
	}
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		return nil, fmt.Errorf("parsed statement: %w", err)
	}
	switch {
	case parsed.Error && parsed.ErrorType == "parser":
		return nil, &Error{Class: "Parser Error", Message: parsed.Message}
	case parsed.Error:
		return nil, ErrNotReadOnly
	}
	return parsed.Statements, nil
}

// explain finds what EXPLAIN stands before. Where it takes a comment for a part
// of the statement or the other way round, what is left does not parse.
var explain = regexp.MustCompile(`(?is)^\s*explain\s+(?:analyze\s+)?(.*)$`)

// readingFunctions are the table functions that a person may call: they make
// rows of their arguments or describe the database.
func readingFunctions() []string {
	return []string{
		"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "histogram", "histogram_values", "summary",
		"duckdb_columns", "duckdb_databases", "duckdb_functions", "duckdb_keywords", "duckdb_schemas", "duckdb_tables", "duckdb_types",
		"duckdb_views", "pragma_show", "pragma_table_info", "pragma_version", "icu_calendar_names", "pg_timezone_names", "test_all_types",
	}
}

// reads walks a parsed statement: every table function is a reading one, and no
// table is named like a file, which would be read in its place.
func reads(node any) bool {
	switch node := node.(type) {
	case []any:
		return !slices.ContainsFunc(node, func(n any) bool { return !reads(n) })
	case map[string]any:
		switch node["type"] {
		case "TABLE_FUNCTION":
			function, _ := node["function"].(map[string]any)
			name, _ := function["function_name"].(string)
			if !slices.Contains(readingFunctions(), strings.ToLower(name)) {
				return false
			}
		case "BASE_TABLE":
			if name, ok := node["table_name"].(string); !ok || strings.ContainsAny(name, `/\*`) {
				return false
			}
		}
		for _, child := range node {
			if !reads(child) {
				return false
			}
		}
	}
	return true
}

// prepared hands the driver's statement to fn. The text must be one statement:
// of several, preparing runs all but the last.
func (db *DB) prepared(ctx context.Context, query string, fn func(*duckdb.Stmt) error) error {
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
		driverStmt, ok := stmt.(*duckdb.Stmt)
		if !ok {
			return fmt.Errorf("a statement of type %T", stmt)
		}
		return fn(driverStmt)
	})
}

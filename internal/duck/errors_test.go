//go:build duckdb_arrow

package duck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/duck"
)

const secret = "ZQXMARKER"

// Every error of a value, by every way that reads or writes, names its class
// and keeps the value to itself.
func TestErrorsOfValuesDoNotQuoteThem(t *testing.T) {
	ctx := context.Background()
	db, err := duck.Open(ctx, duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Exec(ctx, "CREATE TABLE t (s VARCHAR PRIMARY KEY); INSERT INTO t VALUES ('"+secret+"')"); err != nil {
		t.Fatal(err)
	}
	ways := map[string]func(string) error{
		"exec": func(q string) error { return db.Exec(ctx, q) },
		"value": func(q string) error {
			var n int
			return db.Value(ctx, &n, q)
		},
		"rows": func(q string) error {
			return db.ReadRows(ctx, func([]string) error { return nil }, func([]any) error { return nil }, q)
		},
		"arrow": func(q string) error {
			return db.ReadArrow(ctx, func(arrow.RecordBatch) error { return nil }, q)
		},
		"query": func(q string) error {
			rows, err := db.Query(ctx, q)
			if err != nil {
				return err
			}
			defer func() { _ = rows.Close() }()
			var n int
			for rows.Next() {
				if err := rows.Scan(&n); err != nil {
					return err
				}
			}
			return rows.Err()
		},
	}
	for class, statement := range map[string]string{
		"Conversion Error":    "-- read\nSELECT CAST(s AS INTEGER) FROM t",
		"Invalid Input Error": "-- read\nSELECT json_extract(s, '$.a') FROM t",
		"Constraint Error":    "-- write\nINSERT INTO t VALUES ('" + secret + "')",
	} {
		for way, run := range ways {
			err := run(statement)
			var said *duck.Error
			if !errors.As(err, &said) || said.Class != class || said.Message != "" {
				t.Errorf("%s by %s: %v", class, way, err)
			} else if strings.Contains(err.Error(), secret) {
				t.Errorf("%s by %s quotes the value: %v", class, way, err)
			}
		}
	}
	// What does not fit into the Go variable is database/sql's to refuse.
	for _, way := range []string{"value", "query"} {
		if err := ways[way]("-- read\nSELECT s FROM t"); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("by %s: %v", way, err)
		}
	}
}

func TestErrorsOfStatementsAndFilesAreWhole(t *testing.T) {
	ctx := context.Background()
	db, err := duck.Open(ctx, duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for statement, want := range map[string]string{
		"SELECT 1 +":           "Parser Error: syntax error",
		"SELECT nothing":       `"nothing" was not found`,
		"SELECT 1 FROM nobody": "nobody does not exist",
	} {
		if err := db.CheckReads(ctx, statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	path := filepath.Join(t.TempDir(), "no.duckdb")
	if err := os.WriteFile(path, []byte(strings.Repeat(secret, 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = duck.Open(ctx, duck.Options{Path: path})
	if err == nil || !strings.Contains(err.Error(), "not a valid DuckDB database file") || strings.Contains(err.Error(), "ATTACH") {
		t.Errorf("garbage: %v", err)
	}
}

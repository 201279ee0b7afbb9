//go:build duckdb_arrow

package duck_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
)

func openMemory(t *testing.T) *duck.DB {
	t.Helper()
	db, err := duck.Open(t.Context(), duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// asJSON are the rows of a statement, each as the JSON of its list of values.
func asJSON(ctx context.Context, db *duck.DB, statement string) (names, rows []string, err error) {
	err = db.ReadRows(ctx, func(n []string) error { names = n; return nil }, func(values []any) error {
		text, err := json.Marshal(values)
		rows = append(rows, string(text))
		return err
	}, statement)
	return names, rows, err
}

func TestEveryTypeBecomesJSON(t *testing.T) {
	db := openMemory(t)
	for expressions, want := range map[string]string{
		"true, NULL":                                              `[true,null]`,
		"(-128)::TINYINT, 18446744073709551615":                   `[-128,18446744073709551615]`,
		"-170141183460469231731687303715884105728":                `[-170141183460469231731687303715884105728]`,
		"340282366920938463463374607431768211455::UHUGEINT":       `[340282366920938463463374607431768211455]`,
		"'123456789012345678901234567890123456789012345'::BIGNUM": `[123456789012345678901234567890123456789012345]`,
		"9999999999999999999999999999.9999999999::DECIMAL(38,10)": `[9999999999999999999999999999.9999999999]`,
		"0.1::FLOAT, 0.1::DOUBLE, 1e300":                          `[0.1,0.1,1e+300]`,
		"'nan'::FLOAT, 'inf'::DOUBLE, '-inf'::DOUBLE":             `["NaN","Infinity","-Infinity"]`,
		"['nan'::DOUBLE, 'inf', '-inf', NULL, 1.5]":               `[["NaN","Infinity","-Infinity",null,1.5]]`,
		`{'NaN': '-Infinity "NaN" \', 'b': 'nan'::FLOAT}`:         `[{"NaN":"-Infinity \"NaN\" \\","b":"NaN"}]`,
		"'a' || chr(0) || '\"<è'":                                 `["a\u0000\"\u003cè"]`,
		"'\\x00\\xFF'::BLOB, '0101'::BIT":                         `["00ff","0101"]`,
		"['\\x00\\xFF'::BLOB], ['0101'::BIT]":                     `[["\\x00\\xFF"],["0101"]]`,
		"'00000000-0000-0000-0000-0000000000ff'::UUID":            `["00000000-0000-0000-0000-0000000000ff"]`,
		"['00000000-0000-0000-0000-0000000000ff'::UUID]":          `[["00000000-0000-0000-0000-0000000000ff"]]`,
		"'b'::ENUM('a', 'b'), ['b'::ENUM('a', 'b')]":              `["b",["b"]]`,
		"DATE '2024-02-29', TIME '24:00:00', TIME '01:02:03.5'":   `["2024-02-29","24:00:00","01:02:03.5"]`,
		"TIMETZ '12:00:00+02', TIME_NS '12:00:00.123456789'":      `["12:00:00+02","12:00:00.123456789"]`,
		"TIMESTAMP '2024-02-29 01:02:03.000004'":                  `["2024-02-29T01:02:03.000004Z"]`,
		"TIMESTAMPTZ '2024-02-29 01:02:03+02'":                    `["2024-02-28T23:02:03Z"]`,
		"TIMESTAMP_S '2024-01-01', TIMESTAMP_MS '2024-01-01'":     `["2024-01-01 00:00:00","2024-01-01 00:00:00"]`,
		"TIMESTAMP_NS '2024-01-01 00:00:00.123456789'":            `["2024-01-01 00:00:00.123456789"]`,
		"'infinity'::TIMESTAMP, '-infinity'::TIMESTAMPTZ":         `["infinity","-infinity"]`,
		"'infinity'::DATE, '-infinity'::TIMESTAMP_MS":             `["infinity","-infinity"]`,
		"DATE '0044-03-15 (BC)', DATE '10000-01-01'":              `["0044-03-15 (BC)","10000-01-01"]`,
		"INTERVAL '1 month 2 days 3.5 seconds'":                   `["1 month 2 days 00:00:03.5"]`,
		"[NULL, INTERVAL 1 DAY], NULL::INTERVAL":                  `[[null,"1 day"],null]`,
		"[1, NULL], []::INTEGER[], NULL::INTEGER[]":               `[[1,null],[],null]`,
		"[[1], [], NULL], [1, 2]::INTEGER[2]":                     `[[[1],[],null],[1,2]]`,
		"{'a': 1, 'b': {'c': [DATE '2024-01-01']}}":               `[{"a":1,"b":{"c":["2024-01-01"]}}]`,
		"row(1, 'x', row(2, 3))":                                  `[{"":1,"_2":"x","_3":{"":2,"_2":3}}]`,
		"MAP {'b': 1, 'a': NULL}":                                 `[{"a":null,"b":1}]`,
		"MAP {[1, 2]: 'x'}, MAP {DATE '2024-01-01': [1]}":         `[{"[1, 2]":"x"},{"2024-01-01":[1]}]`,
		"union_value(k := DATE '2024-01-01')":                     `[{"k":"2024-01-01"}]`,
		"[union_value(k := 1)::UNION(k INT, t TEXT), 'z']":        `[[{"k":1},{"t":"z"}]]`,
		"'x'::VARIANT, 'POINT(1 2)'::GEOMETRY":                    `["x","POINT (1 2)"]`,
		`'{"n": 12345678901234567890123, "f": 2.50}'::JSON`:       `[{"f":2.50,"n":12345678901234567890123}]`,
		`'null'::JSON, NULL::JSON, '"t"'::JSON, ['[1]'::JSON]`:    `[null,null,"t",[[1]]]`,
	} {
		_, rows, err := asJSON(t.Context(), db, "SELECT "+expressions)
		if err != nil || len(rows) != 1 {
			t.Errorf("%s: %v, %d rows", expressions, err, len(rows))
			continue
		}
		if rows[0] != want || !json.Valid([]byte(rows[0])) {
			t.Errorf("%s:\n is   %s\n want %s", expressions, rows[0], want)
		}
	}
}

// Whatever types the engine comes with, none makes a query fail: its own list
// of them, at both ends of their ranges and NULL.
func TestNoTypeOfTheEngineFails(t *testing.T) {
	db := openMemory(t)
	names, rows, err := asJSON(t.Context(), db, "SELECT * FROM test_all_types()")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || len(names) < 54 {
		t.Fatalf("%d rows of %d columns", len(rows), len(names))
	}
	if strings.Trim(rows[2], "[nul,]") != "" {
		t.Errorf("NULLs are %s", rows[2])
	}
}

func TestRowsAreThoseOfTheStatement(t *testing.T) {
	db := openMemory(t)
	for statement, want := range map[string][]string{
		"SELECT 1 AS a, 2 AS a, 3 AS b":                          {"a a b", "[1,2,3]"},
		"SELECT 1 AS a, [2] AS a, {'a': 3} AS a;":                {"a a a", `[1,[2],{"a":3}]`},
		"SELECT [1] AS l -- the end":                             {"l", "[[1]]"},
		"SELECT [1] AS l; -- the end":                            {"l", "[[1]]"},
		"-- the beginning\nSELECT [1] AS l /* ; */ ;\n":          {"l", "[[1]]"},
		"FROM (VALUES ([2]), ([1]), ([3])) v(l) ORDER BY l DESC": {"l", "[[3]]", "[[2]]", "[[1]]"},
		"SELECT [1] AS l WHERE false":                            {"l"},
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n, [n] AS l FROM r ORDER BY n": {"n l", "[1,[1]]", "[2,[2]]", "[3,[3]]"},
		"DESCRIBE SELECT [1] AS l":           {"column_name column_type null key default extra", `["l","INTEGER[]","YES",null,null,null]`},
		`SELECT [1] AS "select", 2 AS "a b"`: {"select a b", "[[1],2]"},
	} {
		names, rows, err := asJSON(t.Context(), db, statement)
		if err != nil {
			t.Errorf("%s: %v", statement, err)
			continue
		}
		if got := append([]string{strings.Join(names, " ")}, rows...); !slices.Equal(got, want) {
			t.Errorf("%s:\n is   %q\n want %q", statement, got, want)
		}
	}
	var left int
	if err := db.Value(t.Context(), &left, "SELECT count(*) FROM duckdb_views() WHERE NOT internal"); err != nil || left != 0 {
		t.Errorf("%d views left, %v", left, err)
	}
}

// The order of a statement is kept for nested columns too, over more rows than
// a vector or a row group holds.
func TestOrderIsKeptWithNestedColumns(t *testing.T) {
	db := openMemory(t)
	const n = 300_000
	next := n
	err := db.ReadRows(t.Context(), func([]string) error { return nil }, func(values []any) error {
		next--
		list, ok := values[1].([]any)
		if number := json.Number(fmt.Sprint(next)); !ok || values[0] != number || list[0] != number {
			return fmt.Errorf("row %d is %v", n-1-next, values)
		}
		return nil
	}, fmt.Sprintf("SELECT i, [i] FROM range(%d) t(i) ORDER BY i DESC", n))
	if err != nil || next != 0 {
		t.Fatalf("%d rows missing, %v", next, err)
	}
}

func TestReadRowsStopsWhereItsReceiverDoes(t *testing.T) {
	db := openMemory(t)
	enough := fmt.Errorf("enough")
	for _, statement := range []string{"SELECT i FROM range(10000) t(i)", "SELECT [i] FROM range(10000) t(i)"} {
		for _, refuse := range []string{"header", "row"} {
			read := 0
			err := db.ReadRows(t.Context(), func([]string) error {
				if refuse == "header" {
					return enough
				}
				return nil
			}, func([]any) error { read++; return enough }, statement)
			if err == nil || !strings.Contains(err.Error(), "enough") || read > 1 {
				t.Errorf("%s refused by %s: %d rows, %v", statement, refuse, read, err)
			}
		}
	}
	if _, rows, err := asJSON(t.Context(), db, "SELECT [1]"); err != nil || len(rows) != 1 {
		t.Errorf("afterwards: %v %v", rows, err)
	}
}

//go:build duckdb_arrow

package duck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
)

// sealed opens a file for reading, with a temporary table beside it, and seals
// it. What must stay out of reach lies in dir, and, where DuckDB itself still
// reads, in its spill directory.
func sealed(t *testing.T, o duck.Options) (db *duck.DB, dir string) {
	t.Helper()
	dir = t.TempDir()
	o.Path = filepath.Join(dir, "a.duckdb")
	if o.TempDir == "" {
		o.TempDir = filepath.Join(dir, "spill")
	}
	writer, err := duck.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	err = writer.Exec(t.Context(), "CREATE TABLE t AS SELECT range AS i FROM range(10)")
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	if db, err = duck.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Exec(t.Context(), "CREATE TEMP TABLE runs AS SELECT 1 AS a"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(o.TempDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(dir, "secret.csv"), filepath.Join(o.TempDir, "secret.csv")} {
		if err := os.WriteFile(file, []byte("a,b\nsecret,2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, dir
}

// files lists everything below a directory.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ask runs a statement as a person's is: checked, then read.
func ask(ctx context.Context, db *duck.DB, statement string) ([]string, error) {
	if err := db.CheckReads(ctx, statement); err != nil {
		return nil, err
	}
	_, rows, err := asJSON(ctx, db, statement)
	return rows, err
}

func TestSandboxRefuses(t *testing.T) {
	db, dir := sealed(t, duck.Options{})
	before := files(t, dir)
	statements := []string{
		// Files elsewhere, and where DuckDB still reads: its spill directory, its own file.
		"SELECT * FROM read_text('/etc/passwd')",
		"SELECT * FROM read_blob('/etc/passwd')",
		"SELECT * FROM read_csv('/etc/passwd')",
		"SELECT * FROM read_csv_auto('{dir}/secret.csv')",
		"SELECT * FROM read_json('/etc/passwd')",
		"SELECT * FROM read_ndjson_objects('/etc/passwd')",
		"SELECT * FROM read_parquet('/etc/passwd')",
		"SELECT * FROM parquet_scan('/etc/passwd')",
		"SELECT * FROM parquet_metadata('/etc/passwd')",
		"SELECT * FROM parquet_kv_metadata('{dir}/secret.csv')",
		"SELECT * FROM sniff_csv('{dir}/secret.csv')",
		"SELECT * FROM glob('/etc/*')",
		"SELECT * FROM '/etc/passwd'",
		"SELECT * FROM '{dir}/secret.csv'",
		"FROM '{dir}/*.csv'",
		`FROM "{dir}/secret.csv"`,
		"SELECT * FROM read_text('{dir}/spill/secret.csv')",
		"SELECT * FROM read_csv('{dir}/spill/secret.csv')",
		"SELECT * FROM '{dir}/spill/secret.csv'",
		"SELECT * FROM glob('{dir}/spill/*')",
		"SELECT * FROM read_blob('{dir}/a.duckdb')",
		"SELECT * FROM read_duckdb('{dir}/a.duckdb')",
		"SELECT * FROM '{dir}/a.duckdb'",
		"SELECT * FROM READ_TEXT('{dir}/spill/secret.csv')",
		`SELECT * FROM system.main."read_text"('{dir}/spill/secret.csv')`,
		"WITH x AS (FROM read_text('{dir}/spill/secret.csv')) FROM x",
		"SELECT (SELECT content FROM read_text('{dir}/spill/secret.csv'))",
		"SELECT 1 WHERE EXISTS (FROM read_text('{dir}/spill/secret.csv'))",
		"SELECT * FROM t, LATERAL (FROM read_text('{dir}/spill/secret.csv'))",
		"SELECT * FROM t UNION ALL SELECT size FROM read_text('{dir}/spill/secret.csv')",
		"SELECT i FROM t ORDER BY (SELECT size FROM read_text('{dir}/spill/secret.csv'))",
		"DESCRIBE FROM read_csv('{dir}/spill/secret.csv')",
		"SUMMARIZE FROM read_csv('{dir}/spill/secret.csv')",
		"EXPLAIN ANALYZE SELECT * FROM read_text('{dir}/spill/secret.csv')",
		"SELECT * FROM query('FROM read_text(''{dir}/spill/secret.csv'')')",
		"SELECT * FROM query_table('{dir}/spill/secret.csv')",
		"SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
		"PRAGMA json_execute_serialized_sql('x')",
		// The machine, other databases, the network.
		"SELECT getenv('HOME')",
		"SELECT * FROM duckdb_secrets()",
		"SELECT * FROM which_secret('s3://x', 's3')",
		"SELECT * FROM duckdb_settings()",
		"SELECT * FROM duckdb_extensions()",
		"SELECT * FROM duckdb_temporary_files()",
		"SELECT * FROM read_text('http://127.0.0.1:1/x')",
		"SELECT * FROM 'http://127.0.0.1:1/x.csv'",
		"SELECT * FROM 'https://127.0.0.1:1/x.parquet'",
		"SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 't')",
		"SELECT * FROM pg_read_file('/etc/passwd')",
		"SELECT * FROM sqlite_scan('/etc/passwd', 't')",
		"ATTACH '{dir}/new.duckdb' AS n",
		"ATTACH ':memory:' AS n",
		"DETACH store",
		"INSTALL httpfs",
		"FORCE INSTALL httpfs FROM community",
		"LOAD httpfs",
		"LOAD '{dir}/secret.csv'",
		"UPDATE EXTENSIONS",
		"CREATE SECRET s (TYPE s3)",
		// Writing.
		"COPY t TO '{dir}/out.csv'",
		"COPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"COPY runs FROM '{dir}/spill/secret.csv'",
		"EXPORT DATABASE '{dir}/spill/export'",
		"IMPORT DATABASE '{dir}/spill'",
		"EXPLAIN ANALYZE COPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"EXPLAIN COPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"explain\n analyze\tCOPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"EXPLAIN /* */ ANALYZE COPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"EXPLAIN ANALYZE -- \n COPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"EXPLAIN (FORMAT json) COPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO '{dir}/spill/out.csv'",
		"EXPLAIN ANALYZE INSERT INTO runs VALUES (2)",
		"EXPLAIN ANALYZE CREATE TABLE memory.main.x AS SELECT 1",
		"EXPLAIN ANALYZE EXPLAIN ANALYZE INSERT INTO runs VALUES (2)",
		"CREATE TEMP TABLE x AS SELECT 1",
		"CREATE TABLE memory.main.x AS SELECT 1",
		"CREATE OR REPLACE TEMP VIEW runs AS SELECT 2 AS a",
		"CREATE MACRO f(a) AS a",
		"INSERT INTO runs VALUES (2)",
		"UPDATE runs SET a = 2",
		"DELETE FROM runs",
		"DELETE FROM t",
		"TRUNCATE runs",
		"DROP TABLE runs",
		"ALTER TABLE runs ADD COLUMN b INT",
		"MERGE INTO runs USING t ON true WHEN MATCHED THEN DELETE",
		"WITH x AS (INSERT INTO runs VALUES (3) RETURNING *) SELECT * FROM x",
		"WITH x AS (SELECT 1) INSERT INTO runs FROM x",
		"WITH x AS (SELECT 1) DELETE FROM runs",
		"INSERT INTO runs VALUES (2) RETURNING *",
		"SELECT * FROM (INSERT INTO runs VALUES (2) RETURNING *)",
		// More than one statement, in every place.
		"SELECT 1; DROP TABLE runs",
		"DROP TABLE runs; SELECT 1",
		"SELECT 1; SELECT 2",
		"SELECT 1; INSERT INTO runs VALUES (2); SELECT 1",
		"EXPLAIN SELECT 1; DROP TABLE runs; SELECT 1",
		"EXPLAIN (FORMAT json) SELECT 1; DROP TABLE runs; SELECT 1",
		"SELECT 1\x00; DROP TABLE runs",
		"DROP TABLE runs; SELECT 1\x00",
		"PIVOT t ON i USING count(*)", // makes a type first
		"", ";", "-- nothing",
		// What the process does.
		"SET enable_external_access = true",
		"SET lock_configuration = false",
		"SET memory_limit = '100GB'",
		"SET VARIABLE a = 1",
		"RESET memory_limit",
		"RESET enable_external_access",
		"PRAGMA enable_profiling",
		"PRAGMA profiling_output = '{dir}/spill/profile'",
		"PRAGMA database_list",
		"PRAGMA version",
		"SELECT * FROM enable_profiling()",
		"SELECT * FROM enable_profiling(save_location = '{dir}/spill/profile.json')",
		"SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '{dir}/spill/log')",
		"CALL enable_logging('QueryLog', storage = 'file', storage_path = '{dir}/spill/log')",
		"SELECT * FROM truncate_duckdb_logs()",
		"SELECT * FROM checkpoint()",
		"SELECT * FROM force_checkpoint('store')",
		"SELECT * FROM enable_peg_parser()",
		"SELECT * FROM arrow_scan(1, 2, 3)",
		"SELECT * FROM seq_scan('t')",
		"CALL range(1)",
		"PREPARE p AS SELECT 1",
		"EXECUTE p",
		"DEALLOCATE p",
		"BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT", "FORCE CHECKPOINT", "VACUUM", "ANALYZE",
		"USE memory",
		"COMMENT ON TABLE runs IS 'x'",
	}
	for _, statement := range statements {
		statement = strings.ReplaceAll(statement, "{dir}", dir)
		if rows, err := ask(t.Context(), db, statement); err == nil {
			t.Errorf("answered with %d rows: %s", len(rows), statement)
		} else if strings.Contains(err.Error(), "secret,2") {
			t.Errorf("the refusal shows the file: %s", statement)
		}
	}
	// Nothing of it had an effect, neither here nor on disk.
	if rows, err := ask(t.Context(), db, "SELECT (SELECT list(a) FROM runs), (SELECT count(*) FROM t), (SELECT count(*) FROM duckdb_tables() WHERE NOT internal)"); err != nil || len(rows) != 1 || rows[0] != "[[1],10,2]" {
		t.Errorf("afterwards: %v %v", rows, err)
	}
	if after := files(t, dir); !slices.Equal(before, after) {
		t.Errorf("files before %q, after %q", before, after)
	}
}

// Without the check, and so with every statement, the seal alone keeps files,
// extensions and settings out of reach.
func TestSealAloneHoldsThePathsAndSettings(t *testing.T) {
	db, dir := sealed(t, duck.Options{})
	before := files(t, dir)
	for _, statement := range []string{
		"SELECT * FROM read_text('/etc/passwd')",
		"SELECT * FROM read_csv('{dir}/secret.csv')",
		"SELECT * FROM '{dir}/secret.csv'",
		"SELECT * FROM glob('{dir}/*')",
		"COPY (SELECT 1) TO '{dir}/out.csv'",
		"ATTACH '{dir}/new.duckdb' AS n",
		"EXPORT DATABASE '{dir}/export'",
		"INSTALL httpfs", "LOAD httpfs",
		"SET enable_external_access = true", "SET lock_configuration = false", "SET memory_limit = '1GB'",
		"SET allowed_directories = ['/']", "SET allowed_paths = ['/etc/passwd']", "SET temp_directory = '{dir}'",
		"RESET enable_external_access", "RESET memory_limit", "RESET lock_configuration",
		"SET secret_directory = '{dir}'", "SET extension_directory = '{dir}'", "SET log_query_path = '{dir}/log'",
		"CREATE TABLE store.main.x AS SELECT 1", "DELETE FROM t",
	} {
		if err := db.Exec(t.Context(), strings.ReplaceAll(statement, "{dir}", dir)); err == nil {
			t.Errorf("done: %s", statement)
		}
	}
	if after := files(t, dir); !slices.Equal(before, after) {
		t.Errorf("files before %q, after %q", before, after)
	}
}

func TestSandboxAnswers(t *testing.T) {
	db, _ := sealed(t, duck.Options{})
	for statement, rows := range map[string]int{
		"SELECT * FROM t":                     10,
		"select count(*) from store.main.t;":  1,
		"FROM t":                              10,
		"TABLE runs":                          1,
		"VALUES (1), (2)":                     2,
		"  -- why\n SELECT 1 -- that is why":  1,
		"/* ; DROP TABLE runs; */ SELECT ';'": 1,
		"(SELECT 1) UNION ALL (SELECT 2)":     2,
		"WITH x AS (SELECT i FROM t) SELECT * FROM x WHERE i < 3":                            3,
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) FROM r": 4,
		"SELECT * FROM range(3), unnest([1, 2])":                                             6,
		"SELECT i, sum(i) OVER (ORDER BY i) FROM t":                                          10,
		"SELECT * FROM json_each('{\"a\": 1, \"b\": 2}')":                                    2,
		"SELECT * FROM (PIVOT t ON i IN (1, 2) USING count(*))":                              1,
		"DESCRIBE t":        1,
		"SHOW ALL TABLES; ": 2, "DESCRIBE": 2,
		"SHOW TABLES":                     2,
		"SUMMARIZE t":                     1,
		"EXPLAIN SELECT * FROM t":         1,
		"EXPLAIN ANALYZE SELECT * FROM t": 1,
		"SELECT table_name FROM information_schema.tables":            2,
		"SELECT comment FROM duckdb_columns() WHERE table_name = 't'": 1,
		"SELECT regexp_matches('/etc/passwd', '/'), 'http://x'":       1,
		`SELECT 1 AS "/etc/passwd"`:                                   1,
	} {
		if got, err := ask(t.Context(), db, statement); err != nil || len(got) != rows {
			t.Errorf("%s: %d rows, %v", statement, len(got), err)
		}
	}
}

// A table function that an engine brings anew is decided on here before it is
// let through; what is let through must exist.
func TestReadingFunctionsExist(t *testing.T) {
	db, _ := sealed(t, duck.Options{})
	for _, statement := range []string{
		"SHOW ALL TABLES;", "SELECT * FROM repeat(1, 2)", "SELECT * FROM repeat_row(1, num_rows = 2)", "SELECT * FROM generate_series(1, 2)",
		"SELECT * FROM json_tree('[1]')", "SELECT * FROM histogram(t, i)", "SELECT * FROM duckdb_functions()",
		"SELECT * FROM duckdb_types()", "SELECT * FROM pg_timezone_names()", "SELECT * FROM test_all_types()",
	} {
		if _, err := ask(t.Context(), db, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestQueriesEndWithTheirContext(t *testing.T) {
	db, _ := sealed(t, duck.Options{})
	const long = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 7 "
	for _, statement := range []string{long, "SELECT [count(*)] FROM (" + long + ")"} {
		ctx, cancel := context.WithCancel(t.Context())
		if err := db.CheckReads(ctx, statement); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, _, err := asJSON(ctx, db, statement)
			ended <- err
		}()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if rows, err := ask(t.Context(), db, "SELECT 1"); err != nil || len(rows) != 1 {
			t.Errorf("afterwards: %v %v", rows, err)
		}
	}
}

// Sorting more than the memory limit holds spills, and what was spilled is gone
// at the end. Without a place to spill to it fails, which shows that it does.
func TestLargeSortsSpill(t *testing.T) {
	const n = 400_000
	sort := func(db *duck.DB) (rows int, err error) {
		const statement = "SELECT i, repeat('x', 200) || i AS wide FROM range(400000) t(i) ORDER BY hash(i)"
		if err := db.CheckReads(t.Context(), statement); err != nil {
			return 0, err
		}
		err = db.ReadRows(t.Context(), func([]string) error { return nil }, func([]any) error { rows++; return nil }, statement)
		return rows, err
	}
	o := duck.Options{MemoryLimit: 40 << 20, Threads: 1}
	db, dir := sealed(t, o)
	if rows, err := sort(db); err != nil || rows != n {
		t.Fatalf("%d rows, %v", rows, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if left := files(t, filepath.Join(dir, "spill")); len(left) != 2 {
		t.Errorf("left behind: %q", left)
	}
	o.TempDir = filepath.Join(dir, "secret.csv", "nowhere")
	db, err := duck.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if rows, err := sort(db); err == nil {
		t.Errorf("%d rows without a place to spill to: the test shows nothing", rows)
	}
}

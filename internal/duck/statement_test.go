//go:build duckdb_arrow

package duck_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/duck"
)

const endless = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 7"

// Every way to run a statement ends when its context does, with the context's
// own error, and leaves the connection as it was.
func TestEveryWayEndsWithItsContext(t *testing.T) {
	db := openFile(t, duck.Options{})
	if err := db.Exec(t.Context(), "CREATE TABLE t (i BIGINT)"); err != nil {
		t.Fatal(err)
	}
	for way, run := range map[string]func(context.Context) error{
		"exec":  func(ctx context.Context) error { return db.Exec(ctx, "CREATE TEMP TABLE x AS "+endless) },
		"value": func(ctx context.Context) error { var n int; return db.Value(ctx, &n, endless) },
		"rows": func(ctx context.Context) error {
			_, _, err := asJSON(ctx, db, endless)
			return err
		},
		"arrow": func(ctx context.Context) error {
			return db.ReadArrow(ctx, func(arrow.RecordBatch) error { return nil }, endless)
		},
		"query": func(ctx context.Context) error {
			rows, err := db.Query(ctx, endless)
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			return errors.Join(rows.Err(), rows.Close())
		},
		"tx": func(ctx context.Context) error {
			return db.Tx(ctx, func() error {
				return errors.Join(db.Exec(ctx, "INSERT INTO t VALUES (1)"), db.Exec(ctx, "INSERT INTO t "+endless))
			})
		},
	} {
		// Long enough for the statement to be under way, far from long enough for it to end.
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", way, err)
		}
		cancel()
		if got := value(t, db, "SELECT 'rows: ' || count(*) FROM t"); got != "rows: 0" {
			t.Errorf("after %s: %s", way, got)
		}
	}
}

func TestTransactionsAreWholeOrNothing(t *testing.T) {
	db := openFile(t, duck.Options{})
	if err := db.Exec(t.Context(), "CREATE TABLE t (i BIGINT)"); err != nil {
		t.Fatal(err)
	}
	insert := func() error { return db.Exec(t.Context(), "INSERT INTO t VALUES (1)") }
	count := func() string { return value(t, db, "SELECT count(*) || '' FROM t") }

	if err := db.Tx(t.Context(), insert); err != nil || count() != "1" {
		t.Errorf("committed: %s, %v", count(), err)
	}
	mine := errors.New("mine")
	if err := db.Tx(t.Context(), func() error { return errors.Join(insert(), mine) }); !errors.Is(err, mine) || count() != "1" {
		t.Errorf("own error: %s, %v", count(), err)
	}
	err := db.Tx(t.Context(), func() error { return errors.Join(insert(), db.Exec(t.Context(), "INSERT INTO nowhere VALUES (1)")) })
	if err == nil || count() != "1" {
		t.Errorf("failed statement: %s, %v", count(), err)
	}
	func() {
		defer func() {
			if p := recover(); p != "lost" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = db.Tx(t.Context(), func() error {
			if err := insert(); err != nil {
				t.Error(err)
			}
			panic("lost")
		})
	}()
	if count() != "1" {
		t.Errorf("panic: %s", count())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = db.Tx(ctx, func() error { cancel(); return insert() })
	if !errors.Is(err, context.Canceled) || count() != "1" {
		t.Errorf("context that ended inside: %s, %v", count(), err)
	}
	if err := db.Tx(ctx, insert); !errors.Is(err, context.Canceled) || count() != "1" {
		t.Errorf("context that had ended: %s, %v", count(), err)
	}
	if err := db.Tx(t.Context(), insert); err != nil || count() != "2" {
		t.Errorf("afterwards: %s, %v", count(), err)
	}
}

// oneText is a batch with one column of text.
func oneText(texts ...string) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	for _, text := range texts {
		b.Field(0).(*array.StringBuilder).Append(text)
	}
	return b.NewRecordBatch()
}

func insertBatch(ctx context.Context, db *duck.DB, table string, batches ...arrow.RecordBatch) error {
	stream, err := db.Stream(ctx, batches[0].Schema(), batches...)
	if err != nil {
		return err
	}
	err = db.Tx(ctx, func() error { return db.Insert(ctx, table, stream) })
	return errors.Join(err, stream.Close(), stream.Close()) // a second close does nothing
}

func TestTextsGoThroughAsTheyAre(t *testing.T) {
	db := openFile(t, duck.Options{})
	if err := db.Exec(t.Context(), "CREATE TABLE t (s VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	texts := []string{"", "a\x00b", "\x00", "è", "e\u0300", "\U0001f986", "\ufeff", "\u2028", "a\r\nb", strings.Repeat("long ", 1<<16), "\uffff"}
	if err := insertBatch(t.Context(), db, "t", oneText(texts...)); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		var arrow, bound int
		if err := db.Value(t.Context(), &arrow, "SELECT count(*) FROM t WHERE s = $1", text); err != nil || arrow != 1 {
			t.Errorf("%.20q: %d rows, %v", text, arrow, err)
		}
		if err := db.Value(t.Context(), &bound, "SELECT strlen($1)", text); err != nil || bound != len(text) {
			t.Errorf("%.20q: %d bytes, %v", text, bound, err)
		}
	}
	var got []string
	if err := db.ReadRows(t.Context(), func([]string) error { return nil }, func(row []any) error { got = append(got, row[0].(string)); return nil }, "SELECT s FROM t"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, texts) {
		t.Errorf("read back %.200q", got)
	}
}

// Invalid UTF-8 is an error on every way in, and never a NULL.
func TestInvalidUTF8IsRefused(t *testing.T) {
	db := openFile(t, duck.Options{})
	if err := db.Exec(t.Context(), "CREATE TABLE t (s VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80"} {
		if err := insertBatch(t.Context(), db, "t", oneText("good", text)); err == nil {
			t.Errorf("%q went in by Arrow", text)
		}
		if err := db.Exec(t.Context(), "INSERT INTO t VALUES ($1)", text); err == nil {
			t.Errorf("%q went in by binding", text)
		}
	}
	if got := value(t, db, "SELECT 'rows: ' || count(*) FROM t"); got != "rows: 0" {
		t.Error(got)
	}
}

func TestInsertOfManyBatches(t *testing.T) {
	db := openFile(t, duck.Options{})
	if err := db.Exec(t.Context(), "CREATE TABLE t (s VARCHAR); CREATE TABLE two (s VARCHAR, n BIGINT)"); err != nil {
		t.Fatal(err)
	}
	many := make([]string, 5000)
	batches := []arrow.RecordBatch{oneText(many...), oneText(), oneText("x"), oneText(many...)}
	if err := insertBatch(t.Context(), db, "t", batches...); err != nil {
		t.Fatal(err)
	}
	if got := value(t, db, "SELECT count(*) || '' FROM t"); got != "10001" {
		t.Errorf("%s rows", got)
	}
	if err := insertBatch(t.Context(), db, "t", oneText()); err != nil {
		t.Errorf("no rows: %v", err)
	}
	if err := insertBatch(t.Context(), db, "two", oneText("x")); err == nil {
		t.Error("a batch with too few columns went in")
	}
	if err := insertBatch(t.Context(), db, "nowhere", oneText("x")); err == nil {
		t.Error("a table that is not there took a batch")
	}
	// A stream is read once: what a second read would not find is found out.
	stream, err := db.Stream(t.Context(), batches[2].Schema(), batches[2])
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), "t", stream); err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), "t", stream); err == nil || !strings.Contains(err.Error(), "0 rows arrived of 1 sent") {
		t.Errorf("second read: %v", err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	if got := value(t, db, "SELECT count(*) || '' FROM duckdb_views() WHERE NOT internal"); got != "0" {
		t.Errorf("%s views are left", got)
	}
}

func TestValueWithoutARow(t *testing.T) {
	db := openMemory(t)
	var n int
	if err := db.Value(t.Context(), &n, "SELECT 1 WHERE false"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("%v", err)
	}
}

// A statement is named in an error by the first line of its file, which says
// what it is for.
func TestErrorsNameTheStatement(t *testing.T) {
	db := openMemory(t)
	err := db.Exec(t.Context(), "\n-- count what is not there\nSELECT * FROM nowhere")
	if err == nil || !strings.HasPrefix(err.Error(), "count what is not there: Catalog Error: ") {
		t.Errorf("%v", err)
	}
}

func TestQuote(t *testing.T) {
	db := openMemory(t)
	for _, text := range []string{"", "it's", "''", `\'`, "è\n--"} {
		if got := value(t, db, "SELECT "+duck.Quote(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

//go:build duckdb_arrow

package duck_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/duck"
)

func TestArrowGoesInAndOut(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "it's.duckdb")
	db, err := duck.Open(ctx, duck.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(ctx, "CREATE TABLE t (n BIGINT, s VARCHAR, l VARCHAR[])"); err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}, nil)
	for round := range 3 {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		b.Field(0).(*array.Int64Builder).Append(int64(round))
		b.Field(1).(*array.StringBuilder).Append("a\x00b")
		l := b.Field(2).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.StringBuilder).Append("x")
		rec := b.NewRecordBatch()
		stream, err := db.Stream(ctx, schema, rec)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Tx(ctx, func() error { return db.Insert(ctx, "t", stream) }); err != nil {
			t.Fatal(err)
		}
		if err := stream.Close(); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		b.Release()
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = duck.Open(ctx, duck.Options{Path: path, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var views int
	if err := db.Value(ctx, &views, "SELECT count(*) FROM duckdb_views() WHERE NOT internal"); err != nil || views != 0 {
		t.Fatalf("%d views left in the file, %v", views, err)
	}
	var got []string
	err = db.ReadArrow(ctx, func(r arrow.RecordBatch) error {
		s := r.Column(1).(*array.String)
		for i := range s.Len() {
			got = append(got, string([]byte(s.Value(i))))
		}
		return nil
	}, "SELECT * FROM t ORDER BY n")
	if err != nil || len(got) != 3 || got[2] != "a\x00b" {
		t.Fatalf("%q %v", got, err)
	}
}

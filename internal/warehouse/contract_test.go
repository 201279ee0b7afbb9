//go:build duckdb_arrow

package warehouse

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/extract"
	"github.com/thtbatch/thtbatch/internal/record"
	query "github.com/thtbatch/thtbatch/sql"
)

// publicViews are the views that people and programs read: name, order and type
// of each column. More may follow behind; a change of these is a breaking one.
func publicViews() map[string]string {
	return map[string]string{
		"sessions": "session_id path state reason status created_at updated_at updated_by question database schema decisions:BIGINT quarantined:BIGINT",
		"decisions": "session_id seq:BIGINT ts:TIMESTAMP type phase:BIGINT subject detail rationale is_control:BOOLEAN " +
			"is_effective:BOOLEAN ineffective_reason ineffective_by_seq:BIGINT extra:JSON line:BIGINT",
		"effective_decisions": "session_id seq:BIGINT ts:TIMESTAMP type phase:BIGINT subject detail rationale",
		"promotion_candidates": "session_id decision_seq:BIGINT type subject detail rationale question_context tables:VARCHAR[] concepts:VARCHAR[] " +
			"status rank:BIGINT duplicate_of_seq:BIGINT reuses_memory_id",
		"memories": "memory_id ts:TIMESTAMP session_id decision_seq:BIGINT type subject detail rationale question_context tables:VARCHAR[] " +
			"concepts:VARCHAR[] content content_hash record_key indexable:BOOLEAN skip_reason line:BIGINT",
		"solved_questions":        "session_id record_key question sql tables:VARCHAR[] content_hash indexable:BOOLEAN skip_reason",
		"session_memories":        "session_id position:BIGINT outcome decision_seq:BIGINT memory_id subject detail rationale",
		"index_records":           "record_key kind ref content_hash embed_space point_id seen_at:TIMESTAMP",
		"index_plan":              "run_id record_key kind action reason",
		"near_duplicate_pairs":    "run_id kind a_key b_key similarity:DOUBLE differs_in",
		"near_duplicate_clusters": "run_id kind cluster_id record_key is_representative:BOOLEAN size:BIGINT",
		"quarantine":              "path line:BIGINT byte_offset:BIGINT reason excerpt session_id",
		"runs": "run_id job started_at:TIMESTAMP finished_at:TIMESTAMP status exit_code:BIGINT error sessions_read:BIGINT sessions_changed:BIGINT " +
			"embedded:BIGINT cache_hits:BIGINT inserted:BIGINT updated:BIGINT repayloaded:BIGINT unchanged:BIGINT withheld:BIGINT failed:BIGINT",
	}
}

// columnTypes are "name TYPE" in the order of the columns.
func columnTypes(t *testing.T, db *duck.DB, table string) (columns []string) {
	t.Helper()
	err := db.ReadRows(t.Context(), func([]string) error { return nil }, func(row []any) error {
		columns = append(columns, fmt.Sprint(row[0], " ", row[1]))
		return nil
	}, "DESCRIBE "+table)
	if err != nil {
		t.Fatal(err)
	}
	return columns
}

func checkViews(t *testing.T, db *duck.DB) {
	t.Helper()
	for view, text := range publicViews() {
		var want []string
		for _, column := range strings.Fields(text) {
			name, kind, typed := strings.Cut(column, ":")
			if !typed {
				kind = "VARCHAR"
			}
			want = append(want, name+" "+kind)
		}
		if got := columnTypes(t, db, view); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s:\n is   %v\n want %v", view, got, want)
		}
	}
	// What stands in the database is said in the database.
	without := 0
	err := db.ReadRows(t.Context(), func([]string) error { return nil }, func(row []any) error {
		without++
		t.Errorf("%v has no comment", row)
		return nil
	}, `WITH named AS (
	    SELECT view_name AS name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' AND database_name = current_database()
	    UNION ALL SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main' AND table_name <> 'meta' AND database_name = current_database()
	    UNION ALL SELECT c.table_name || '.' || c.column_name, c.comment FROM duckdb_columns() c
	        WHERE NOT c.internal AND c.schema_name = 'main' AND c.table_name <> 'meta' AND c.database_name = current_database())
	 SELECT name FROM named WHERE coalesce(comment, '') = ''`)
	if err != nil {
		t.Fatal(err)
	}
	var relations int
	if err := db.Value(t.Context(), &relations, `SELECT count(*) FROM information_schema.tables
	    WHERE table_schema = 'main' AND table_name <> 'meta' AND table_catalog = current_database()`); err != nil {
		t.Fatal(err)
	}
	if relations != len(publicViews()) {
		t.Errorf("%d views and tables, %d are public", relations, len(publicViews()))
	}
}

func TestPublicViews(t *testing.T) {
	if len(Views()) != len(publicViews()) {
		t.Errorf("%d views are published, %d are public", len(Views()), len(publicViews()))
	}
	db := openTest(t)
	t.Run("warehouse", func(t *testing.T) { checkViews(t, db.duck) })

	path := filepath.Join(t.TempDir(), "published.duckdb")
	if err := db.ExportDatabase(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	published, err := duck.Open(t.Context(), duck.Options{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = published.Close() }()
	t.Run("published file", func(t *testing.T) { checkViews(t, published) })

	for _, v := range Views() {
		parquet := filepath.Join(t.TempDir(), ParquetFile(v.Name))
		if err := db.ExportParquet(t.Context(), v.Name, parquet); err != nil {
			t.Fatal(err)
		}
		// Parquet has no JSON of its own: it is text there, or JSON, as the reader likes.
		want, got := columnTypes(t, db.duck, v.Name), columnTypes(t, db.duck, "(FROM read_parquet("+duck.Quote(parquet)+"))")
		if !slices.Equal(got, want) {
			t.Errorf("%s in Parquet:\n is   %v\n want %v", v.Name, got, want)
		}
	}
	if err := db.ExportParquet(t.Context(), "meta", filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("a table that is not public was exported")
	}
}

// What belongs to a run changes with every run, and so depends on no group.
func TestViewsOfARunHaveNoGroup(t *testing.T) {
	for _, v := range Views() {
		loaded := strings.HasPrefix(v.Name, "near_duplicate") || v.Name == "runs" || v.Name == "index_plan"
		if loaded != (len(v.Groups) == 0) {
			t.Errorf("%s depends on %v", v.Name, v.Groups)
		}
	}
}

// Batches are moved by a bare SELECT *: names, order and types of what the
// readers make are those of the tables.
func TestSchemasOfReadersAreThoseOfTables(t *testing.T) {
	db := openTest(t)
	if err := db.duck.Exec(t.Context(), query.Text("scan/scratch")); err != nil {
		t.Fatal(err)
	}
	for table, schema := range map[string]*arrow.Schema{
		"parsed.stamp": extract.StampSchema(), "temp.main.fresh_stamp": extract.StampSchema(), "parsed.manifest": extract.ManifestSchema(),
		"parsed.ledger": extract.LedgerSchema(), "parsed.ledger_line": extract.LineSchema(), "parsed.sql_final": extract.SQLSchema(),
		"parsed.fault": extract.FaultSchema(), "temp.main.fault_stage": extract.FaultSchema(),
		"parsed.memory_line": extract.MemorySchema(), "temp.main.memory_stage": extract.MemorySchema(),
		"loaded.run": runBatch(nil).Schema(), "temp.main.replaced": replacedBatch([3][]int64{}).Schema(), "parsed.session": sessionBatch(nil).Schema(),
		"derived.memory_hash": newHashRows(true).b.Schema(), "derived.solved_hash": newHashRows(false).b.Schema(),
	} {
		var want []string
		for _, f := range schema.Fields() {
			name := f.Name
			if name == "key" { // the same builder for both tables
				name = map[string]string{"derived.memory_hash": "line", "derived.solved_hash": "session_key"}[table]
			}
			want = append(want, name+" "+duckType(t, f.Type))
		}
		if got := columnTypes(t, db.duck, table); !slices.Equal(got, want) {
			t.Errorf("%s:\n table  %v\n reader %v", table, got, want)
		}
	}
}

func duckType(t *testing.T, of arrow.DataType) string {
	t.Helper()
	switch of := of.(type) {
	case *arrow.Int64Type:
		return "BIGINT"
	case *arrow.Int8Type:
		return "TINYINT"
	case *arrow.StringType:
		return "VARCHAR"
	case *arrow.BooleanType:
		return "BOOLEAN"
	case *arrow.ListType:
		return duckType(t, of.Elem()) + "[]"
	case *arrow.TimestampType:
		if of.Unit == arrow.Microsecond && of.TimeZone == "" {
			return "TIMESTAMP"
		}
	}
	t.Fatalf("no table has a column of type %s", of)
	return ""
}

// The macro and the constant are two of the six doors: they are one rule.
func TestReusableIsOneRule(t *testing.T) {
	db := openTest(t)
	for _, decisionType := range []string{
		record.ReusableType, "", " concept_clarified", "concept_clarified ", "Concept_clarified", "CONCEPT_CLARIFIED", "concept_clarifie",
		"concept_clarified\n", "concept_clarified\x00", "table_promoted", "table_excluded", "memory_promoted", "cte_approved", "sql_approved",
	} {
		var reusable bool
		if err := db.duck.Value(t.Context(), &reusable, "SELECT is_reusable($1)", decisionType); err != nil {
			t.Fatal(err)
		}
		if reusable != record.Reusable(decisionType) {
			t.Errorf("%q: the macro says %t, the program %t", decisionType, reusable, !reusable)
		}
	}
}

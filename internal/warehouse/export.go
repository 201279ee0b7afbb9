//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/duck"
	query "github.com/thtbatch/thtbatch/sql"
)

// View is a public view and the groups that its rows depend on; a view without
// a group belongs to a run.
type View struct {
	Name   string
	Groups []Group
}

// Views lists the public views.
func Views() []View {
	sessions, memories := []Group{GroupSessions}, []Group{GroupMemories}
	both := []Group{GroupSessions, GroupMemories}
	return []View{
		{"sessions", sessions}, {"decisions", sessions}, {effectiveDecisions, sessions},
		{"promotion_candidates", both}, {"memories", memories}, {"solved_questions", sessions},
		{"session_memories", both}, {"index_records", []Group{GroupIndex}}, {"index_plan", nil},
		{"near_duplicate_pairs", nil}, {"near_duplicate_clusters", nil}, {"quarantine", both}, {runsView, nil},
	}
}

const (
	effectiveDecisions = "effective_decisions"
	runsView           = "runs"
)

// ExportParquet writes one view to a file. The name must be one of Views.
func (db *DB) ExportParquet(ctx context.Context, view, path string) error {
	if !isView(view) {
		return fmt.Errorf("export %s: no public view has this name", view)
	}
	// COPY takes no parameters: the name comes from the closed list above.
	return db.duck.Exec(ctx, "COPY (FROM "+view+") TO "+duck.Quote(path)+" (FORMAT parquet, COMPRESSION zstd)")
}

func isView(name string) bool {
	for _, v := range Views() {
		if v.Name == name {
			return true
		}
	}
	return false
}

// ExportDatabase writes a new DuckDB file with all views as tables, with their
// comments; effective_decisions stays a view there.
func (db *DB) ExportDatabase(ctx context.Context, path string) (err error) {
	if err := db.duck.Exec(ctx, duck.Attach(path, "publication")); err != nil {
		return err
	}
	defer func() {
		end := context.WithoutCancel(ctx)
		err = errors.Join(err, db.duck.Exec(end, "USE store.main"), db.duck.Exec(end, "DETACH publication"))
	}()
	for _, v := range Views() {
		if v.Name == effectiveDecisions {
			continue
		}
		if err := db.duck.Exec(ctx, "CREATE TABLE publication.main."+v.Name+" AS FROM store.main."+v.Name); err != nil {
			return err
		}
	}
	if err := db.duck.Exec(ctx, "USE publication.main"); err != nil {
		return err
	}
	comments := strings.ReplaceAll(query.Text("schema/comments"), "COMMENT ON VIEW ", "COMMENT ON TABLE ")
	for _, statement := range []string{query.Text("schema/effective_decisions"), comments, query.Text("schema/comments_effective")} {
		if err := db.duck.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Run is a row of the view runs.
type Run struct {
	RunID, Job                                                            string
	StartedAt                                                             time.Time
	FinishedAt                                                            *time.Time
	Status                                                                string
	ExitCode                                                              *int
	Error                                                                 string
	SessionsRead, SessionsChanged, Embedded, CacheHits, Inserted, Updated int64
	Repayloaded, Unchanged, Withheld, Failed                              int64
}

// SetRuns replaces the rows of the view runs by those of the state directory.
func (db *DB) SetRuns(ctx context.Context, runs []Run) error {
	rows := runBatch(runs)
	defer rows.Release()
	stream, err := db.duck.Stream(ctx, rows.Schema(), rows)
	if err != nil {
		return err
	}
	err = db.duck.Tx(ctx, func() error {
		if err := db.duck.Exec(ctx, query.Text("publish/runs_clear")); err != nil {
			return err
		}
		return db.duck.Insert(ctx, "loaded.run", stream)
	})
	return errors.Join(err, stream.Close())
}

func runBatch(runs []Run) arrow.RecordBatch {
	text, number := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64
	stamp := &arrow.TimestampType{Unit: arrow.Microsecond}
	var fields []arrow.Field
	add := func(t arrow.DataType, names ...string) {
		for _, name := range names {
			fields = append(fields, arrow.Field{Name: name, Type: t, Nullable: true})
		}
	}
	add(text, "run_id", "job")
	add(stamp, "started_at", "finished_at")
	add(text, "status")
	add(number, "exit_code")
	add(text, "error")
	add(number, "sessions_read", "sessions_changed", "embedded", "cache_hits", "inserted", "updated", "repayloaded",
		"unchanged", "withheld", "failed")
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for _, r := range runs {
		appendText(b.Field(0), r.RunID)
		appendText(b.Field(1), r.Job)
		b.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(r.StartedAt.UnixMicro()))
		if r.FinishedAt == nil {
			b.Field(3).AppendNull()
		} else {
			b.Field(3).(*array.TimestampBuilder).Append(arrow.Timestamp(r.FinishedAt.UnixMicro()))
		}
		appendText(b.Field(4), r.Status)
		if r.ExitCode == nil {
			b.Field(5).AppendNull()
		} else {
			b.Field(5).(*array.Int64Builder).Append(int64(*r.ExitCode))
		}
		if r.Error == "" {
			b.Field(6).AppendNull()
		} else {
			appendText(b.Field(6), r.Error)
		}
		for i, n := range []int64{r.SessionsRead, r.SessionsChanged, r.Embedded, r.CacheHits, r.Inserted, r.Updated,
			r.Repayloaded, r.Unchanged, r.Withheld, r.Failed} {
			b.Field(7 + i).(*array.Int64Builder).Append(n)
		}
	}
	return b.NewRecordBatch()
}

func appendText(b array.Builder, s string) { b.(*array.StringBuilder).Append(s) }

//go:build duckdb_arrow

package warehouse

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/thtbatch/thtbatch/internal/record"
)

// columns reads a result batch by the names of its columns. Texts are cloned:
// what Arrow returns points into memory that is freed with the batch.
type columns map[string]arrow.Array

func columnsOf(b arrow.RecordBatch) columns {
	c := make(columns, b.NumCols())
	for i, field := range b.Schema().Fields() {
		c[field.Name] = b.Column(i)
	}
	return c
}

// column asserts the type that a statement promises: another one is an error of
// the program, not of the data.
func column[T arrow.Array](c columns, name string) T {
	typed, ok := c[name].(T)
	if !ok {
		panic(fmt.Sprintf("column %s is a %T", name, c[name]))
	}
	return typed
}

// text is empty where the column is NULL.
func (c columns) text(name string, row int) string {
	values := column[*array.String](c, name)
	if values.IsNull(row) {
		return ""
	}
	return strings.Clone(values.Value(row))
}

func (c columns) int(name string, row int) int64 { return column[*array.Int64](c, name).Value(row) }

func (c columns) bool(name string, row int) bool { return column[*array.Boolean](c, name).Value(row) }

func (c columns) texts(name string, row int) []string {
	lists := column[*array.List](c, name)
	if lists.IsNull(row) {
		return nil
	}
	values := lists.ListValues().(*array.String)
	from, to := lists.ValueOffsets(row)
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, strings.Clone(values.Value(int(i))))
	}
	return out
}

func (c columns) memory(row int) record.Memory {
	m := record.Memory{
		ID: c.text("id", row), Type: c.text("type", row), Subject: c.text("subject", row), Detail: c.text("detail", row),
		Rationale: c.text("rationale", row), QuestionContext: c.text("question_context", row),
		Tables: c.texts("tables", row), Concepts: c.texts("concepts", row), SessionID: c.text("session_id", row),
	}
	if seqs := column[*array.Int64](c, "decision_seq"); seqs.IsValid(row) {
		seq := seqs.Value(row)
		m.DecisionSeq = &seq
	}
	if times := column[*array.Timestamp](c, "ts"); times.IsValid(row) {
		ts := time.UnixMicro(int64(times.Value(row))).UTC()
		m.TS = &ts
	}
	return m
}

func (c columns) solved(row int) record.Solved {
	return record.Solved{
		SessionID: c.text("session_id", row), Question: c.text("question_context", row),
		SQL: c.text("sql", row), Tables: c.texts("tables", row),
	}
}

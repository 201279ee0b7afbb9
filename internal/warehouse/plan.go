//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/plan"
	"github.com/thtbatch/thtbatch/internal/record"
	query "github.com/thtbatch/thtbatch/sql"
)

// Refusal is a record that an embedder or the store refused before, for a
// reason that stands as long as its content and the space do.
type Refusal struct{ Key, ContentHash, Space, Reason string }

// Scope narrows a plan.
type Scope struct {
	Session   string // one session, or empty
	Kind      string // one kind, or empty
	AnyStatus bool   // a solved pair whatever its manifest's status
}

// Complete tells whether the plan covers everything: only then are orphans
// looked for.
func (s Scope) Complete() bool { return s.Session == "" && s.Kind == "" }

// Target is the index that is planned for.
type Target struct {
	Workspace, Space, AdoptAs string
	SameDimensions            bool // the index holds vectors of the embedder's dimension
}

// BeginPlan empties the scratch tables of a plan and takes what was refused
// and retracted before. What is seen follows, then Sources and Plan.
func (db *DB) BeginPlan(ctx context.Context, refusals []Refusal, retracted []string) error {
	if err := db.duck.Exec(ctx, query.Text("plan/scratch")); err != nil {
		return err
	}
	rows := make([][]string, 0, len(refusals))
	for _, r := range refusals {
		rows = append(rows, []string{r.Key, r.ContentHash, r.Space, r.Reason})
	}
	if err := db.stageTexts(ctx, "temp.main.refusal", rows, "record_key", "content_hash", "embed_space", "reason"); err != nil {
		return err
	}
	rows = rows[:0]
	for _, key := range retracted {
		rows = append(rows, []string{key})
	}
	return db.stageTexts(ctx, "temp.main.retraction", rows, "record_key")
}

// Elsewhere finds records of another workspace under keys of ours: how many,
// and one of them.
func (db *DB) Elsewhere(ctx context.Context, workspace string) (n int, key, owner string, err error) {
	rows, err := db.duck.Query(ctx, query.Text("plan/elsewhere"), workspace)
	if err != nil {
		return 0, "", "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(&n, &key, &owner); err != nil {
			return 0, "", "", err
		}
	}
	return n, key, owner, rows.Err()
}

// Sources computes what should be in the index, within the scope.
func (db *DB) Sources(ctx context.Context, s Scope) error {
	return db.duck.Exec(ctx, query.Text("plan/sources"), optional(s.Session), optional(s.Kind), s.AnyStatus)
}

// Plan compares the sources with what was seen, checks that the result is a
// partition and keeps it under the run's id.
func (db *DB) Plan(ctx context.Context, runID string, s Scope, t Target) ([]plan.Count, error) {
	if err := db.duck.Exec(ctx, query.Text("plan/actions"), t.Workspace, t.Space, t.AdoptAs, t.SameDimensions, s.Complete()); err != nil {
		return nil, err
	}
	counts, err := db.planCounts(ctx)
	if err != nil {
		return nil, err
	}
	sums, err := db.planSums(ctx, t.Workspace, s.Complete())
	if err != nil {
		return nil, err
	}
	for _, c := range counts {
		sums.RowsByAction += c.Count
		if !slices.Contains(plan.Actions(), c.Action) {
			sums.UnknownActions += c.Count
		}
	}
	if err := sums.Check(); err != nil {
		return nil, err
	}
	return counts, db.keepPlan(ctx, runID, s.Complete())
}

// keepPlan keeps the plan under the id of its run. One that says what the last
// complete one said adds a single row.
func (db *DB) keepPlan(ctx context.Context, runID string, complete bool) error {
	var fingerprint string
	if err := db.duck.Value(ctx, &fingerprint, query.Text("plan/keep_fingerprint")); err != nil {
		return err
	}
	before, err := db.meta(ctx, "plan_fingerprint")
	if err != nil {
		return err
	}
	return db.duck.Tx(ctx, func() error {
		if err := db.duck.Exec(ctx, query.Text("plan/keep_run"), runID, complete); err != nil {
			return err
		}
		if !complete {
			if err := db.duck.Exec(ctx, query.Text("plan/keep_rows")); err != nil {
				return err
			}
		} else if before != fingerprint {
			if err := db.duck.Exec(ctx, query.Text("plan/keep_spans")); err != nil {
				return err
			}
			if err := db.setMeta(ctx, "plan_fingerprint", fingerprint); err != nil {
				return err
			}
		}
		return db.duck.Exec(ctx, query.Text("plan/forget"))
	})
}

func (db *DB) planCounts(ctx context.Context) (counts []plan.Count, err error) {
	rows, err := db.duck.Query(ctx, query.Text("plan/counts"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c plan.Count
		if err := rows.Scan(&c.Kind, &c.Action, &c.Count); err != nil {
			return nil, err
		}
		counts = append(counts, c)
	}
	return counts, rows.Err()
}

func (db *DB) planSums(ctx context.Context, workspace string, complete bool) (s plan.Sums, err error) {
	rows, err := db.duck.Query(ctx, query.Text("plan/partition"), workspace, complete)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(&s.Sources, &s.Points, &s.OfSources, &s.OfPoints, &s.PointsOutside, &s.PlanRows); err != nil {
			return s, err
		}
	}
	return s, rows.Err()
}

// PlanRow is one row of the plan, for people.
type PlanRow struct{ Key, Kind, Action, Reason string }

// PlanRows hands the rows of the plan to fn, those that need nothing last.
func (db *DB) PlanRows(ctx context.Context, fn func(PlanRow) error) error {
	return db.duck.ReadArrow(ctx, func(b arrow.RecordBatch) error {
		c := columnsOf(b)
		for row := range int(b.NumRows()) {
			r := PlanRow{c.text("record_key", row), c.text("kind", row), c.text("action", row), c.text("reason", row)}
			if err := fn(r); err != nil {
				return err
			}
		}
		return nil
	}, query.Text("plan/rows"))
}

// Chunk is a part of the work that fits in memory.
type Chunk struct {
	Kind   string
	Number int64
	Count  int
}

// Chunks lists the work of the plan.
func (db *DB) Chunks(ctx context.Context) (out []Chunk, err error) {
	rows, err := db.duck.Query(ctx, query.Text("plan/chunks"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c Chunk
		if err := rows.Scan(&c.Kind, &c.Number, &c.Count); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// Work is one record to write.
type Work struct {
	Action  plan.Action
	Embeds  bool
	PointID string // of the point that is there, or empty
	Record  record.Record
	// ContentHash and PayloadHash as planned: the record built now must agree.
	ContentHash, PayloadHash string
}

// Fetch reads a chunk and builds its records.
func (db *DB) Fetch(ctx context.Context, chunk Chunk, b record.Builder) ([]Work, error) {
	statement, build := query.Text("plan/fetch_solved"), func(c columns, row int) (record.Record, error) { return b.Solved(c.solved(row)) }
	if chunk.Kind == record.KindMemory {
		statement, build = query.Text("plan/fetch_memories"), func(c columns, row int) (record.Record, error) { return b.Memory(c.memory(row)) }
	}
	out := make([]Work, 0, chunk.Count)
	err := db.duck.ReadArrow(ctx, func(batch arrow.RecordBatch) error {
		c := columnsOf(batch)
		for row := range int(batch.NumRows()) {
			r, err := build(c, row)
			if err != nil {
				return err
			}
			out = append(out, Work{
				Action: plan.Action(c.text("action", row)), Embeds: c.bool("embeds", row), PointID: c.text("point_id", row),
				Record: r, ContentHash: c.text("content_hash", row), PayloadHash: c.text("payload_hash", row),
			})
		}
		return nil
	}, statement, chunk.Number)
	return out, err
}

// Applied is a record that is in the index now, confirmed.
type Applied struct{ Key, Kind, Ref, ContentHash, Space, PointID string }

// AddApplied takes records that were written.
func (db *DB) AddApplied(ctx context.Context, applied []Applied) error {
	rows := make([][]string, 0, len(applied))
	for _, a := range applied {
		rows = append(rows, []string{a.Key, a.Kind, a.Ref, a.ContentHash, a.Space, a.PointID})
	}
	return db.stageTexts(ctx, "temp.main.applied", rows, "record_key", "kind", "ref", "content_hash", "embed_space", "point_id")
}

// Settle records what the index holds after the work, as of now. Where that is
// what was recorded before, only the time changes.
func (db *DB) Settle(ctx context.Context, workspace string, now time.Time) error {
	var fingerprint string
	if err := db.duck.Value(ctx, &fingerprint, query.Text("plan/settle"), workspace); err != nil {
		return err
	}
	before, err := db.meta(ctx, "index_fingerprint")
	if err != nil {
		return err
	}
	return db.duck.Tx(ctx, func() error {
		if before != fingerprint {
			if err := db.duck.Exec(ctx, query.Text("plan/record_clear")); err != nil {
				return err
			}
			if err := db.duck.Exec(ctx, query.Text("plan/record"), workspace); err != nil {
				return err
			}
			if err := db.setMeta(ctx, "index_fingerprint", fingerprint); err != nil {
				return err
			}
			if err := db.touch(ctx, GroupIndex); err != nil {
				return err
			}
		}
		return db.setMeta(ctx, "index_seen_at", now.UTC().Format("2006-01-02 15:04:05.999999"))
	})
}

// stageTexts inserts rows of texts into a scratch table.
func (db *DB) stageTexts(ctx context.Context, table string, rows [][]string, names ...string) error {
	if len(rows) == 0 {
		return nil
	}
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for _, row := range rows {
		for i, text := range row {
			b.Field(i).(*array.StringBuilder).Append(text)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	return db.stage(ctx, table, batch)
}

func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

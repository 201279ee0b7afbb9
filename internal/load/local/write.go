//go:build duckdb_arrow

package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/load"
	query "github.com/thtbatch/thtbatch/sql"
)

// An Arrow batch closes at this many rows or bytes of payload, far from the
// 2 GiB that its 32-bit offsets can address.
const (
	batchRows  = 2048
	batchBytes = 64 << 20
)

// Write implements load.Store. The batch is one transaction; it is held in
// memory twice while it is written.
func (s *Store) Write(ctx context.Context, writes []load.Write) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if len(writes) == 0 {
		return nil
	}
	if err := s.write(ctx, writes); err != nil {
		return fmt.Errorf("write %d points to %s: %w", len(writes), s.db.Path(), err)
	}
	return nil
}

func (s *Store) write(ctx context.Context, writes []load.Write) error {
	switch {
	case s.readOnly:
		return errors.New("opened for reading")
	case s.dimensions == 0:
		return load.ErrNotPrepared
	}
	if err := load.Check(writes, s.dimensions); err != nil {
		return err
	}
	held, err := s.held(ctx, writes)
	if err != nil {
		return err
	}
	if err := load.CheckHeld(writes, held); err != nil {
		return err
	}
	return s.put(ctx, writes, held)
}

// held reads the payloads of the points that the batch updates.
func (s *Store) held(ctx context.Context, writes []load.Write) (map[string]map[string]any, error) {
	ids := make([]string, len(writes))
	for i, w := range writes {
		ids[i] = w.PointID
	}
	held := make(map[string]map[string]any)
	err := s.each(ctx, func(rows *duck.Rows) error {
		var id, payload string
		if err := rows.Scan(&id, &payload); err != nil {
			return err
		}
		decoded, err := decode(payload)
		if err != nil {
			return fmt.Errorf("payload of %s: %w", id, err)
		}
		held[id] = decoded
		return nil
	}, query.Text("local/held"), sql.Named("ids", ids))
	return held, err
}

// put writes a batch in one transaction: the points with a vector go straight
// into the table, after those that they replace have gone; payloads alone are
// collected in a temporary table and laid beside the vectors that stay.
func (s *Store) put(ctx context.Context, writes []load.Write, held map[string]map[string]any) (err error) {
	var whole, payloads []load.Write
	var replaced []string
	for _, w := range writes {
		if w.Vector == nil {
			payloads = append(payloads, w)
			continue
		}
		whole = append(whole, w)
		if _, exists := held[w.PointID]; exists {
			replaced = append(replaced, w.PointID)
		}
	}
	// Streams are registered before the transaction and released after it.
	points, err := s.stream(ctx, whole, held)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, points.close()) }()
	if len(payloads) > 0 {
		if err := s.collect(ctx, payloads, held); err != nil {
			return err
		}
		defer func() {
			// The emptied table gives its memory back.
			err = errors.Join(err, s.db.Exec(context.WithoutCancel(ctx), statement("incoming", s.dimensions)))
		}()
	}
	return s.db.Tx(ctx, func() error {
		if len(payloads) > 0 {
			if err := s.db.Exec(ctx, query.Text("local/update")); err != nil {
				return err
			}
		}
		if len(replaced) > 0 {
			if err := s.db.Exec(ctx, query.Text("local/remove"), sql.Named("ids", replaced)); err != nil {
				return err
			}
		}
		return s.db.Insert(ctx, "points", points.Stream)
	})
}

// collect fills the temporary table with payloads. It is no part of the
// transaction: what it leaves after a failure is emptied by the next batch.
func (s *Store) collect(ctx context.Context, payloads []load.Write, held map[string]map[string]any) (err error) {
	if err := s.db.Exec(ctx, statement("incoming", s.dimensions)); err != nil {
		return err
	}
	rows, err := s.stream(ctx, payloads, held)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	return s.db.Insert(ctx, "temp.main.incoming", rows.Stream)
}

// rows are Arrow batches and the stream that DuckDB reads them from.
type rows struct {
	*duck.Stream
	batches []arrow.RecordBatch
}

func (s *Store) stream(ctx context.Context, writes []load.Write, held map[string]map[string]any) (rows, error) {
	schema := pointsSchema(s.dimensions)
	r := rows{}
	var err error
	if r.batches, err = batches(schema, writes, held); err == nil {
		r.Stream, err = s.db.Stream(ctx, schema, r.batches...)
	}
	if err != nil {
		r.release()
		return rows{}, err
	}
	return r, nil
}

func (r rows) close() error {
	err := r.Close()
	r.release()
	return err
}

func (r rows) release() {
	for _, b := range r.batches {
		b.Release()
	}
}

// pointsSchema has the columns of the table: those of PointSchema, then
// payload, norm and vector.
func pointsSchema(dimensions int) *arrow.Schema {
	return arrow.NewSchema(append(load.PointSchema().Fields(),
		arrow.Field{Name: "payload", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "norm", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		arrow.Field{Name: "vector", Nullable: true, Type: arrow.FixedSizeListOfField(int32(dimensions),
			arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Float32, Nullable: true})},
	), nil)
}

// batches builds the rows of a batch. The caller releases what is returned,
// also beside an error.
func batches(schema *arrow.Schema, writes []load.Write, held map[string]map[string]any) ([]arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	var out []arrow.RecordBatch
	rows, bytes := 0, 0
	for _, w := range writes {
		payload := load.Merge(held[w.PointID], w)
		text, err := load.JSON(payload)
		if err != nil {
			// The cause may quote the payload.
			return out, fmt.Errorf("%s: %s", w.Key, load.ReasonValue)
		}
		appendPoint(b, load.PointRow(w.PointID, payload), text, w.Vector)
		rows, bytes = rows+1, bytes+len(text)
		if rows == batchRows || bytes >= batchBytes {
			out = append(out, b.NewRecordBatch())
			rows, bytes = 0, 0
		}
	}
	if rows > 0 {
		out = append(out, b.NewRecordBatch())
	}
	return out, nil
}

func appendPoint(b *array.RecordBuilder, row []string, payload []byte, vector []float32) {
	for i, value := range row {
		if value == "" {
			b.Field(i).AppendNull()
			continue
		}
		b.Field(i).(*array.StringBuilder).Append(value)
	}
	n := len(row)
	b.Field(n).(*array.StringBuilder).BinaryBuilder.Append(payload)
	norm, list := b.Field(n+1).(*array.Float64Builder), b.Field(n+2).(*array.FixedSizeListBuilder)
	if vector == nil {
		norm.AppendNull()
		list.AppendNull()
		return
	}
	norm.Append(math.Sqrt(load.SquaredNorm(vector)))
	list.Append(true)
	list.ValueBuilder().(*array.Float32Builder).AppendValues(vector, nil)
}

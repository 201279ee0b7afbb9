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

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
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
	err := s.each(ctx, func(rows *sql.Rows) error {
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

// put moves the batch into a temporary table, outside the transaction because
// the driver registers its stream in another catalog, and from there into the
// store with one statement for each kind of change.
func (s *Store) put(ctx context.Context, writes []load.Write, held map[string]map[string]any) (err error) {
	schema := incomingSchema(s.dimensions)
	batches, err := batches(schema, writes, held)
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	if err != nil {
		return err
	}
	if err := s.db.Exec(ctx, statement("incoming", s.dimensions)); err != nil {
		return err
	}
	stream, err := s.db.Stream(ctx, schema, batches...)
	if err != nil {
		return err
	}
	err = s.db.Insert(ctx, "temp.main.incoming", stream)
	if err = errors.Join(err, stream.Close()); err != nil {
		return err
	}
	defer func() {
		// The emptied table gives its memory back.
		err = errors.Join(err, s.db.Exec(context.WithoutCancel(ctx), statement("incoming", s.dimensions)))
	}()
	return s.db.Tx(ctx, func() error {
		for _, name := range changes(writes, held) {
			if err := s.db.Exec(ctx, query.Text(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// changes are the statements that a batch needs.
func changes(writes []load.Write, held map[string]map[string]any) []string {
	var payloads, vectors, replaced bool
	for _, w := range writes {
		_, exists := held[w.PointID]
		payloads = payloads || w.Vector == nil
		vectors = vectors || w.Vector != nil
		replaced = replaced || w.Vector != nil && exists
	}
	var names []string
	if payloads {
		names = append(names, "local/update")
	}
	if replaced {
		names = append(names, "local/remove")
	}
	if vectors {
		names = append(names, "local/insert")
	}
	return names
}

// incomingSchema is PointSchema, then payload, norm and vector.
func incomingSchema(dimensions int) *arrow.Schema {
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
		payload := load.Merge(held[w.PointID], w.Payload)
		text, err := record.Canonical(payload)
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

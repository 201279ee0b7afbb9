//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
)

// seenAtOnce is how many batches of a scan one insert takes: registering a
// stream costs more than a batch of two thousand rows.
const seenAtOnce = 64

// Seen collects the points that the index holds: eleven columns of text, in
// the order of a store's scan.
type Seen struct {
	db      *DB
	batches []arrow.RecordBatch
}

// NewSeen begins a scan; Close ends it.
func (db *DB) NewSeen() *Seen { return &Seen{db: db} }

// Add takes a batch, which it keeps hold of until it is inserted.
func (s *Seen) Add(ctx context.Context, points arrow.RecordBatch) error {
	points.Retain()
	s.batches = append(s.batches, points)
	if len(s.batches) < seenAtOnce {
		return nil
	}
	return s.flush(ctx)
}

// Close inserts what is left.
func (s *Seen) Close(ctx context.Context) error { return s.flush(ctx) }

func (s *Seen) flush(ctx context.Context) error {
	if len(s.batches) == 0 {
		return nil
	}
	defer func() {
		for _, b := range s.batches {
			b.Release()
		}
		s.batches = nil
	}()
	stream, err := s.db.duck.Stream(ctx, s.batches[0].Schema(), s.batches...)
	if err != nil {
		return err
	}
	return errors.Join(s.db.duck.Insert(ctx, "temp.main.seen", stream), stream.Close())
}

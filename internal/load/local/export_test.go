//go:build duckdb_arrow

package local

import (
	"context"

	"github.com/thtbatch/thtbatch/internal/load"
)

// Plant puts a point into the file past every rule of Write.
func (s *Store) Plant(ctx context.Context, id string, vector []float32, payload map[string]any) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	w := load.Write{PointID: id, Vector: vector, Payload: payload}
	return s.put(ctx, []load.Write{w}, map[string]map[string]any{id: nil})
}

package qdrant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"golang.org/x/sync/errgroup"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

// outgoing is a write with what is made of it once.
type outgoing struct {
	load.Write
	id      *qdrant.PointId
	vectors *qdrant.Vectors // nil: the vector stays
	fields  map[string]*qdrant.Value
	bytes   int // of a message, rather too many
}

// Write implements load.Store. Several messages may be under way at once; each is
// tried again as a whole, beginning with a look at what is held.
func (s *Store) Write(ctx context.Context, writes []load.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(writes) == 0 {
		return nil
	}
	held, err := s.known(ctx)
	if err != nil {
		return err
	}
	if !held.exists {
		return fmt.Errorf("write %s: %w", s.place, load.ErrNotPrepared)
	}
	if err := load.Check(writes, held.dimensions); err != nil {
		return err
	}
	out, err := s.prepared(writes)
	if err != nil {
		return err
	}
	pieces := s.pieces(out, held)
	before, err := s.checkAll(ctx, pieces)
	if err != nil {
		return err
	}
	w := &writing{store: s, taken: map[string]int{}, blamed: map[string]int{}}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(s.options.Streams)
	for i, piece := range pieces {
		group.Go(func() error { return w.put(gctx, piece, before[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return w.refusal()
}

// prepared makes messages of writes; those to an id that Qdrant cannot have are
// refused.
func (s *Store) prepared(writes []load.Write) ([]*outgoing, error) {
	out := make([]*outgoing, len(writes))
	var refused load.RefusedError
	for i, w := range writes {
		id, ok := pointID(w.PointID)
		if !ok {
			refused.Items = append(refused.Items, load.ItemError{Key: w.Key, Reason: load.ReasonPointID})
			continue
		}
		o := &outgoing{Write: w, id: id, fields: toFields(w.Payload)}
		if w.Vector != nil {
			o.vectors = s.vectors(load.Unit(w.Vector))
		}
		o.bytes = 512 + 4*len(w.Vector) + sizeOf(w.Payload)
		if load.Foreign(w) {
			o.bytes += sizeOf(w.Payload) // it may be set in both layouts
		}
		out[i] = o
	}
	if refused.Items != nil {
		return nil, &refused
	}
	return out, nil
}

// sizeOf is about what a value takes in a message, and never less: a name or a
// value has at most five bytes before it, and may stand in three messages.
func sizeOf(v any) int {
	const around = 24
	n := around
	switch v := v.(type) {
	case string:
		n += len(v)
	case []string:
		for _, s := range v {
			n += around + len(s)
		}
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	case map[string]any:
		for name, item := range v {
			n += around + len(name) + sizeOf(item)
		}
	}
	return n
}

// vectors writes a vector in the older of two ways, which all servers from 1.12 on
// read.
func (s *Store) vectors(v []float32) *qdrant.Vectors {
	//lint:ignore SA1019 the newer way is not read by older servers
	vector := &qdrant.Vector{Data: v}
	if s.options.Vector != "" {
		return qdrant.NewVectorsMap(map[string]*qdrant.Vector{s.options.Vector: vector})
	}
	return &qdrant.Vectors{VectorsOptions: &qdrant.Vectors_Vector{Vector: vector}}
}

// pieces cuts a batch into messages, by count and by bytes. What is too large for
// one goes alone.
func (s *Store) pieces(out []*outgoing, held *described) [][]*outgoing {
	most := s.options.BatchPoints
	if strict := held.strict.UpsertMaxBatchsize; strict != nil {
		most = int(max(1, min(uint64(most), *strict)))
	}
	var pieces [][]*outgoing
	from, bytes := 0, 0
	for i, o := range out {
		if i > from && (i-from >= most || bytes+o.bytes > s.options.BatchBytes) {
			pieces = append(pieces, out[from:i])
			from, bytes = i, 0
		}
		bytes += o.bytes
	}
	return append(pieces, out[from:])
}

// holding is what the collection has under the ids of a piece.
type holding map[string]map[string]*qdrant.Value

// checkAll looks at what is held before anything is written: what it refuses, it
// refuses with nothing done.
func (s *Store) checkAll(ctx context.Context, pieces [][]*outgoing) ([]holding, error) {
	out := make([]holding, len(pieces))
	var refused load.RefusedError
	for i, piece := range pieces {
		held, err := repeat(ctx, s, func() (holding, error) { return s.held(ctx, piece) })
		if err != nil {
			return nil, s.final(s.classify(err))
		}
		var these *load.RefusedError
		if err := check(piece, held); errors.As(err, &these) {
			refused.Items = append(refused.Items, these.Items...)
		}
		out[i] = held
	}
	if refused.Items != nil {
		return nil, &refused
	}
	return out, nil
}

// held reads what is asked of the points of a piece. Of another writer's points
// it must be known which fields stand in which layout.
func (s *Store) held(ctx context.Context, piece []*outgoing) (holding, error) {
	ids := make([]*qdrant.PointId, len(piece))
	fields := []string{"record_key", "kind", "workspace"}
	foreign := false
	for i, o := range piece {
		ids[i] = o.id
		foreign = foreign || load.Foreign(o.Write)
	}
	if foreign {
		fields = append(fields, metadataField)
		for _, kind := range []string{record.KindMemory, record.KindSolved} {
			fields = append(fields, record.OwnedMetadata(kind)...)
		}
		slices.Sort(fields)
		fields = slices.Compact(fields)
	}
	held, err := s.payloads(ctx, ids, qdrant.NewWithPayloadInclude(fields...))
	return held, err
}

func check(piece []*outgoing, held holding) error {
	writes := make([]load.Write, len(piece))
	payloads := make(map[string]map[string]any, len(held))
	for i, o := range piece {
		writes[i] = o.Write
		if fields, there := held[o.PointID]; there {
			payloads[o.PointID] = map[string]any{
				"record_key": fields["record_key"].GetStringValue(), "kind": fields["kind"].GetStringValue(),
				"workspace": fields["workspace"].GetStringValue(),
			}
		}
	}
	return load.CheckHeld(writes, payloads)
}

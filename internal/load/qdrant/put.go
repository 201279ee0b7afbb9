package qdrant

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/load"
)

// writing is one Write under way.
type writing struct {
	store   *Store
	mu      sync.Mutex
	refused []load.ItemError
	taken   map[string]int // points that the server took, by the call
	blamed  map[string]int // points that it refused alone, and not for their size
	last    *callError     // that blamed one
}

const (
	// large is the size from which a refusal of a point alone may be about its
	// size.
	large = 1 << 20
	// Where the server refuses so many points of one Write, and more than it takes
	// by the same call, it is the collection (one that is full takes updates), or
	// this program: no record must be remembered as bad for it.
	mostRefused = 16
)

// put writes a piece. before is what was held a moment ago; every further try
// looks again, since the one before may have been applied. What is refused is
// halved until it stands alone.
func (w *writing) put(ctx context.Context, piece []*outgoing, before holding) error {
	s := w.store
	_, err := repeat(ctx, s, func() (struct{}, error) {
		held := before
		before = nil
		if held == nil {
			var err error
			if held, err = s.held(ctx, piece); err != nil {
				return struct{}{}, err
			}
			piece = w.without(piece, held)
		}
		return struct{}{}, w.send(ctx, piece, held)
	})
	var failed *callError
	if !errors.As(err, &failed) || failed.transient() {
		return s.classify(err)
	}
	// ResourceExhausted that names no time is about this message: its bytes, or
	// that its points are more than a rate ever gives.
	if !failed.refusal() && failed.code != codes.ResourceExhausted {
		return s.final(s.classify(err))
	}
	if half := len(piece) / 2; half > 0 {
		if err := w.put(ctx, piece[:half], nil); err != nil {
			return err
		}
		return w.put(ctx, piece[half:], nil)
	}
	return w.blame(piece[0], failed)
}

// without leaves out points under whose id somebody put another record since the
// batch was checked. The others go on: some of the batch may be written.
func (w *writing) without(piece []*outgoing, held holding) []*outgoing {
	var kept []*outgoing
	for _, o := range piece {
		var refused *load.RefusedError
		if !errors.As(check([]*outgoing{o}, held), &refused) {
			kept = append(kept, o)
			continue
		}
		w.mu.Lock()
		w.refused = append(w.refused, refused.Items...)
		w.mu.Unlock()
	}
	return kept
}

// took counts points that the server took.
func (w *writing) took(method string, points int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[method] += points
}

// blame names a point that the server refused alone, as long as it may be the
// point.
func (w *writing) blame(o *outgoing, failed *callError) error {
	about := failed.code == codes.ResourceExhausted || failed.code == codes.OutOfRange
	w.mu.Lock()
	defer w.mu.Unlock()
	if about && o.bytes > large {
		w.refused = append(w.refused, load.ItemError{Key: o.Key, Reason: load.ReasonTooLarge})
		return nil
	}
	if failed.code == codes.ResourceExhausted {
		return w.store.failed(failed) // a rate or a quota of nothing
	}
	w.refused, w.last = append(w.refused, load.ItemError{Key: o.Key, Reason: load.ReasonServer}), failed
	w.blamed[failed.method]++
	if n := w.blamed[failed.method]; n >= mostRefused && n > w.taken[failed.method] {
		return w.store.failed(failed)
	}
	return nil
}

// refusal names what was refused. Where the server took nothing and refused more
// than one point it is the collection that is not as it should be.
func (w *writing) refusal() error {
	taken, blamed := 0, 0
	for _, n := range w.taken {
		taken += n
	}
	for _, n := range w.blamed {
		blamed += n
	}
	switch {
	case len(w.refused) == 0:
		return nil
	case blamed > 1 && taken == 0:
		return w.store.failed(w.last)
	}
	slices.SortFunc(w.refused, func(a, b load.ItemError) int { return cmp.Compare(a.Key, b.Key) })
	return &load.RefusedError{Items: w.refused, OthersWritten: true}
}

// send writes a piece once: what is new as points, what is held by its parts.
func (w *writing) send(ctx context.Context, piece []*outgoing, held holding) error {
	s := w.store
	var added []*qdrant.PointStruct
	var updated []*outgoing
	for _, o := range piece {
		if _, there := held[o.PointID]; there {
			updated = append(updated, o)
			continue
		}
		added = append(added, &qdrant.PointStruct{Id: o.id, Vectors: o.vectors, Payload: o.fields})
	}
	wait := true
	if len(added) > 0 {
		_, err := once(ctx, s, "Upsert", func(ctx context.Context) (*qdrant.PointsOperationResponse, error) {
			return s.client.GetPointsClient().Upsert(ctx, &qdrant.UpsertPoints{CollectionName: s.options.Collection, Wait: &wait, Points: added})
		})
		if err != nil {
			return err
		}
		w.took("Upsert", len(added))
	}
	if len(updated) == 0 {
		return nil
	}
	_, err := once(ctx, s, "UpdateBatch", func(ctx context.Context) (*qdrant.UpdateBatchResponse, error) {
		return s.client.GetPointsClient().UpdateBatch(ctx, &qdrant.UpdateBatchPoints{
			CollectionName: s.options.Collection, Wait: &wait, Operations: operations(updated, held),
		})
	})
	var failed *callError
	if errors.As(err, &failed) && failed.code == codes.NotFound {
		// A point went meanwhile, or the whole collection: looking again tells.
		return &callError{method: failed.method, code: codes.Aborted, wait: -1}
	}
	if err == nil {
		w.took("UpdateBatch", len(updated))
	}
	return err
}

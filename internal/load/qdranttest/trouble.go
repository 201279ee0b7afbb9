package qdranttest

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
)

// Refusing refuses every write that has one of these points in it, as one that
// will never be taken.
func Refusing(ids ...string) func(Call) Fault {
	return func(c Call) Fault {
		for _, id := range written(c) {
			if text, err := idText(id); err == nil && slices.Contains(ids, text) {
				return Fault{Code: codes.InvalidArgument}
			}
		}
		return Fault{}
	}
}

// written are the points of a write by upsert or by a batch of updates.
func written(c Call) (ids []*qdrant.PointId) {
	switch r := c.Data.(type) {
	case *qdrant.UpsertPoints:
		for _, p := range r.GetPoints() {
			ids = append(ids, p.GetId())
		}
	case *qdrant.UpdateBatchPoints:
		for _, o := range r.GetOperations() {
			ids = append(ids, o.GetSetPayload().GetPointsSelector().GetPoints().GetIds()...)
		}
	}
	return ids
}

// Losing applies one write in lost and drops its reply, and lets one call in
// failed fail before it does anything. The same seed gives the same trouble to
// the same calls in the same order.
func Losing(seed uint64, lost, failed int) func(Call) Fault {
	var turn atomic.Uint64
	return func(c Call) Fault {
		random := rand.New(rand.NewPCG(seed, turn.Add(1)))
		switch {
		case writes(c.Method) && random.IntN(lost) == 0:
			return Fault{Code: codes.DeadlineExceeded, After: true}
		case random.IntN(failed) == 0:
			return Fault{Code: codes.Unavailable}
		}
		return Fault{}
	}
}

package qdranttest

import (
	"cmp"
	"context"
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Query looks at all points. The nearest to a vector is the only query there is.
func (x points) Query(_ context.Context, r *qdrant.QueryPoints) (*qdrant.QueryResponse, error) {
	nearest := r.GetQuery().GetNearest().GetDense()
	if nearest == nil || len(r.GetPrefetch()) > 0 {
		return nil, status.Error(codes.Unimplemented, "no such query here")
	}
	limit := uint64(10)
	if r.Limit != nil {
		limit = r.GetLimit()
	}
	hits, err := x.nearest(search{
		collection: r.GetCollectionName(), vector: nearest.GetData(), using: r.GetUsing(), filter: r.GetFilter(),
		limit: limit, offset: r.GetOffset(), threshold: r.ScoreThreshold, exact: r.GetParams().GetExact(),
		payload: r.GetWithPayload(), vectors: r.GetWithVectors(),
	})
	return &qdrant.QueryResponse{Result: hits}, err
}

// Search is Query as it was.
func (x points) Search(_ context.Context, r *qdrant.SearchPoints) (*qdrant.SearchResponse, error) {
	hits, err := x.nearest(search{
		collection: r.GetCollectionName(), vector: r.GetVector(), using: r.GetVectorName(), filter: r.GetFilter(),
		limit: r.GetLimit(), offset: r.GetOffset(), threshold: r.ScoreThreshold, exact: r.GetParams().GetExact(),
		payload: r.GetWithPayload(), vectors: r.GetWithVectors(),
	})
	return &qdrant.SearchResponse{Result: hits}, err
}

type search struct {
	collection, using string
	vector            []float32
	filter            *qdrant.Filter
	limit, offset     uint64
	threshold         *float32 // scores are above it
	exact             bool     // was asked for; searches are exact anyway
	payload           *qdrant.WithPayloadSelector
	vectors           *qdrant.WithVectorsSelector
}

func (x points) nearest(q search) ([]*qdrant.ScoredPoint, error) {
	if q.limit == 0 {
		return nil, badLimit()
	}
	shown, err := x.s.view(q.payload, q.vectors)
	if err != nil {
		return nil, err
	}
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	c, err := x.s.find(q.collection)
	if err != nil {
		return nil, err
	}
	holds, err := c.predicate(q.filter)
	if err != nil {
		return nil, err
	}
	if err := c.allowsRead(x.s.options.Now(), q.limit, q.filter, q.exact); err != nil {
		return nil, err
	}
	query, err := c.fitting(q.using, q.vector)
	if err != nil {
		return nil, err
	}
	if d := c.vectors[q.using].GetDistance(); d != qdrant.Distance_Cosine && d != qdrant.Distance_Dot {
		return nil, status.Error(codes.Unimplemented, "searches are by cosine or dot product here")
	}
	hits := c.rank(query, q, holds)
	hits = hits[min(uint64(len(hits)), q.offset):]
	hits = hits[:min(uint64(len(hits)), q.limit)]
	out := make([]*qdrant.ScoredPoint, len(hits))
	for i, h := range hits {
		out[i] = &qdrant.ScoredPoint{Id: h.p.id, Score: h.score, Payload: shown.payload.of(h.p.payload), Vectors: shown.vectorsOf(h.p)}
	}
	x.s.countVectors(shown, len(out))
	return out, nil
}

type scored struct {
	p     *point
	score float32
}

// rank has all hits, the best first; of equal ones the lower id, which the real
// server does not promise.
func (c *collection) rank(query []float32, q search, holds predicate) []scored {
	var hits []scored
	for _, p := range c.points {
		v, ok := p.vectors[q.using]
		if !ok || !holds(p) {
			continue
		}
		if score := dot(query, v); q.threshold == nil || score > *q.threshold {
			hits = append(hits, scored{p, score})
		}
	}
	slices.SortFunc(hits, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), byID(a.p.text, b.p.text))
	})
	return hits
}

// dot has four sums, so that they need not wait for one another.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for ; len(a) >= 4; a, b = a[4:], b[4:] {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

package qdranttest

import (
	"cmp"
	"context"
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// view is what a reply has of points.
type view struct {
	payload selection
	vectors bool
	names   []string // of vectors; none: all
	old     bool     // vectors are told as before 1.17
}

func (s *Server) view(payload *qdrant.WithPayloadSelector, vectors *qdrant.WithVectorsSelector) (view, error) {
	shown, err := selected(payload)
	names := vectors.GetInclude().GetNames()
	return view{payload: shown, vectors: vectors.GetEnable() || len(names) > 0, names: names, old: s.oldField}, err
}

// vectors of a point, nil where none are asked for.
func (w view) vectorsOf(p *point) *qdrant.VectorsOutput {
	if !w.vectors {
		return nil
	}
	if v, ok := p.vectors[""]; ok {
		return &qdrant.VectorsOutput{VectorsOptions: &qdrant.VectorsOutput_Vector{Vector: w.output(v)}}
	}
	named := map[string]*qdrant.VectorOutput{}
	for name, v := range p.vectors {
		if len(w.names) == 0 || slices.Contains(w.names, name) {
			named[name] = w.output(v)
		}
	}
	return &qdrant.VectorsOutput{VectorsOptions: &qdrant.VectorsOutput_Vectors{Vectors: &qdrant.NamedVectorsOutput{Vectors: named}}}
}

func (w view) output(v []float32) *qdrant.VectorOutput {
	if w.old {
		//lint:ignore SA1019 servers before 1.17 answer in this field
		return &qdrant.VectorOutput{Data: v}
	}
	return &qdrant.VectorOutput{Vector: &qdrant.VectorOutput_Dense{Dense: &qdrant.DenseVector{Data: v}}}
}

func (w view) retrieved(p *point) *qdrant.RetrievedPoint {
	return &qdrant.RetrievedPoint{Id: p.id, Payload: w.payload.of(p.payload), Vectors: w.vectorsOf(p)}
}

// countVectors counts those of a reply.
func (s *Server) countVectors(w view, n int) {
	if w.vectors {
		s.count(func(c *Counts) { c.VectorsRead += n })
	}
}

// Get tells points in the order in which they were asked for, each once.
func (x points) Get(_ context.Context, r *qdrant.GetPoints) (*qdrant.GetResponse, error) {
	shown, err := x.s.view(r.GetWithPayload(), r.GetWithVectors())
	if err != nil {
		return nil, err
	}
	ids, err := idTexts(r.GetIds())
	if err != nil {
		return nil, err
	}
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if err := c.allowsRead(x.s.options.Now(), 0, nil, false); err != nil {
		return nil, err
	}
	out := &qdrant.GetResponse{}
	told := make(map[string]bool, len(ids))
	for _, id := range ids {
		if p, ok := c.points[id]; ok && !told[id] {
			told[id] = true
			out.Result = append(out.Result, shown.retrieved(p))
		}
	}
	x.s.countVectors(shown, len(out.Result))
	return out, nil
}

func badLimit() error {
	return status.Error(codes.InvalidArgument, "Validation error in body: [limit: value 0 invalid, must be 1 or larger]")
}

func (x points) Scroll(_ context.Context, r *qdrant.ScrollPoints) (*qdrant.ScrollResponse, error) {
	limit := 10
	if r.Limit != nil {
		limit = int(r.GetLimit())
	}
	switch {
	case limit == 0:
		return nil, badLimit()
	case r.GetOrderBy() != nil:
		return nil, status.Error(codes.Unimplemented, "there is no order by a field here")
	}
	shown, err := x.s.view(r.GetWithPayload(), r.GetWithVectors())
	if err != nil {
		return nil, err
	}
	from := ""
	if r.GetOffset() != nil {
		if from, err = idText(r.GetOffset()); err != nil {
			return nil, err
		}
	}
	x.s.mu.Lock() // ordered may sort
	defer x.s.mu.Unlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	holds, err := c.predicate(r.GetFilter())
	if err != nil {
		return nil, err
	}
	if err := c.allowsRead(x.s.options.Now(), uint64(limit), r.GetFilter(), false); err != nil {
		return nil, err
	}
	ids := c.candidates(r.GetFilter())
	if from != "" {
		start, _ := slices.BinarySearchFunc(ids, from, byID)
		ids = ids[start:]
	}
	out := &qdrant.ScrollResponse{}
	for _, id := range ids {
		p := c.points[id]
		if !holds(p) {
			continue
		}
		if len(out.Result) == limit {
			out.NextPageOffset = p.id
			break
		}
		out.Result = append(out.Result, shown.retrieved(p))
	}
	x.s.countVectors(shown, len(out.Result))
	return out, nil
}

// ordered are the ids in the order of a scroll. It is called with the lock held
// for writing.
func (c *collection) ordered() []string {
	if c.order == nil {
		c.order = make([]string, 0, len(c.points))
		for id := range c.points {
			c.order = append(c.order, id)
		}
		slices.SortFunc(c.order, byID)
	}
	return c.order
}

const longestNumber = 20 // digits; a UUID has 36 characters

// byID has numbers in their order, then UUIDs in theirs.
func byID(a, b string) int {
	if len(a) <= longestNumber || len(b) <= longestNumber {
		if c := cmp.Compare(len(a), len(b)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// Count is exact, always.
func (x points) Count(_ context.Context, r *qdrant.CountPoints) (*qdrant.CountResponse, error) {
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	holds, err := c.predicate(r.GetFilter())
	if err != nil {
		return nil, err
	}
	exact := r.Exact == nil || r.GetExact()
	if err := c.allowsRead(x.s.options.Now(), 0, r.GetFilter(), exact); err != nil {
		return nil, err
	}
	n := uint64(0)
	for _, p := range c.points {
		if holds(p) {
			n++
		}
	}
	return &qdrant.CountResponse{Result: &qdrant.CountResult{Count: n}}, nil
}

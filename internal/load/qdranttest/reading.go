package qdranttest

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// retrieved is a point as a reply has it. Nothing in it is changed later.
func (x points) retrieved(p *point, payload *qdrant.WithPayloadSelector, vectors *qdrant.WithVectorsSelector) *qdrant.RetrievedPoint {
	return &qdrant.RetrievedPoint{Id: p.id, Payload: shown(p.payload, payload), Vectors: x.vectors(p, vectors)}
}

func (x points) vectors(p *point, selector *qdrant.WithVectorsSelector) *qdrant.VectorsOutput {
	if !selector.GetEnable() && len(selector.GetInclude().GetNames()) == 0 {
		return nil
	}
	x.s.count(func(n *Counts) { n.VectorsRead++ })
	if v, ok := p.vectors[""]; ok {
		return &qdrant.VectorsOutput{VectorsOptions: &qdrant.VectorsOutput_Vector{Vector: output(v)}}
	}
	named := map[string]*qdrant.VectorOutput{}
	for name, v := range p.vectors {
		named[name] = output(v)
	}
	return &qdrant.VectorsOutput{VectorsOptions: &qdrant.VectorsOutput_Vectors{Vectors: &qdrant.NamedVectorsOutput{Vectors: named}}}
}

func output(v []float32) *qdrant.VectorOutput {
	return &qdrant.VectorOutput{Vector: &qdrant.VectorOutput_Dense{Dense: &qdrant.DenseVector{Data: v}}}
}

func shown(payload map[string]*qdrant.Value, selector *qdrant.WithPayloadSelector) map[string]*qdrant.Value {
	switch s := selector.GetSelectorOptions().(type) {
	case *qdrant.WithPayloadSelector_Enable:
		if s.Enable {
			return payload
		}
	case *qdrant.WithPayloadSelector_Include:
		out := map[string]*qdrant.Value{}
		for _, name := range s.Include.GetFields() {
			include(payload, out, strings.Split(name, "."))
		}
		return out
	case *qdrant.WithPayloadSelector_Exclude:
		out := payload
		for _, name := range s.Exclude.GetFields() {
			out = cut(out, strings.Split(name, "."))
		}
		return out
	}
	return nil
}

func include(from, to map[string]*qdrant.Value, path []string) {
	value, ok := from[path[0]]
	if !ok {
		return
	}
	if len(path) == 1 {
		to[path[0]] = value
		return
	}
	object := value.GetStructValue()
	if object == nil {
		return
	}
	inner := to[path[0]].GetStructValue().GetFields()
	if inner == nil {
		inner = map[string]*qdrant.Value{}
		to[path[0]] = qdrant.NewValueFromFields(inner)
	}
	include(object.GetFields(), inner, path[1:])
}

// ordered are the ids in the order of a scroll: numbers, then UUIDs. It is called
// with the lock held for writing.
func (c *collection) ordered() []string {
	if c.order != nil {
		return c.order
	}
	c.order = make([]string, 0, len(c.points))
	for id := range c.points {
		c.order = append(c.order, id)
	}
	slices.SortFunc(c.order, byID)
	return c.order
}

func byID(a, b string) int {
	m, errA := strconv.ParseUint(a, 10, 64)
	n, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(m, n)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

func (x points) Scroll(_ context.Context, r *qdrant.ScrollPoints) (*qdrant.ScrollResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	limit := 10
	if r.Limit != nil {
		limit = int(r.GetLimit())
	}
	if err := c.allows(uint64(limit), r.GetFilter()); err != nil {
		return nil, err
	}
	from := 0
	ids := c.candidates(r.GetFilter())
	if r.GetOffset() != nil {
		offset, err := idText(r.GetOffset())
		if err != nil {
			return nil, err
		}
		from, _ = slices.BinarySearchFunc(ids, offset, byID)
	}
	out := &qdrant.ScrollResponse{}
	for _, id := range ids[from:] {
		p := c.points[id]
		if r.GetFilter() != nil && !matches(p, r.GetFilter()) {
			continue
		}
		if len(out.Result) == limit {
			out.NextPageOffset = p.id
			break
		}
		out.Result = append(out.Result, x.retrieved(p, r.GetWithPayload(), r.GetWithVectors()))
	}
	return out, nil
}

func (x points) Count(_ context.Context, r *qdrant.CountPoints) (*qdrant.CountResponse, error) {
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	n := uint64(0)
	for _, p := range c.points {
		if r.GetFilter() == nil || matches(p, r.GetFilter()) {
			n++
		}
	}
	return &qdrant.CountResponse{Result: &qdrant.CountResult{Count: n}}, nil
}

// Query ranks by the float32 inner product of vectors at unit length, all points.
func (x points) Query(_ context.Context, r *qdrant.QueryPoints) (*qdrant.QueryResponse, error) {
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	limit := uint64(10)
	if r.Limit != nil {
		limit = r.GetLimit()
	}
	if err := c.allows(limit, r.GetFilter()); err != nil {
		return nil, err
	}
	if s := c.strictly(); s.SearchAllowExact != nil && !*s.SearchAllowExact && r.GetParams().GetExact() {
		return nil, strictly("search_allow_exact")
	}
	params, ok := c.vectors[r.GetUsing()]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Not existing vector name error: %s", r.GetUsing())
	}
	query := r.GetQuery().GetNearest().GetDense().GetData()
	if uint64(len(query)) != params.GetSize() {
		return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Vector dimension error: expected dim: %d, got %d", params.GetSize(), len(query))
	}
	hits := c.rank(unit(query), r)
	hits = hits[min(uint64(len(hits)), r.GetOffset()):]
	hits = hits[:min(uint64(len(hits)), limit)]
	out := &qdrant.QueryResponse{}
	for _, h := range hits {
		out.Result = append(out.Result, &qdrant.ScoredPoint{
			Id: h.p.id, Score: h.score, Payload: shown(h.p.payload, r.GetWithPayload()), Vectors: x.vectors(h.p, r.GetWithVectors()),
		})
	}
	return out, nil
}

type scored struct {
	p     *point
	score float32
}

func (c *collection) rank(query []float32, r *qdrant.QueryPoints) []scored {
	var hits []scored
	for _, p := range c.points {
		v, ok := p.vectors[r.GetUsing()]
		if !ok || r.GetFilter() != nil && !matches(p, r.GetFilter()) {
			continue
		}
		var dot float32
		for i, q := range query {
			dot += q * v[i]
		}
		if r.ScoreThreshold == nil || dot >= r.GetScoreThreshold() {
			hits = append(hits, scored{p, dot})
		}
	}
	slices.SortFunc(hits, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return hits
}

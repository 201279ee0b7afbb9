package qdrant

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/qdrant/go-client/qdrant"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

const (
	// moreHits are asked for beyond a page, to see whether equal scores go on.
	moreHits   = 16
	nestedType = metadataField + ".type"
)

// Search implements load.Store. It is exact unless the collection forbids it.
func (s *Store) Search(ctx context.Context, q load.Query) ([]load.Hit, error) {
	held, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	if err := load.CheckQuery(q, s.place, held.dimensions); err != nil {
		return nil, err
	}
	if !held.exists {
		return nil, nil
	}
	ranked, err := s.rank(ctx, held, q)
	if err != nil {
		return nil, err
	}
	page := ranked[min(len(ranked), q.Offset):min(len(ranked), q.Offset+q.Limit)]
	ids := make([]*qdrant.PointId, len(page))
	for i, h := range page {
		ids[i], _ = pointID(h.PointID)
	}
	payloads, err := repeat(ctx, s, func() (map[string]map[string]*qdrant.Value, error) {
		return s.payloads(ctx, ids, qdrant.NewWithPayload(true))
	})
	if err != nil {
		return nil, s.final(s.classify(err))
	}
	hits := page[:0]
	for _, h := range page {
		payload, there := payloads[h.PointID]
		if !there {
			continue // it went meanwhile
		}
		h.Payload = fromFields(payload)
		hits = append(hits, h)
	}
	return hits, nil
}

// rank is all hits up to the end of the page, in the order of the seam. The
// server orders equal scores as it likes, so that more are asked for until the
// score falls, and until what is not shown has taken nothing's place.
func (s *Store) rank(ctx context.Context, held *described, q load.Query) ([]load.Hit, error) {
	last := q.Offset + q.Limit
	exact := held.strict.SearchAllowExact == nil || *held.strict.SearchAllowExact
	params := &qdrant.SearchParams{Exact: &exact}
	for limit := uint64(last + moreHits); ; limit *= 4 {
		capped := held.strict.MaxQueryLimit != nil && limit >= uint64(*held.strict.MaxQueryLimit)
		if capped {
			limit = uint64(*held.strict.MaxQueryLimit)
		}
		request := &qdrant.QueryPoints{
			CollectionName: s.options.Collection, Query: qdrant.NewQuery(load.Unit(q.Vector)...), Filter: filterOf(q), Params: params,
			Limit: &limit, WithPayload: qdrant.NewWithPayloadInclude("record_key", "ref", "kind", "type", nestedType),
		}
		if s.options.Vector != "" {
			request.Using = &s.options.Vector
		}
		reply, err := again(ctx, s, "Query", func(ctx context.Context) (*qdrant.QueryResponse, error) {
			return s.client.GetPointsClient().Query(ctx, request)
		})
		if err != nil {
			return nil, s.final(err)
		}
		points := reply.GetResult()
		hits := make([]load.Hit, 0, len(points))
		for _, p := range points {
			if !shown(p.GetPayload(), q.Kind) {
				continue
			}
			hits = append(hits, load.Hit{
				PointID: idText(p.GetId()), Key: text(p.GetPayload(), "record_key", true), Ref: text(p.GetPayload(), "ref", true),
				Score: float64(p.GetScore()),
			})
		}
		if n := len(points); uint64(n) == limit && !capped &&
			(len(hits) < last || float64(points[n-1].GetScore()) == hits[last-1].Score) {
			continue
		}
		slices.SortStableFunc(hits, func(a, b load.Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key), cmp.Compare(a.PointID, b.PointID))
		})
		return hits, nil
	}
}

// shown asks once more what the filter asks of kind and type, now of a single text:
// the server takes a list for each of its values.
func shown(payload map[string]*qdrant.Value, asked string) bool {
	kind := payload["kind"].GetStringValue()
	if asked == "" && !record.Ours(kind) || asked != "" && kind != asked {
		return false
	}
	if kind != record.KindMemory {
		return true
	}
	found := false
	for _, v := range []*qdrant.Value{payload["type"], payload[metadataField].GetStructValue().GetFields()["type"]} {
		if _, null := v.GetKind().(*qdrant.Value_NullValue); v == nil || null {
			continue
		}
		if found = record.Reusable(v.GetStringValue()); !found {
			return false
		}
	}
	return found
}

func filterOf(q load.Query) *qdrant.Filter {
	f := &qdrant.Filter{}
	memory := together(append(reusable(), qdrant.NewMatch("kind", record.KindMemory))...)
	switch q.Kind {
	case record.KindMemory:
		f.Must = append(f.Must, memory)
	case "":
		f.Must = append(f.Must, either(memory, qdrant.NewMatch("kind", record.KindSolved)))
	default:
		f.Must = append(f.Must, qdrant.NewMatch("kind", q.Kind))
	}
	for _, name := range slices.Sorted(maps.Keys(q.Filter)) {
		value := q.Filter[name]
		condition := qdrant.NewMatch(name, value)
		if !record.TopLevel(name) {
			condition = either(condition, together(qdrant.NewIsEmpty(name), qdrant.NewMatch(metadataField+"."+name, value)))
		}
		f.Must = append(f.Must, condition)
	}
	return f
}

// reusable: a type stands in one of the layouts, and in none another than the
// reusable one.
func reusable() []*qdrant.Condition {
	beside, within := qdrant.NewMatch("type", record.ReusableType), qdrant.NewMatch(nestedType, record.ReusableType)
	return []*qdrant.Condition{
		either(beside, within), either(beside, qdrant.NewIsEmpty("type")), either(within, qdrant.NewIsEmpty(nestedType)),
	}
}

func together(conditions ...*qdrant.Condition) *qdrant.Condition {
	return qdrant.NewFilterAsCondition(&qdrant.Filter{Must: conditions})
}

func either(conditions ...*qdrant.Condition) *qdrant.Condition {
	return qdrant.NewFilterAsCondition(&qdrant.Filter{Should: conditions})
}

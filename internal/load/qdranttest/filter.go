package qdranttest

import (
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// predicate is whether a point fits. Conditions that are not known here are
// refused, lest a test passes because nothing was found.
type predicate func(*point) bool

// predicate of a filter; everything fits none, and an empty one.
func (c *collection) predicate(f *qdrant.Filter) (predicate, error) {
	must, err := c.predicates(f.GetMust())
	if err != nil {
		return nil, err
	}
	should, err := c.predicates(f.GetShould())
	if err != nil {
		return nil, err
	}
	mustNot, err := c.predicates(f.GetMustNot())
	if err != nil {
		return nil, err
	}
	some, err := c.predicates(f.GetMinShould().GetConditions())
	if err != nil {
		return nil, err
	}
	return func(p *point) bool {
		return count(must, p) == len(must) && count(mustNot, p) == 0 &&
			(len(should) == 0 || count(should, p) > 0) && count(some, p) >= int(f.GetMinShould().GetMinCount())
	}, nil
}

func (c *collection) predicates(conditions []*qdrant.Condition) ([]predicate, error) {
	out := make([]predicate, len(conditions))
	for i, condition := range conditions {
		var err error
		if out[i], err = c.condition(condition); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func count(list []predicate, p *point) (n int) {
	for _, holds := range list {
		if holds(p) {
			n++
		}
	}
	return n
}

func (c *collection) condition(condition *qdrant.Condition) (predicate, error) {
	switch o := condition.GetConditionOneOf().(type) {
	case *qdrant.Condition_Field:
		return c.field(o.Field)
	case *qdrant.Condition_IsEmpty:
		return valued(o.IsEmpty.GetKey(), func(v *qdrant.Value) bool {
			return v == nil || null(v) || v.GetListValue() != nil && len(items(v)) == 0
		})
	case *qdrant.Condition_IsNull:
		return valued(o.IsNull.GetKey(), func(v *qdrant.Value) bool { return slices.ContainsFunc(items(v), null) })
	case *qdrant.Condition_HasId:
		ids, err := idTexts(o.HasId.GetHasId())
		wanted := make(map[string]bool, len(ids))
		for _, id := range ids {
			wanted[id] = true
		}
		return func(p *point) bool { return wanted[p.text] }, err
	case *qdrant.Condition_Filter:
		return c.predicate(o.Filter)
	case *qdrant.Condition_Nested:
		holds, err := c.predicate(o.Nested.GetFilter())
		if err != nil {
			return nil, err
		}
		return valued(o.Nested.GetKey(), func(v *qdrant.Value) bool {
			return slices.ContainsFunc(v.GetListValue().GetValues(), func(item *qdrant.Value) bool {
				return item.GetStructValue() != nil && holds(&point{payload: item.GetStructValue().GetFields()})
			})
		})
	}
	return nil, status.Error(codes.Unimplemented, "no such condition here")
}

// valued looks at the value of a field, which is nil where there is none.
func valued(key string, holds func(*qdrant.Value) bool) (predicate, error) {
	path, err := split(key)
	if err != nil {
		return nil, err
	}
	return func(p *point) bool { return holds(at(p.payload, path)) }, nil
}

func (c *collection) field(f *qdrant.FieldCondition) (predicate, error) {
	var fits func(*qdrant.Value) bool
	switch {
	case f.GetMatch().GetMatchValue() != nil:
		fits = c.match(f.GetKey(), f.GetMatch())
	case f.GetRange() != nil:
		fits = func(v *qdrant.Value) bool { return within(v, f.GetRange()) }
	}
	if fits == nil {
		return nil, status.Error(codes.Unimplemented, "no such condition on a field here")
	}
	return valued(f.GetKey(), func(v *qdrant.Value) bool { return slices.ContainsFunc(items(v), fits) })
}

// match is whether a value fits; nil: not known here.
func (c *collection) match(key string, m *qdrant.Match) func(*qdrant.Value) bool {
	_, indexed := c.schema[key]
	switch o := m.GetMatchValue().(type) {
	case *qdrant.Match_Keyword:
		return among([]string{o.Keyword})
	case *qdrant.Match_Keywords:
		return among(o.Keywords.GetStrings())
	case *qdrant.Match_ExceptKeywords:
		listed := among(o.ExceptKeywords.GetStrings())
		return func(v *qdrant.Value) bool {
			_, is := v.GetKind().(*qdrant.Value_StringValue)
			return !null(v) && !listed(v) && (is || !indexed)
		}
	case *qdrant.Match_Integer:
		return amongIntegers([]int64{o.Integer})
	case *qdrant.Match_Integers:
		return amongIntegers(o.Integers.GetIntegers())
	case *qdrant.Match_ExceptIntegers:
		listed := amongIntegers(o.ExceptIntegers.GetIntegers())
		return func(v *qdrant.Value) bool {
			_, is := v.GetKind().(*qdrant.Value_IntegerValue)
			return !null(v) && !listed(v) && (is || !indexed)
		}
	case *qdrant.Match_Boolean:
		return func(v *qdrant.Value) bool {
			b, is := v.GetKind().(*qdrant.Value_BoolValue)
			return is && b.BoolValue == o.Boolean
		}
	}
	return nil
}

func among(wanted []string) func(*qdrant.Value) bool {
	set := make(map[string]bool, len(wanted))
	for _, s := range wanted {
		set[s] = true
	}
	return func(v *qdrant.Value) bool {
		s, is := v.GetKind().(*qdrant.Value_StringValue)
		return is && set[s.StringValue]
	}
}

func amongIntegers(wanted []int64) func(*qdrant.Value) bool {
	return func(v *qdrant.Value) bool {
		n, is := v.GetKind().(*qdrant.Value_IntegerValue)
		return is && slices.Contains(wanted, n.IntegerValue)
	}
}

func within(v *qdrant.Value, r *qdrant.Range) bool {
	var n float64
	switch k := v.GetKind().(type) {
	case *qdrant.Value_IntegerValue:
		n = float64(k.IntegerValue)
	case *qdrant.Value_DoubleValue:
		n = k.DoubleValue
	default:
		return false
	}
	return (r.Lt == nil || n < *r.Lt) && (r.Lte == nil || n <= *r.Lte) && (r.Gt == nil || n > *r.Gt) && (r.Gte == nil || n >= *r.Gte)
}

package qdranttest

import (
	"slices"
	"strings"

	"github.com/qdrant/go-client/qdrant"
)

func matches(p *point, f *qdrant.Filter) bool {
	holds := func(c *qdrant.Condition) bool { return p.holds(c) }
	if !all(f.GetMust(), holds) || slices.ContainsFunc(f.GetMustNot(), holds) {
		return false
	}
	return len(f.GetShould()) == 0 || slices.ContainsFunc(f.GetShould(), holds)
}

func all[T any](list []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !holds(v) })
}

func (p *point) holds(c *qdrant.Condition) bool {
	switch o := c.GetConditionOneOf().(type) {
	case *qdrant.Condition_Field:
		return slices.ContainsFunc(values(p.payload, o.Field.GetKey()), func(v *qdrant.Value) bool { return equal(v, o.Field.GetMatch()) })
	case *qdrant.Condition_IsEmpty:
		return !slices.ContainsFunc(values(p.payload, o.IsEmpty.GetKey()), func(v *qdrant.Value) bool { return !null(v) })
	case *qdrant.Condition_IsNull:
		return slices.ContainsFunc(values(p.payload, o.IsNull.GetKey()), null)
	case *qdrant.Condition_HasId:
		id, err := idText(p.id)
		return err == nil && slices.ContainsFunc(o.HasId.GetHasId(), func(other *qdrant.PointId) bool {
			text, err := idText(other)
			return err == nil && text == id
		})
	case *qdrant.Condition_Filter:
		return matches(p, o.Filter)
	}
	return false
}

func null(v *qdrant.Value) bool {
	_, is := v.GetKind().(*qdrant.Value_NullValue)
	return is
}

// values are those at a path: one, or the items of a list.
func values(payload map[string]*qdrant.Value, key string) []*qdrant.Value {
	head, rest, deeper := strings.Cut(key, ".")
	v, ok := payload[head]
	switch {
	case !ok:
		return nil
	case deeper:
		return values(v.GetStructValue().GetFields(), rest)
	}
	if list := v.GetListValue(); list != nil {
		return list.GetValues()
	}
	return []*qdrant.Value{v}
}

func equal(v *qdrant.Value, m *qdrant.Match) bool {
	text, isText := v.GetKind().(*qdrant.Value_StringValue)
	switch o := m.GetMatchValue().(type) {
	case *qdrant.Match_Keyword:
		return isText && text.StringValue == o.Keyword
	case *qdrant.Match_Keywords:
		return isText && slices.Contains(o.Keywords.GetStrings(), text.StringValue)
	case *qdrant.Match_ExceptKeywords:
		return isText && !slices.Contains(o.ExceptKeywords.GetStrings(), text.StringValue)
	case *qdrant.Match_Integer:
		n, ok := v.GetKind().(*qdrant.Value_IntegerValue)
		return ok && n.IntegerValue == o.Integer
	case *qdrant.Match_Boolean:
		b, ok := v.GetKind().(*qdrant.Value_BoolValue)
		return ok && b.BoolValue == o.Boolean
	}
	return false
}

// allows checks a request against the limits of strict mode.
func (c *collection) allows(limit uint64, f *qdrant.Filter) error {
	s := c.strictly()
	if s.MaxQueryLimit != nil && limit > uint64(*s.MaxQueryLimit) {
		return strictly("max_query_limit")
	}
	conditions := fields(f)
	if s.FilterMaxConditions != nil && uint64(len(conditions)) > *s.FilterMaxConditions {
		return strictly("filter_max_conditions")
	}
	for _, field := range conditions {
		size := max(len(field.GetMatch().GetKeywords().GetStrings()), len(field.GetMatch().GetExceptKeywords().GetStrings()))
		if s.ConditionMaxSize != nil && uint64(size) > *s.ConditionMaxSize {
			return strictly("condition_max_size")
		}
		if _, indexed := c.schema[field.GetKey()]; !indexed && s.UnindexedFilteringRetrieve != nil && !*s.UnindexedFilteringRetrieve {
			return strictly("unindexed_filtering_retrieve: " + field.GetKey())
		}
	}
	return nil
}

func fields(f *qdrant.Filter) (out []*qdrant.FieldCondition) {
	for _, c := range slices.Concat(f.GetMust(), f.GetShould(), f.GetMustNot()) {
		if field := c.GetField(); field != nil {
			out = append(out, field)
		}
		out = append(out, fields(c.GetFilter())...)
	}
	return out
}

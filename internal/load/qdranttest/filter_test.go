package qdranttest_test

import (
	"slices"
	"testing"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

// What each filter finds among these was asked of the engine itself.
func shelf() []fields {
	return []fields{
		1: {"k": "a"}, 2: {"k": []any{"a", "b"}}, 3: {"k": []any{[]any{"a"}, "c"}}, 4: {"k": nil}, 5: {"k": []any{}},
		6: {"k": fields{}}, 7: {}, 8: {"k": []any{nil}}, 9: {"k": []any{nil, "a"}}, 10: {"k": 1}, 11: {"k": true}, 12: {"k": 1.0},
		13: {"o": fields{"k": "a"}}, 14: {"o": []any{fields{"k": "a"}, fields{"k": "b"}}}, 15: {"o.k": "a"},
		16: {"o": fields{"k": []any{"a", "b"}}}, 17: {"k": ""}, 18: {"k": []any{[]any{}}}, 19: {"k": []any{fields{}}},
		20: {"k": []any{1, 2}}, 21: {"k": "A"}, 22: {"k": "1"}, 23: {"o": fields{}}, 24: {"o": fields{"k": nil}},
		25: {"o": "x"}, 26: {"o": fields{"k": fields{"z": 1}}}, 27: {"k": 3}, 28: {"k": 2.5},
	}
}

func must(c ...*qdrant.Condition) *qdrant.Filter { return &qdrant.Filter{Must: c} }

func field(key string, m *qdrant.Match) *qdrant.Condition {
	return &qdrant.Condition{ConditionOneOf: &qdrant.Condition_Field{Field: &qdrant.FieldCondition{Key: key, Match: m}}}
}

func except(words ...string) *qdrant.Match {
	return &qdrant.Match{MatchValue: &qdrant.Match_ExceptKeywords{ExceptKeywords: &qdrant.RepeatedStrings{Strings: words}}}
}

func between(key string, r *qdrant.Range) *qdrant.Condition { return qdrant.NewRange(key, r) }

func everythingBut(out ...uint64) (ids []uint64) {
	for n := uint64(1); n <= 28; n++ {
		if !slices.Contains(out, n) {
			ids = append(ids, n)
		}
	}
	return ids
}

func TestFiltersFindWhatTheEngineFinds(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	for n, payload := range shelf()[1:] {
		b.put(uint64(n+1), payload)
	}
	isA := qdrant.NewMatchKeyword("k", "a")
	none := []uint64{}
	for name, c := range map[string]struct {
		filter *qdrant.Filter
		want   []uint64
	}{
		"no filter":        {nil, everythingBut()},
		"an empty one":     {&qdrant.Filter{}, everythingBut()},
		"keyword":          {must(isA), []uint64{1, 2, 9}},
		"keywords":         {must(qdrant.NewMatchKeywords("k", "a", "A")), []uint64{1, 2, 9, 21}},
		"no keywords":      {must(qdrant.NewMatchKeywords("k")), none},
		"except":           {must(qdrant.NewMatchExceptKeywords("k", "a")), []uint64{2, 3, 6, 10, 11, 12, 17, 18, 19, 20, 21, 22, 27, 28}},
		"except nothing":   {must(field("k", except())), []uint64{1, 2, 3, 6, 9, 10, 11, 12, 17, 18, 19, 20, 21, 22, 27, 28}},
		"except an int":    {must(qdrant.NewMatchExceptInts("k", 1)), []uint64{1, 2, 3, 6, 9, 11, 12, 17, 18, 19, 20, 21, 22, 27, 28}},
		"integer":          {must(qdrant.NewMatchInt("k", 1)), []uint64{10, 20}},
		"integers":         {must(qdrant.NewMatchInts("k", 1, 3)), []uint64{10, 20, 27}},
		"boolean":          {must(qdrant.NewMatchBool("k", true)), []uint64{11}},
		"range":            {must(between("k", &qdrant.Range{Gte: qdrant.PtrOf(1.0), Lte: qdrant.PtrOf(2.0)})), []uint64{10, 12, 20}},
		"range, open":      {must(between("k", &qdrant.Range{Gt: qdrant.PtrOf(2.0), Lt: qdrant.PtrOf(3.0)})), []uint64{28}},
		"is_empty":         {must(qdrant.NewIsEmpty("k")), []uint64{4, 5, 7, 13, 14, 15, 16, 23, 24, 25, 26}},
		"is_null":          {must(qdrant.NewIsNull("k")), []uint64{4, 8, 9}},
		"not is_empty":     {&qdrant.Filter{MustNot: []*qdrant.Condition{qdrant.NewIsEmpty("k")}}, []uint64{1, 2, 3, 6, 8, 9, 10, 11, 12, 17, 18, 19, 20, 21, 22, 27, 28}},
		"is_empty, deeper": {must(qdrant.NewIsEmpty("o.k")), everythingBut(13, 16, 26)},
		"is_null, deeper":  {must(qdrant.NewIsNull("o.k")), []uint64{24}},
		"keyword, deeper":  {must(qdrant.NewMatchKeyword("o.k", "a")), []uint64{13, 16}},
		"nested":           {must(qdrant.NewNestedFilter("o", must(isA))), []uint64{14}},
		"has_id":           {must(qdrant.NewHasID(qdrant.NewIDNum(3), qdrant.NewIDNum(99))), []uint64{3}},
		"filter in filter": {must(qdrant.NewFilterAsCondition(&qdrant.Filter{Should: []*qdrant.Condition{isA, qdrant.NewHasID(qdrant.NewIDNum(28))}})), []uint64{1, 2, 9, 28}},
		"should, must_not": {&qdrant.Filter{Should: []*qdrant.Condition{isA, qdrant.NewMatchInt("k", 1)}, MustNot: []*qdrant.Condition{qdrant.NewHasID(qdrant.NewIDNum(1))}}, []uint64{2, 9, 10, 20}},
		"min_should":       {&qdrant.Filter{MinShould: &qdrant.MinShould{MinCount: 2, Conditions: []*qdrant.Condition{isA, qdrant.NewMatchKeyword("k", "b")}}}, []uint64{2}},
		"must, must":       {must(isA, qdrant.NewMatchKeyword("k", "b")), []uint64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			if got := b.found(c.filter); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			n, err := b.client.Count(t.Context(), &qdrant.CountPoints{CollectionName: "c", Filter: c.filter, Exact: qdrant.PtrOf(true)})
			if err != nil || n != uint64(len(c.want)) {
				t.Errorf("counted %d, want %d: %v", n, len(c.want), err)
			}
		})
	}

	// With an index of keywords only words are other than a word.
	if _, err := b.client.CreateFieldIndex(t.Context(), index("k")); err != nil {
		t.Fatal(err)
	}
	if got, want := b.found(must(qdrant.NewMatchExceptKeywords("k", "a"))), []uint64{2, 3, 17, 21, 22}; !slices.Equal(got, want) {
		t.Errorf("except with an index: %v, want %v", got, want)
	}
	if got, want := b.found(must(isA)), []uint64{1, 2, 9}; !slices.Equal(got, want) {
		t.Errorf("keyword with an index: %v, want %v", got, want)
	}
}

func index(name string) *qdrant.CreateFieldIndexCollection {
	return &qdrant.CreateFieldIndexCollection{CollectionName: "c", FieldName: name, FieldType: qdrant.FieldType_FieldTypeKeyword.Enum()}
}

func (b bench) found(f *qdrant.Filter) []uint64 {
	b.Helper()
	list, err := b.client.Scroll(b.Context(), &qdrant.ScrollPoints{CollectionName: "c", Filter: f, Limit: qdrant.PtrOf(uint32(100))})
	b.must(err)
	out := []uint64{}
	for _, p := range list {
		out = append(out, p.GetId().GetNum())
	}
	return out
}

// A nested filter looks at the objects of a list, as the engine does.
func TestNestedFilters(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	for n, o := range []any{1: []any{"x"}, 2: []any{fields{"k": "a"}}, 3: []any{fields{}}, 4: []any{[]any{}}, 5: []any{nil}, 6: fields{"z": 1}, 7: nil, 8: []any{fields{"z": 1}, "x"}, 9: []any{}} {
		b.put(uint64(n), fields{"o": o})
	}
	for _, c := range []struct {
		filter *qdrant.Filter
		want   []uint64
	}{
		{must(qdrant.NewIsEmpty("k")), []uint64{3, 8}},
		{&qdrant.Filter{MustNot: []*qdrant.Condition{qdrant.NewMatchKeyword("k", "a")}}, []uint64{3, 8}},
		{&qdrant.Filter{}, []uint64{2, 3, 8}},
	} {
		if got := b.found(must(qdrant.NewNestedFilter("o", c.filter))); !slices.Equal(got, c.want) {
			t.Errorf("%v: found %v, want %v", c.filter, got, c.want)
		}
	}
}

// What the server does not know must never look like nothing found.
func TestUnknownConditionsAreRefused(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	for name, c := range map[string]*qdrant.Condition{
		"text":       qdrant.NewMatchText("k", "a"),
		"has_vector": qdrant.NewHasVector("v"),
		"no match":   field("k", nil),
		"a list":     qdrant.NewMatchKeyword("k[]", "a"),
		"quotes":     qdrant.NewMatchKeyword(`"o.k"`, "a"),
		"nothing":    {},
		"in a list":  qdrant.NewFilterAsCondition(must(qdrant.NewMatchText("k", "a"))),
	} {
		_, err := b.client.Count(t.Context(), &qdrant.CountPoints{CollectionName: "c", Filter: must(c)})
		t.Log(name)
		refused(t, err, codes.Unimplemented)
		_, err = b.client.Delete(t.Context(), &qdrant.DeletePoints{CollectionName: "c", Points: qdrant.NewPointsSelectorFilter(must(c))})
		refused(t, err, codes.Unimplemented)
	}
	_, err := b.client.Count(t.Context(), &qdrant.CountPoints{CollectionName: "c", Filter: must(qdrant.NewHasID(qdrant.NewID("no uuid")))})
	refused(t, err, codes.InvalidArgument)
}

// The one field that has an index here is found by it as without.
func TestRecordKeysAreFoundByTheirIndex(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.put(1, fields{"record_key": "x"})
	b.put(2, fields{"record_key": "x", "n": 1})
	b.put(3, fields{"record_key": []any{"y", "x"}})
	b.put(4, fields{"record_key": "y"})
	b.put(5, fields{})
	is := func(f *qdrant.Filter, want ...uint64) {
		t.Helper()
		if got := b.found(f); !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	}
	x := must(qdrant.NewMatchKeyword("record_key", "x"))
	is(x, 1, 2, 3)
	is(must(qdrant.NewMatchKeywords("record_key", "y", "z")), 3, 4)
	is(must(qdrant.NewMatchKeyword("record_key", "x"), qdrant.NewMatchInt("n", 1)), 2)
	b.put(1, fields{"record_key": "z"})
	b.must(b.setPayload(fields{"record_key": "x"}, "", 5))
	_, err := b.client.DeletePayload(t.Context(), &qdrant.DeletePayloadPoints{CollectionName: "c", PointsSelector: selector(2), Keys: []string{"record_key"}})
	b.must(err)
	b.server.Remove("c", "1", "2", "3")
	is(x, 5)
}

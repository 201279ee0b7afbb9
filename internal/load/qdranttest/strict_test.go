package qdranttest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

func TestStrictMode(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	for n := range uint64(4) {
		b.put(n, fields{"kind": "memory", "other": "x"})
	}
	ctx := t.Context()
	_, err := b.client.CreateFieldIndex(ctx, index("kind"))
	b.must(err)
	scroll := func(limit *uint32, f *qdrant.Filter) func() error {
		return func() error {
			_, err := b.client.Scroll(ctx, &qdrant.ScrollPoints{CollectionName: "c", Limit: limit, Filter: f})
			return err
		}
	}
	query := func(limit uint64, exact bool) func() error {
		return func() error {
			_, err := b.client.Query(ctx, &qdrant.QueryPoints{CollectionName: "c", Query: qdrant.NewQuery(1, 0), Limit: &limit, Params: &qdrant.SearchParams{Exact: &exact}})
			return err
		}
	}
	count := func(exact *bool) func() error {
		return func() error {
			_, err := b.client.Count(ctx, &qdrant.CountPoints{CollectionName: "c", Exact: exact})
			return err
		}
	}
	del := func(f *qdrant.Filter) func() error {
		return func() error {
			_, err := b.client.Delete(ctx, &qdrant.DeletePoints{CollectionName: "c", Points: qdrant.NewPointsSelectorFilter(f)})
			return err
		}
	}
	kind, other := qdrant.NewMatchKeyword("kind", "memory"), qdrant.NewMatchKeyword("other", "y")
	three := []*qdrant.PointStruct{pointOf(1, nil, 1, 0), pointOf(2, nil, 1, 0), pointOf(3, nil, 1, 0)}
	for name, c := range map[string]struct {
		limits      *qdrant.StrictModeConfig
		good, wrong []func() error
	}{
		"upsert_max_batchsize": {&qdrant.StrictModeConfig{UpsertMaxBatchsize: qdrant.PtrOf(uint64(2))},
			[]func() error{func() error { return b.upsert(three[:2]...) }, func() error { return b.setPayload(fields{"a": "1"}, "", 1, 2, 3) }},
			[]func() error{func() error { return b.upsert(three...) }, func() error { return b.vectors(pair(1, 1, 0), pair(2, 1, 0), pair(3, 1, 0)) }}},
		"max_query_limit": {&qdrant.StrictModeConfig{MaxQueryLimit: qdrant.PtrOf(uint32(5))},
			[]func() error{scroll(qdrant.PtrOf(uint32(5)), nil), query(5, false)},
			[]func() error{scroll(qdrant.PtrOf(uint32(6)), nil), scroll(nil, nil), query(6, false)}},
		"unindexed_filtering_retrieve": {&qdrant.StrictModeConfig{UnindexedFilteringRetrieve: qdrant.PtrOf(false)},
			[]func() error{scroll(nil, must(kind)), del(must(other))},
			[]func() error{scroll(nil, must(kind, other)), scroll(nil, must(qdrant.NewFilterAsCondition(must(other))))}},
		"unindexed_filtering_update": {&qdrant.StrictModeConfig{UnindexedFilteringUpdate: qdrant.PtrOf(false)},
			[]func() error{scroll(nil, must(other)), del(must(qdrant.NewMatchKeyword("kind", "none")))},
			[]func() error{del(must(other))}},
		"search_allow_exact": {&qdrant.StrictModeConfig{SearchAllowExact: qdrant.PtrOf(false)},
			[]func() error{query(5, false), count(qdrant.PtrOf(false))}, []func() error{query(5, true), count(qdrant.PtrOf(true)), count(nil)}},
		"filter_max_conditions": {&qdrant.StrictModeConfig{FilterMaxConditions: qdrant.PtrOf(uint64(2))},
			[]func() error{scroll(nil, must(kind, other))},
			[]func() error{scroll(nil, must(kind, other, kind)), scroll(nil, must(kind, qdrant.NewFilterAsCondition(must(kind, other))))}},
		"condition_max_size": {&qdrant.StrictModeConfig{ConditionMaxSize: qdrant.PtrOf(uint64(2))},
			[]func() error{scroll(nil, must(qdrant.NewMatchKeywords("kind", "a", "b")))},
			[]func() error{scroll(nil, must(qdrant.NewMatchKeywords("kind", "a", "b", "c"))),
				scroll(nil, must(qdrant.NewHasID(qdrant.NewIDNum(1), qdrant.NewIDNum(2), qdrant.NewIDNum(3))))}},
	} {
		t.Run(name, func(t *testing.T) {
			b.server.SetStrict("c", c.limits) // not enabled
			for _, call := range append(c.good, c.wrong...) {
				refused(t, call(), codes.OK)
			}
			c.limits.Enabled = qdrant.PtrOf(true)
			for _, call := range c.good {
				refused(t, call(), codes.OK)
			}
			for _, call := range c.wrong {
				refused(t, call(), codes.InvalidArgument)
			}
		})
	}
}

func TestRates(t *testing.T) {
	now := &clock{now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	b := newBench(t, qdranttest.Options{Now: now.Now})
	b.server.SetStrict("c", &qdrant.StrictModeConfig{Enabled: qdrant.PtrOf(true), WriteRateLimit: qdrant.PtrOf(uint32(6)), ReadRateLimit: qdrant.PtrOf(uint32(2))})
	after := func(err error, want int) {
		t.Helper()
		var exhausted *qdrant.QdrantResourceExhaustedError
		if !errors.As(err, &exhausted) || exhausted.RetryAfterS != want {
			t.Errorf("%v, want it after %d s", err, want)
		}
	}
	five := []*qdrant.PointStruct{pointOf(1, nil, 1, 0), pointOf(2, nil, 1, 0), pointOf(3, nil, 1, 0), pointOf(4, nil, 1, 0), pointOf(5, nil, 1, 0)}
	b.must(b.upsert(five...)) // one of six is left, and ten seconds bring another
	after(b.upsert(five[:3]...), 20)
	now.turn(18500 * time.Millisecond)
	after(b.upsert(five[:3]...), 2)
	now.turn(1500 * time.Millisecond)
	b.must(b.upsert(five[:3]...))
	refused(t, b.upsert(append(five, five...)...), codes.ResourceExhausted) // never: there is nothing to wait for

	count := func() error {
		_, err := b.client.Count(t.Context(), &qdrant.CountPoints{CollectionName: "c", Filter: must(qdrant.NewIsEmpty("a"))})
		return err
	}
	b.must(count()) // 1, and 1 for the condition
	after(count(), 60)
	now.turn(time.Hour)
	b.must(count())
	after(count(), 60) // no more than a minute's is saved up
}

package qdranttest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

func text(id *qdrant.PointId) string {
	if u := id.GetUuid(); u != "" {
		return u
	}
	return fmt.Sprint(id.GetNum())
}

func TestScrollOrder(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	want := []string{"2", "9", "10", "18446744073709551615", "00000000-0000-0000-0000-000000000001",
		"0a000000-0000-0000-0000-000000000001", "ffffffff-0000-0000-0000-000000000000"}
	for _, i := range rand.Perm(len(want)) {
		b.must(b.server.Plant("c", want[i], []float32{1, 0}, nil))
	}
	if got := b.ids(); !slices.Equal(got, want) {
		t.Error(got)
	}
	page := func(offset *qdrant.PointId, limit uint32) ([]string, string) {
		t.Helper()
		r, err := b.client.GetPointsClient().Scroll(t.Context(), &qdrant.ScrollPoints{CollectionName: "c", Offset: offset, Limit: &limit})
		b.must(err)
		var ids []string
		for _, p := range r.GetResult() {
			ids = append(ids, text(p.GetId()))
		}
		if r.GetNextPageOffset() == nil {
			return ids, ""
		}
		return ids, text(r.GetNextPageOffset())
	}
	for _, c := range []struct {
		offset *qdrant.PointId
		limit  uint32
		ids    []string
		next   string
	}{
		{nil, 3, want[:3], want[3]},
		{qdrant.NewIDNum(5), 3, want[1:4], want[4]},
		{qdrant.NewID(want[4]), 3, want[4:], ""},
		{nil, 7, want, ""},
		{qdrant.NewID("ffffffff-ffff-ffff-ffff-ffffffffffff"), 3, nil, ""},
	} {
		if ids, next := page(c.offset, c.limit); !slices.Equal(ids, c.ids) || next != c.next {
			t.Errorf("from %v: %v, then %q", c.offset, ids, next)
		}
	}
	for name, r := range map[string]*qdrant.ScrollPoints{
		"limit 0": {CollectionName: "c", Limit: qdrant.PtrOf(uint32(0))},
		"offset":  {CollectionName: "c", Offset: qdrant.NewID("x")},
	} {
		t.Log(name)
		_, err := b.client.Scroll(t.Context(), r)
		refused(t, err, codes.InvalidArgument)
	}
}

// Every page size shows every point that fits once, in order.
func TestPagesAreThePoints(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	b := newBench(t, qdranttest.Options{})
	for range 200 {
		id := fmt.Sprint(random.Uint64() >> random.IntN(64))
		if random.IntN(2) == 0 {
			var u uuid.UUID
			for i := range u {
				u[i] = byte(random.UintN(256))
			}
			id = u.String()
		}
		b.must(b.server.Plant("c", id, []float32{1, 0}, fields{"n": random.IntN(3)}))
	}
	var want []string
	for _, p := range b.server.Points("c") {
		if p.Payload["n"] != int64(0) {
			want = append(want, p.ID)
		}
	}
	filter := &qdrant.Filter{MustNot: []*qdrant.Condition{qdrant.NewMatchInt("n", 0)}}
	for _, limit := range []uint32{1, 7, 64, uint32(len(want)), 1000} {
		var got []string
		for offset := (*qdrant.PointId)(nil); ; {
			r, err := b.client.GetPointsClient().Scroll(t.Context(), &qdrant.ScrollPoints{CollectionName: "c", Filter: filter, Offset: offset, Limit: &limit})
			b.must(err)
			for _, p := range r.GetResult() {
				got = append(got, text(p.GetId()))
			}
			if offset = r.GetNextPageOffset(); offset == nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %d points, want %d", limit, len(got), len(want))
		}
	}
}

func TestGet(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.put(2, fields{"a": "1"})
	b.put(10, fields{})
	b.server.Reset()
	ids := []*qdrant.PointId{qdrant.NewIDNum(10), qdrant.NewIDNum(2), qdrant.NewIDNum(77), qdrant.NewIDNum(10)}
	got, err := b.client.Get(t.Context(), &qdrant.GetPoints{CollectionName: "c", Ids: ids})
	b.must(err)
	if len(got) != 2 || text(got[0].GetId()) != "10" || got[1].GetPayload() != nil || got[1].GetVectors() != nil {
		t.Errorf("%v", got)
	}
	if n := b.server.Counts().VectorsRead; n != 0 {
		t.Errorf("%d vectors were read", n)
	}
	_, err = b.client.Get(t.Context(), &qdrant.GetPoints{CollectionName: "c", Ids: ids, WithVectors: qdrant.NewWithVectors(true)})
	b.must(err)
	if n := b.server.Counts().VectorsRead; n != 2 {
		t.Errorf("%d vectors were read", n)
	}
}

// Vectors are told in one field up to 1.16, in another from 1.17 on.
func TestVectorsOfOldAndNewServers(t *testing.T) {
	for version, old := range map[string]bool{"": false, "1.17.0": false, "1.18.2": false, "2.0.0": false, "dev": false, "1.16.3": true, "1.12.0": true, "0.11.7": true} {
		b := newBench(t, qdranttest.Options{Version: version})
		b.must(b.upsert(pointOf(1, nil, 0, 1)))
		got, err := b.client.Get(t.Context(), &qdrant.GetPoints{CollectionName: "c", Ids: []*qdrant.PointId{qdrant.NewIDNum(1)}, WithVectors: qdrant.NewWithVectors(true)})
		b.must(err)
		v := got[0].GetVectors().GetVector()
		//lint:ignore SA1019 it is what old servers fill
		before, since := v.GetData(), v.GetDense().GetData()
		if filled := map[bool][]float32{true: before, false: since}; len(filled[old]) != 2 || len(filled[!old]) != 0 {
			t.Errorf("%s: %v, %v", version, before, since)
		}
	}
}

func TestSelectedPayload(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	whole := fields{"a": "1", "o": fields{"x": "1", "y": "2"}, "l": []any{fields{"q": "1"}}}
	b.put(1, whole)
	for name, c := range map[string]struct {
		selector *qdrant.WithPayloadSelector
		want     fields
	}{
		"nothing said": {nil, fields{}},
		"no":           {qdrant.NewWithPayload(false), fields{}},
		"all":          {qdrant.NewWithPayload(true), whole},
		"some":         {qdrant.NewWithPayloadInclude("a", "o.x"), fields{"a": "1", "o": fields{"x": "1"}}},
		"missing":      {qdrant.NewWithPayloadInclude("o.z", "no", "a.b"), fields{"o": fields{}}},
		"both ways":    {qdrant.NewWithPayloadInclude("o.x", "o"), fields{"o": whole["o"]}},
		"two below":    {qdrant.NewWithPayloadInclude("o.x", "o.y"), fields{"o": whole["o"]}},
		"in a list":    {qdrant.NewWithPayloadInclude("l.q"), fields{"l": []any{}}},
		"without":      {qdrant.NewWithPayloadExclude("o.x", "l"), fields{"a": "1", "o": fields{"y": "2"}}},
		"without both": {qdrant.NewWithPayloadExclude("o.x", "o.y"), fields{"a": "1", "o": fields{}, "l": whole["l"]}},
	} {
		got, err := b.client.Scroll(t.Context(), &qdrant.ScrollPoints{CollectionName: "c", WithPayload: c.selector})
		b.must(err)
		if p := plain(got[0].GetPayload()); !reflect.DeepEqual(p, c.want) {
			t.Errorf("%s: %v, want %v", name, p, c.want)
		}
	}
	if got := b.payload("1"); !reflect.DeepEqual(got, whole) {
		t.Errorf("reading changed it: %v", got)
	}
}

func TestSearch(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	for n, v := range [][]float32{1: {1, 0}, 2: {0, 1}, 3: {-1, 0}, 4: {1, 0}} {
		if v != nil {
			b.must(b.upsert(pointOf(uint64(n), fields{"even": n%2 == 0}, v...)))
		}
	}
	even := must(qdrant.NewMatchBool("even", true))
	for name, c := range map[string]struct {
		q    *qdrant.QueryPoints
		want []uint64
	}{
		"all":       {&qdrant.QueryPoints{}, []uint64{1, 4, 2, 3}},
		"limit":     {&qdrant.QueryPoints{Limit: qdrant.PtrOf(uint64(1))}, []uint64{1}},
		"offset":    {&qdrant.QueryPoints{Offset: qdrant.PtrOf(uint64(2))}, []uint64{2, 3}},
		"beyond":    {&qdrant.QueryPoints{Offset: qdrant.PtrOf(uint64(9))}, nil},
		"above 0":   {&qdrant.QueryPoints{ScoreThreshold: qdrant.PtrOf(float32(0))}, []uint64{1, 4}},
		"above 1":   {&qdrant.QueryPoints{ScoreThreshold: qdrant.PtrOf(float32(1))}, nil},
		"filter":    {&qdrant.QueryPoints{Filter: even}, []uint64{4, 2}},
		"all three": {&qdrant.QueryPoints{Filter: even, Limit: qdrant.PtrOf(uint64(5)), Offset: qdrant.PtrOf(uint64(1))}, []uint64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			c.q.CollectionName, c.q.Query = "c", qdrant.NewQuery(2, 0) // of any length
			hits, err := b.client.Query(t.Context(), c.q)
			b.must(err)
			limit := uint64(10)
			if c.q.Limit != nil {
				limit = c.q.GetLimit()
			}
			old, err := b.client.GetPointsClient().Search(t.Context(), &qdrant.SearchPoints{CollectionName: "c", Vector: []float32{2, 0},
				Limit: limit, Offset: c.q.Offset, ScoreThreshold: c.q.ScoreThreshold, Filter: c.q.Filter})
			b.must(err)
			for way, hits := range map[string][]*qdrant.ScoredPoint{"query": hits, "search": old.GetResult()} {
				var got []uint64
				for _, h := range hits {
					got = append(got, h.GetId().GetNum())
					if want := []float32{1: 1, 2: 0, 3: -1, 4: 1}[h.GetId().GetNum()]; h.GetScore() != want {
						t.Errorf("score of %d: %v", h.GetId().GetNum(), h.GetScore())
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s: %v, want %v", way, got, c.want)
				}
			}
		})
	}
	for code, list := range map[codes.Code][]*qdrant.QueryPoints{
		codes.InvalidArgument: {
			{Query: qdrant.NewQuery(1, 0, 0)}, {Query: qdrant.NewQuery(1, 0), Using: qdrant.PtrOf("x")},
			{Query: qdrant.NewQuery(1, 0), Limit: qdrant.PtrOf(uint64(0))},
		},
		codes.Unimplemented: {{}, {Query: qdrant.NewQueryID(qdrant.NewIDNum(1))}, {Query: qdrant.NewQuery(1, 0), Prefetch: []*qdrant.PrefetchQuery{{}}}},
	} {
		for _, q := range list {
			q.CollectionName = "c"
			_, err := b.client.Query(t.Context(), q)
			refused(t, err, code)
		}
	}
}

// Longer vectors than those of the other tests, and a number of dimensions that
// is no multiple of four.
func TestScoresOfLongVectors(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const size = 771
	server := serve(t, qdranttest.Options{})
	b := bench{t, server, dial(t, server)}
	b.must(b.client.CreateCollection(t.Context(), collection("c", size)))
	vector := func() []float32 {
		v := make([]float32, size)
		for i := range v {
			v[i] = random.Float32() - 0.4
		}
		return v
	}
	list := map[uint64][]float32{}
	for n := range uint64(20) {
		list[n] = vector()
		b.must(b.upsert(pointOf(n, nil, list[n]...)))
	}
	query := vector()
	hits, err := b.client.Query(t.Context(), &qdrant.QueryPoints{CollectionName: "c", Query: qdrant.NewQuery(query...), Limit: qdrant.PtrOf(uint64(20))})
	b.must(err)
	for i, h := range hits {
		if want := cosine(query, list[h.GetId().GetNum()]); math.Abs(float64(h.GetScore())-want) > 1e-5 {
			t.Errorf("score of %d: %v, want %v", h.GetId().GetNum(), h.GetScore(), want)
		}
		if i > 0 && h.GetScore() > hits[i-1].GetScore() {
			t.Errorf("hit %d is better than the one before", i)
		}
	}
	if len(hits) != 20 {
		t.Errorf("%d hits", len(hits))
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

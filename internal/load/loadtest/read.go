package loadtest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

func readCases() []testCase {
	return []testCase{
		{"an empty store answers", emptyStore},
		{"prepare twice", prepareTwice},
		{"another dimension is refused", otherDimension},
		{"search ranks by cosine", searchRanks},
		{"limit and offset", limitAndOffset},
		{"kinds are kept apart", kinds},
		{"filters", filters},
		{"both layouts are read", bothLayouts},
		{"twins are seen", twins},
		{"legacy vectors take no place", legacy},
		{"a query that is no direction", badQuery},
		{"a scan ends with its reader's error", scanError},
	}
}

func emptyStore(b *trial) {
	ctx := b.Context()
	info, err := b.Info(ctx)
	b.must(err)
	if info.Place == "" {
		b.Fatal("a store does not say where it is")
	}
	if info.Exists || info.Dimensions != 0 || info.Points != 0 {
		b.Fatalf("an unprepared store is %+v", info)
	}
	if n := len(b.scan()) + len(b.lookup("memory:mem-0001")) + len(b.search(load.Query{Vector: direction(0)})); n != 0 {
		b.Fatalf("an unprepared store shows %d points", n)
	}
	if err := b.Write(ctx, []load.Write{memory(1, 1, 0, 0, 0)}); !errors.Is(err, load.ErrNotPrepared) {
		b.Fatalf("write before prepare: %v", err)
	}
	b.prepare()
	if n := len(b.scan()) + len(b.lookup("memory:mem-0001")) + len(b.search(load.Query{Vector: direction(0)})); n != 0 {
		b.Fatalf("an empty store shows %d points", n)
	}
	b.must(b.Write(ctx, nil))
}

func prepareTwice(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0))
	b.prepare()
	info, err := b.Info(b.Context())
	b.must(err)
	if !info.Exists || info.Dimensions != dims || info.Points != 1 {
		b.Fatalf("%+v, want one point of %d dimensions", info, dims)
	}
}

func otherDimension(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0))
	before := b.content()
	want := load.DimensionError{Held: dims, Asked: dims + 1}
	var got *load.DimensionError
	if err := b.Prepare(b.Context(), dims+1); !errors.As(err, &got) || *got != want {
		b.Fatalf("prepare: %v, want %v", err, &want)
	}
	_, err := b.Search(b.Context(), load.Query{Vector: make([]float32, dims+1), Limit: 1})
	if !errors.As(err, &got) || *got != want {
		b.Fatalf("search: %v, want %v", err, &want)
	}
	b.wantContent(before)
}

func searchRanks(b *trial) {
	b.prepare()
	b.write(
		memory(4, 2, 2, 0, 0),  // 45 degrees
		memory(3, 2, 2, 0, 0),  // the same: by key
		memory(2, 0, 5, 0, 0),  // 90 degrees
		memory(1, -1, 0, 0, 0), // opposite
		memory(5, 0.01, 0, 0, 0),
	)
	hits := b.search(load.Query{Vector: []float32{7, 0, 0, 0}})
	b.wantKeys(hits, "memory:mem-0005", "memory:mem-0003", "memory:mem-0004", "memory:mem-0002", "memory:mem-0001")
	for i, want := range []float64{1, math.Sqrt2 / 2, math.Sqrt2 / 2, 0, -1} {
		if math.Abs(hits[i].Score-want) > 1e-5 {
			b.Errorf("%s scores %v, want %v", hits[i].Key, hits[i].Score, want)
		}
	}
	if h := hits[0]; h.Ref != "mem-0005" || h.PointID != record.PointID(h.Key) {
		b.Errorf("hit %+v", h)
	}
	b.wantPayload(hits[0].PointID, map[string]any{
		"record_key": "memory:mem-0005", "kind": "memory", "ref": "mem-0005", "type": record.ReusableType,
		"session_id": "s2", "workspace": "w", "subject": "subject mem-0005",
		"content_hash": record.Hash("mem-0005"), "text_hash": record.Hash("text mem-0005"),
		"payload_hash": record.Hash("payload mem-0005"), "embed_space": "test/4",
		"tables": []any{"dim_a", "dim_5"}, "decision_seq": int64(5), "ts": nil,
	})
}

func limitAndOffset(b *trial) {
	b.prepare()
	for n := range 9 {
		b.write(memory(n, 1, float32(n), 0, 0))
	}
	all := b.search(load.Query{Vector: direction(0), Limit: 100})
	var pages []load.Hit
	for offset := 0; offset < 12; offset += 4 {
		pages = append(pages, b.search(load.Query{Vector: direction(0), Limit: 4, Offset: offset})...)
	}
	if len(all) != 9 || len(pages) != 9 {
		b.Fatalf("%d hits, %d in pages, want 9", len(all), len(pages))
	}
	for i := range all {
		if all[i].Key != pages[i].Key {
			b.Errorf("hit %d is %s, in pages %s", i, all[i].Key, pages[i].Key)
		}
	}
}

func kinds(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0), solved(1, 1, 1, 0, 0))
	id := otherID("schema_table:fact_x")
	b.plant(id, direction(0), map[string]any{"kind": "schema_table", "name": "fact_x"})
	b.wantKeys(b.search(load.Query{Vector: direction(0)}), "memory:mem-0001", "solved:s1")
	b.wantKeys(b.search(load.Query{Vector: direction(0), Kind: record.KindSolved}), "solved:s1")
	b.wantPayload(id, map[string]any{"kind": "schema_table", "name": "fact_x"})
	row := b.scan()[id]
	if len(b.scan()) != 3 || row == nil || row[2] != "schema_table" || row[1] != "" {
		b.Fatalf("a scan gives %q for another writer's kind", row)
	}
}

func filters(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0), nested(memory(2, 1, 1, 0, 0)), memory(4, 1, 2, 0, 0), solved(1, 1, 0, 0, 0),
		with(memory(5, 1, 3, 0, 0), map[string]any{"lang": `it "q" <è>`, "metadata": map[string]any{"team": "x"}}))
	for _, c := range []struct {
		filter map[string]string
		want   []string
	}{
		{map[string]string{"session_id": "s1"}, []string{"memory:mem-0001", "solved:s1", "memory:mem-0004"}},
		{map[string]string{"session_id": "s2"}, []string{"memory:mem-0002", "memory:mem-0005"}},
		{map[string]string{"session_id": "s1", "ref": "mem-0004"}, []string{"memory:mem-0004"}},
		{map[string]string{"subject": "subject mem-0002"}, []string{"memory:mem-0002"}},
		{map[string]string{"tables": "dim_2"}, []string{"memory:mem-0002"}},
		{map[string]string{"tables": "dim_a", "session_id": "s2"}, []string{"memory:mem-0002", "memory:mem-0005"}},
		{map[string]string{"tables": "dim_a", "lang": `it "q" <è>`}, []string{"memory:mem-0005"}},
		{map[string]string{"team": "x"}, []string{"memory:mem-0005"}},
		{map[string]string{"subject": "subject"}, nil},
		{map[string]string{"decision_seq": "4"}, nil}, // a number is no string
		{map[string]string{"type": record.ReusableType, "workspace": "v"}, nil},
		{map[string]string{"content_hash": record.Hash("mem-0001")}, []string{"memory:mem-0001"}},
	} {
		b.step(fmt.Sprint(slices.Sorted(maps.Keys(c.filter)), len(c.want)), func() {
			b.wantKeys(b.search(load.Query{Vector: direction(0), Filter: c.filter}), c.want...)
		})
	}
}

// step names a step of a case in its failures.
func (b *trial) step(step string, run func()) {
	b.Helper()
	defer func() {
		if b.Failed() {
			b.Log("at " + step)
		}
	}()
	run()
}

func bothLayouts(b *trial) {
	b.prepare()
	flat, deep := memory(1, 1, 0, 0, 0), nested(memory(2, 0, 1, 0, 0))
	b.write(flat, deep)
	rows := b.scan()
	for _, w := range []load.Write{flat, deep} {
		if got, want := rows[w.PointID], load.PointRow(w.PointID, w.Payload); !slices.Equal(got, want) || got[4] == "" {
			b.Errorf("%s: a scan gives %q, want %q", w.Key, got, want)
		}
		want := load.Point{
			ID: w.PointID, Key: w.Key, Kind: "memory", Ref: w.Key[len("memory:"):], Workspace: "w",
			ContentHash: load.String(w.Payload, "content_hash"), TextHash: load.String(w.Payload, "text_hash"),
			PayloadHash: load.String(w.Payload, "payload_hash"), EmbedSpace: "test/4",
		}
		if got := b.lookup(w.Key); len(got) != 1 || got[0] != want {
			b.Errorf("lookup gives %+v, want %+v", got, want)
		}
	}
	b.wantKeys(b.search(load.Query{Vector: direction(0)}), flat.Key, deep.Key)
}

func twins(b *trial) {
	b.prepare()
	ours := memory(1, 1, 0, 0, 0)
	b.write(ours, memory(2, 0, 1, 0, 0))
	theirs := otherID(ours.Key)
	b.plant(theirs, []float32{1, 0, 0, 0}, nested(ours).Payload)
	points := b.lookup(ours.Key, ours.Key, "memory:mem-9999")
	ids := []string{ours.PointID, theirs}
	slices.Sort(ids)
	if len(points) != 2 || points[0].ID != ids[0] || points[1].ID != ids[1] {
		b.Fatalf("lookup gives %+v", points)
	}
	if hits := b.search(load.Query{Vector: direction(0), Limit: 2}); hits[0].PointID != ids[0] || hits[1].PointID != ids[1] {
		b.Fatalf("equal hits are not in the order of their ids: %+v", hits)
	}
	if len(b.scan()) != 3 {
		b.Fatalf("a scan gives %d points, want 3", len(b.scan()))
	}
}

func legacy(b *trial) {
	b.prepare()
	for n := range 20 {
		w := with(memory(100+n, 1, 0, 0, 0), map[string]any{"type": "table_promoted"})
		if n%2 == 0 {
			w = nested(w)
		}
		if n == 7 {
			delete(w.Payload, "type")
		}
		b.plant(otherID(w.Key), w.Vector, w.Payload)
	}
	b.write(memory(1, 1, 1, 0, 0), memory(2, 1, 2, 0, 0))
	b.wantKeys(b.search(load.Query{Vector: direction(0), Kind: record.KindMemory, Limit: 2}), "memory:mem-0001", "memory:mem-0002")
	b.wantKeys(b.search(load.Query{Vector: direction(0), Limit: 1, Offset: 1}), "memory:mem-0002")
	if n := len(b.scan()); n != 22 {
		b.Fatalf("a scan gives %d points: legacy vectors must be seen there", n)
	}
}

func badQuery(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0))
	nan := float32(math.NaN())
	for vector, reason := range map[*[dims]float32]string{
		{}:                           load.ReasonZero,
		{nan, 0, 0, 0}:               load.ReasonNotFinite,
		{float32(math.Inf(1)), 0, 0}: load.ReasonNotFinite,
		{math.MaxFloat32, 1, 0, 0}:   load.ReasonNorm,
	} {
		_, err := b.Search(b.Context(), load.Query{Vector: vector[:], Limit: 1})
		b.wantRefused(err, load.ItemError{Key: "query", Reason: reason})
	}
	for _, q := range []load.Query{
		{Vector: direction(0)},
		{Vector: direction(0), Limit: 1, Offset: -1},
		{Vector: direction(0), Limit: 1, Filter: map[string]string{`a"b`: "x"}},
		{Vector: direction(0), Limit: 1, Filter: map[string]string{"type": ""}},
		{Vector: direction(0), Limit: 1, Filter: map[string]string{"type": "\xff"}},
	} {
		if _, err := b.Search(b.Context(), q); err == nil {
			b.Errorf("limit %d, offset %d, filter %q: no error", q.Limit, q.Offset, q.Filter)
		}
	}
}

func scanError(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0))
	stop := errors.New("stop")
	if err := b.Scan(b.Context(), func(arrow.RecordBatch) error { return stop }); !errors.Is(err, stop) {
		b.Fatalf("%v, want the error of the reader", err)
	}
	if len(b.scan()) != 1 {
		b.Fatal("the store is of no use after a scan that ended early")
	}
}

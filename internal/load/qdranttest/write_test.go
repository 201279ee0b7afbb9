package qdranttest_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

func (b bench) setPayload(payload fields, key string, ids ...uint64) error {
	r := &qdrant.SetPayloadPoints{CollectionName: "c", Payload: qdrant.NewValueMap(payload), PointsSelector: selector(ids...)}
	if key != "" {
		r.Key = &key
	}
	_, err := b.client.SetPayload(b.Context(), r)
	return err
}

func TestSetPayload(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	for name, c := range map[string]struct {
		old, set fields
		key      string
		want     fields
	}{
		"beside":                {fields{"a": "1"}, fields{"b": "2"}, "", fields{"a": "1", "b": "2"}},
		"a null removes":        {fields{"a": "1", "b": "2"}, fields{"a": nil, "c": nil}, "", fields{"b": "2"}},
		"a null inside stays":   {fields{"o": fields{"x": "1", "y": "1"}}, fields{"o": fields{"x": nil}}, "", fields{"o": fields{"x": nil}}},
		"a null that was stays": {fields{"n": nil}, fields{"a": "1"}, "", fields{"n": nil, "a": "1"}},
		"below":                 {fields{"o": fields{"x": "1"}}, fields{"y": "2"}, "o", fields{"o": fields{"x": "1", "y": "2"}}},
		"a null below":          {fields{"o": fields{"x": "1", "w": "3"}}, fields{"x": nil, "y": nil}, "o", fields{"o": fields{"w": "3"}}},
		"below what is missing": {fields{}, fields{"k": "1"}, "m.n", fields{"m": fields{"n": fields{"k": "1"}}}},
		"below a text":          {fields{"s": "text"}, fields{"k": "1"}, "s", fields{"s": fields{"k": "1"}}},
		"below a list":          {fields{"l": []any{"x"}}, fields{"k": "1"}, "l", fields{"l": fields{"k": "1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			b.put(1, c.old)
			b.must(b.setPayload(c.set, c.key, 1))
			if got := b.payload("1"); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestDeletePayload(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	old := fields{"a": "1", "o": fields{"x": "1", "y": fields{"z": "1"}}, "l": []any{fields{"q": "1"}}}
	for key, want := range map[string]fields{
		"a":     {"o": old["o"], "l": old["l"]},
		"o":     {"a": "1", "l": old["l"]},
		"o.x":   {"a": "1", "o": fields{"y": fields{"z": "1"}}, "l": old["l"]},
		"o.y.z": {"a": "1", "o": fields{"x": "1", "y": fields{}}, "l": old["l"]},
		"o.no":  old, "no.x": old, "a.x": old, "l.q": old,
	} {
		b.put(1, old)
		_, err := b.client.DeletePayload(t.Context(), &qdrant.DeletePayloadPoints{CollectionName: "c", PointsSelector: selector(1), Keys: []string{key}})
		b.must(err)
		if got := b.payload("1"); !reflect.DeepEqual(got, want) {
			t.Errorf("without %s: %v, want %v", key, got, want)
		}
	}
}

func TestOverwriteAndClear(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.put(1, fields{"a": "1"})
	_, err := b.client.OverwritePayload(t.Context(), &qdrant.SetPayloadPoints{CollectionName: "c", PointsSelector: selector(1),
		Payload: qdrant.NewValueMap(fields{"b": "2", "n": nil})})
	b.must(err)
	if got, want := b.payload("1"), (fields{"b": "2", "n": nil}); !reflect.DeepEqual(got, want) {
		t.Errorf("overwritten: %v, want %v", got, want)
	}
	_, err = b.client.ClearPayload(t.Context(), &qdrant.ClearPayloadPoints{CollectionName: "c", Points: selector(1)})
	b.must(err)
	if got := b.payload("1"); len(got) != 0 {
		t.Errorf("cleared: %v", got)
	}
}

// Of several points the unknown one is told, and the others are changed.
func TestUnknownPoints(t *testing.T) {
	for name, change := range map[string]func(bench) error{
		"set":       func(b bench) error { return b.setPayload(fields{"a": "2"}, "", 9, 1) },
		"overwrite": func(b bench) error { return b.overwrite(fields{"a": "2"}, 9, 1) },
		"vectors":   func(b bench) error { return b.vectors(pair(9, 0, 1), pair(1, 0, 1)) },
		"batch": func(b bench) error {
			_, err := b.client.UpdateBatch(b.Context(), &qdrant.UpdateBatchPoints{CollectionName: "c", Operations: []*qdrant.PointsUpdateOperation{
				setting(fields{"a": "2"}, 1), setting(fields{"a": "3"}, 9), setting(fields{"a": "4"}, 1),
			}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, qdranttest.Options{})
			b.put(1, fields{"a": "1"})
			refused(t, change(b), codes.NotFound)
			p := b.held("1")
			if changed := p.Payload["a"] == "2" || p.Vector[1] == 1; !changed || len(b.ids()) != 1 {
				t.Errorf("%+v", p)
			}
		})
	}
	b := newBench(t, qdranttest.Options{})
	_, err := b.client.Delete(t.Context(), &qdrant.DeletePoints{CollectionName: "c", Points: selector(9)})
	b.must(err)
}

func (b bench) overwrite(payload fields, ids ...uint64) error {
	_, err := b.client.OverwritePayload(b.Context(), &qdrant.SetPayloadPoints{CollectionName: "c", PointsSelector: selector(ids...), Payload: qdrant.NewValueMap(payload)})
	return err
}

func (b bench) vectors(list ...*qdrant.PointVectors) error {
	_, err := b.client.UpdateVectors(b.Context(), &qdrant.UpdatePointVectors{CollectionName: "c", Points: list})
	return err
}

func pair(n uint64, vector ...float32) *qdrant.PointVectors {
	return &qdrant.PointVectors{Id: qdrant.NewIDNum(n), Vectors: qdrant.NewVectors(vector...)}
}

func setting(payload fields, ids ...uint64) *qdrant.PointsUpdateOperation {
	return qdrant.NewPointsUpdateSetPayload(&qdrant.PointsUpdateOperation_SetPayload{PointsSelector: selector(ids...), Payload: qdrant.NewValueMap(payload)})
}

func TestUpsert(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.put(1, fields{"a": "1", "n": nil})
	if got, want := b.payload("1"), (fields{"a": "1", "n": nil}); !reflect.DeepEqual(got, want) {
		t.Errorf("a null: %v", got)
	}
	done, err := b.client.Upsert(t.Context(), &qdrant.UpsertPoints{CollectionName: "c", Wait: qdrant.PtrOf(true), Points: []*qdrant.PointStruct{pointOf(1, fields{"b": "2"}, 1, 0)}})
	if err != nil || done.GetStatus() != qdrant.UpdateStatus_Completed {
		t.Errorf("%v, %v", done, err)
	}
	if got, want := b.payload("1"), (fields{"b": "2"}); !reflect.DeepEqual(got, want) {
		t.Errorf("the whole point: %v", got)
	}
	b.must(b.upsert(pointOf(2, fields{"a": "1"}, 1, 0), pointOf(2, fields{"a": "2"}, 0, 1)))
	if p := b.held("2"); p.Payload["a"] != "2" || p.Vector[1] != 1 {
		t.Errorf("two of one id: %+v", p)
	}
	refused(t, b.upsert(pointOf(3, nil, 1, 0), pointOf(4, nil, 1, 0, 0), pointOf(5, nil, 1, 0)), codes.InvalidArgument)
	if got := b.ids(); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("beside a bad vector: %v", got)
	}
	if n := b.server.Counts().Upserted; n != 5 {
		t.Errorf("%d upserted", n)
	}
	for name, p := range map[string]*qdrant.PointStruct{
		"no id":        {Vectors: qdrant.NewVectors(1, 0)},
		"no uuid":      {Id: qdrant.NewID("mem-1"), Vectors: qdrant.NewVectors(1, 0)},
		"no vectors":   {Id: qdrant.NewIDNum(6)},
		"another name": {Id: qdrant.NewIDNum(6), Vectors: qdrant.NewVectorsMap(map[string]*qdrant.Vector{"x": qdrant.NewVector(1, 0)})},
		"empty":        {Id: qdrant.NewIDNum(6), Vectors: qdrant.NewVectors()},
	} {
		t.Log(name)
		refused(t, b.upsert(pointOf(7, nil, 1, 0), p), codes.InvalidArgument)
	}
}

// The vectors were given to the engine itself.
func TestUnitLengthAsTheEngineDoes(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	huge, tiny := float32(1e20), float32(2.4e-4)
	for _, c := range []struct{ given, want []float32 }{
		{[]float32{3, 4}, []float32{0.6, 0.8}},
		{[]float32{tiny, tiny}, []float32{tiny, tiny}},
		{[]float32{3e-4, 3e-4}, []float32{0.70710677, 0.70710677}},
		{[]float32{0, 0}, []float32{0, 0}},
		{[]float32{1e19, 1e19}, []float32{0.7071068, 0.7071068}},
		{[]float32{huge, huge}, []float32{0, 0}},
		{[]float32{math.MaxFloat32, 1}, []float32{0, 0}},
		{[]float32{1.0000003, 0}, []float32{1.0000004, 0}},
		{[]float32{1.000001, 0}, []float32{1, 0}},
	} {
		b.must(b.upsert(pointOf(1, nil, c.given...)))
		for i, got := range b.held("1").Vector {
			if math.Abs(float64(got-c.want[i])) > 1e-7 {
				t.Errorf("%v is held as %v, want %v", c.given, b.held("1").Vector, c.want)
			}
		}
	}
}

func TestNamedVectors(t *testing.T) {
	server := serve(t, qdranttest.Options{})
	b := bench{t, server, dial(t, server)}
	b.must(b.client.CreateCollection(t.Context(), &qdrant.CreateCollection{CollectionName: "c", VectorsConfig: qdrant.NewVectorsConfigMap(map[string]*qdrant.VectorParams{
		"v": {Size: 2, Distance: qdrant.Distance_Cosine}, "w": {Size: 1, Distance: qdrant.Distance_Dot},
	})}))
	both := map[string]*qdrant.Vector{"v": qdrant.NewVector(3, 4), "w": qdrant.NewVector(7)}
	b.must(b.upsert(&qdrant.PointStruct{Id: qdrant.NewIDNum(1), Vectors: qdrant.NewVectorsMap(both)}))
	refused(t, b.upsert(pointOf(2, nil, 1, 0)), codes.InvalidArgument)
	b.must(b.vectors(&qdrant.PointVectors{Id: qdrant.NewIDNum(1), Vectors: qdrant.NewVectorsMap(map[string]*qdrant.Vector{"v": qdrant.NewVector(0, 5)})}))
	if p := b.held("1"); p.Vectors["v"][1] != 1 || p.Vectors["w"][0] != 7 || p.Vector != nil {
		t.Errorf("one of two was changed: %+v", p)
	}
	got, err := b.client.Get(t.Context(), &qdrant.GetPoints{CollectionName: "c", Ids: []*qdrant.PointId{qdrant.NewIDNum(1)}, WithVectors: qdrant.NewWithVectorsInclude("w")})
	b.must(err)
	if named := got[0].GetVectors().GetVectors().GetVectors(); !slices.Equal(sortedKeys(named), []string{"w"}) {
		t.Errorf("w was asked for: %v", named)
	}
	b.must(b.upsert(&qdrant.PointStruct{Id: qdrant.NewIDNum(1), Vectors: qdrant.NewVectorsMap(nil)}))
	if p := b.held("1"); len(p.Vectors) != 0 {
		t.Errorf("an upsert replaces the point: %+v", p)
	}
	hits, err := b.client.Query(t.Context(), &qdrant.QueryPoints{CollectionName: "c", Query: qdrant.NewQuery(1, 0), Using: qdrant.PtrOf("v")})
	if err != nil || len(hits) != 0 {
		t.Errorf("a point without a vector is not found: %v, %v", hits, err)
	}
	_, err = b.client.Query(t.Context(), &qdrant.QueryPoints{CollectionName: "c", Query: qdrant.NewQuery(1, 0)})
	refused(t, err, codes.InvalidArgument)
}

func TestUpdateBatch(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.put(1, fields{"a": "1"})
	b.put(2, fields{"a": "1"})
	reply, err := b.client.UpdateBatch(t.Context(), &qdrant.UpdateBatchPoints{CollectionName: "c", Operations: []*qdrant.PointsUpdateOperation{
		qdrant.NewPointsUpdateUpsert(&qdrant.PointsUpdateOperation_PointStructList{Points: []*qdrant.PointStruct{pointOf(3, fields{"a": "1"}, 1, 0)}}),
		setting(fields{"b": "2"}, 3),
		qdrant.NewPointsUpdateUpdateVectors(&qdrant.PointsUpdateOperation_UpdateVectors{Points: []*qdrant.PointVectors{pair(3, 0, 1)}}),
		qdrant.NewPointsUpdateDeletePayload(&qdrant.PointsUpdateOperation_DeletePayload{PointsSelector: selector(3), Keys: []string{"a"}}),
		qdrant.NewPointsUpdateOverwritePayload(&qdrant.PointsUpdateOperation_OverwritePayload{PointsSelector: selector(2), Payload: qdrant.NewValueMap(fields{"z": "1"})}),
		qdrant.NewPointsUpdateDeletePoints(&qdrant.PointsUpdateOperation_DeletePoints{Points: selector(1)}),
	}})
	if err != nil || len(reply) != 6 {
		t.Fatalf("%v, %v", reply, err)
	}
	if got := b.ids(); !slices.Equal(got, []string{"2", "3"}) {
		t.Error(got)
	}
	if p := b.held("3"); !reflect.DeepEqual(p.Payload, fields{"b": "2"}) || p.Vector[1] != 1 {
		t.Errorf("%+v", p)
	}
	if c := b.server.Counts(); c.Deletes != 1 || c.Methods["Points/UpdateBatch"] != 1 || c.Writes != 3 || c.Upserted != 3 || c.Updated != 4 {
		t.Errorf("%+v", c)
	}
	_, err = b.client.UpdateBatch(t.Context(), &qdrant.UpdateBatchPoints{CollectionName: "c", Operations: []*qdrant.PointsUpdateOperation{{}}})
	refused(t, err, codes.Unimplemented)
}

func TestDelete(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	for n := range uint64(5) {
		b.put(n, fields{"kind": []string{"memory", "evidence"}[n%2]})
	}
	del := func(s *qdrant.PointsSelector, code codes.Code, want ...string) {
		t.Helper()
		_, err := b.client.Delete(t.Context(), &qdrant.DeletePoints{CollectionName: "c", Points: s})
		refused(t, err, code)
		if got := b.ids(); !slices.Equal(got, want) {
			t.Errorf("left: %v, want %v", got, want)
		}
	}
	del(selector(0, 99), codes.OK, "1", "2", "3", "4")
	del(nil, codes.InvalidArgument, "1", "2", "3", "4")
	del(qdrant.NewPointsSelectorFilter(must(qdrant.NewMatchKeyword("kind", "evidence"))), codes.OK, "2", "4")
	del(qdrant.NewPointsSelectorFilter(&qdrant.Filter{}), codes.OK)
	if n := b.server.Counts().Deletes; n != 4 {
		t.Errorf("%d deletes", n)
	}
}

func TestPlantAndRemove(t *testing.T) {
	b := newBench(t, qdranttest.Options{})
	b.server.Reset()
	id := "0B0E8A1C-0000-4000-8000-000000000001"
	b.must(b.server.Plant("c", id, []float32{3, 4}, fields{"a": []string{"x"}, "o": fields{"n": 1}}))
	b.must(b.server.Plant("c", "7", []float32{3, 4}, nil))
	p := b.held("0b0e8a1c-0000-4000-8000-000000000001")
	if want := (fields{"a": []any{"x"}, "o": fields{"n": int64(1)}}); !reflect.DeepEqual(p.Payload, want) || p.Vector[0] != 0.6 {
		t.Errorf("%+v", p)
	}
	for name, err := range map[string]error{
		"id": b.server.Plant("c", "x", []float32{1, 0}, nil), "dimension": b.server.Plant("c", "1", []float32{1}, nil),
		"collection": b.server.Plant("no", "1", []float32{1, 0}, nil), "value": b.server.Plant("c", "1", []float32{1, 0}, fields{"a": struct{}{}}),
	} {
		if err == nil {
			t.Errorf("a bad %s was planted", name)
		}
	}
	b.server.Remove("c", "7", "8")
	if c := b.server.Counts(); len(b.ids()) != 1 || c.Upserted != 0 || len(c.Methods) != 0 {
		t.Errorf("another writer's work was counted: %+v", c)
	}
	if b.server.Points("no") != nil {
		t.Error("points of no collection")
	}
}

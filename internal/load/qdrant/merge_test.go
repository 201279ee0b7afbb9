package qdrant_test

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

// present is a payload without what is null at its top or in its metadata, as a
// store may give it back.
func present(payload map[string]any) map[string]any {
	out := make(map[string]any, len(payload))
	for name, value := range payload {
		if object, is := value.(map[string]any); is && name == "metadata" {
			value = present(object)
		}
		if value != nil {
			out[name] = value
		}
	}
	return out
}

// payloads draws payloads of a kind in either layout, or in both, with fields of
// ours, of the other kind, and of nobody.
func payloads(kind string) *rapid.Generator[map[string]any] {
	foreign := []string{"likes", "note", "a.b", "über"}
	inside := append(append(record.OwnedMetadata(record.KindMemory), record.OwnedMetadata(record.KindSolved)...), foreign...)
	beside := append(record.OwnedFields(), inside...)
	value := rapid.OneOf(
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.StringN(0, 12, 40), func(s string) any { return s }),
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]([]any{"a", "b"}), rapid.Just[any]([]any{}),
		rapid.Just[any](map[string]any{"deep": int64(1)}),
	)
	fields, metadata := rapid.MapOf(rapid.SampledFrom(beside), value), rapid.MapOf(rapid.SampledFrom(inside), value)
	return rapid.Custom(func(t *rapid.T) map[string]any {
		p := fields.Draw(t, "fields")
		switch rapid.IntRange(0, 4).Draw(t, "layout") {
		case 0, 1:
			p["metadata"] = metadata.Draw(t, "metadata")
		case 2:
			p["metadata"] = "no object"
		}
		p["kind"], p["record_key"], p["workspace"] = kind, "memory:mem-0001", "w"
		return p
	})
}

// What a server holds after an update is what load.Merge says, whoever made the
// point, in whatever layout.
func TestUpdateIsMerge(t *testing.T) {
	server, s := prepared(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{record.KindMemory, record.KindSolved}).Draw(t, "kind")
		held, update := payloads(kind).Draw(t, "held"), payloads(kind).Draw(t, "update")
		// Our metadata is an object with something in it, where there is one.
		nested, is := update["metadata"].(map[string]any)
		if !is {
			delete(update, "metadata")
		} else {
			nested["session_id"] = "s1"
		}
		if kind == record.KindMemory {
			update["type"] = record.ReusableType
			if is {
				nested["type"] = record.ReusableType
			}
		}
		// Of one batch: what is read of the points of one writer must not count for
		// those of another.
		ours := record.PointID("memory:mem-0001")
		ids := rapid.SampledFrom([][]string{{ours}, {"7"}, {ours, "7"}}).Draw(t, "ids")
		server.Remove("c", "7", ours)
		var writes []load.Write
		for _, id := range ids {
			if err := server.Plant("c", id, []float32{1, 0, 0, 0}, held); err != nil {
				t.Fatal(err)
			}
			writes = append(writes, load.Write{PointID: id, Key: "memory:mem-0001", Payload: update})
		}
		if err := s.Write(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
		points := server.Points("c")
		if len(points) != len(ids) {
			t.Fatalf("%d points", len(points))
		}
		for _, p := range points {
			w := load.Write{PointID: p.ID, Key: "memory:mem-0001", Payload: present(update)} // a null is the same as no field
			if got, want := present(p.Payload), present(load.Merge(held, w)); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: held %v\nwritten %v\ngot  %v\nwant %v", p.ID, held, update, got, want)
			}
		}
	})
}

// No message is larger than it was taken for, whatever it holds, so that none is
// larger than the setting.
func TestMessagesAreCountedFull(t *testing.T) {
	const wide = 1024
	server := serve(t, qdranttest.Options{})
	o := options(server.URL(), "c")
	o.BatchBytes = 60_000
	s := open(t, o)
	if err := s.Prepare(t.Context(), wide); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		server.Reset()
		n := rapid.IntRange(1, 30).Draw(t, "points")
		length := rapid.IntRange(0, 3000).Draw(t, "length")
		text := strings.Repeat(rapid.SampledFrom([]string{"x", "è", "\x00"}).Draw(t, "text"), length)
		var writes []load.Write
		for i := range n {
			w := memory(i, make([]float32, wide)...)
			w.Vector[i] = 1
			extra := payloads(record.KindMemory).Draw(t, fmt.Sprint("extra ", i))
			for _, name := range []string{"kind", "record_key", "workspace", "type", "metadata"} {
				delete(extra, name)
			}
			w.Payload = maps.Clone(w.Payload)
			maps.Copy(w.Payload, extra)
			w.Payload["detail"] = text
			if rapid.Bool().Draw(t, fmt.Sprint("foreign ", i)) {
				w.PointID = fmt.Sprint(i)
			}
			writes = append(writes, w)
		}
		for range 2 { // inserts, then updates
			if err := s.Write(t.Context(), writes); err != nil {
				t.Fatal(err)
			}
		}
		if c := server.Counts(); c.LargestRequest > 60_000 {
			t.Fatalf("a message of %d bytes", c.LargestRequest)
		}
		for _, w := range writes {
			server.Remove("c", w.PointID)
		}
	})
}

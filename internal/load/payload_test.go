package load_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

type m = map[string]any

// ours is a write under our own id, theirs one under another writer's.
func ours(payload m) load.Write {
	key, _ := payload["record_key"].(string)
	return load.Write{PointID: record.PointID(key), Key: key, Payload: payload}
}

func theirs(payload m) load.Write {
	w := ours(payload)
	w.PointID = record.PointID("other:" + w.Key)
	return w
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		old  m
		w    load.Write
		want m
	}{
		"an insert": {nil, ours(m{"kind": "memory", "x": 1}), m{"kind": "memory", "x": 1}},
		"ours go, theirs stay": {
			m{"kind": "memory", "title": "old", "subject": "old", "likes": 3, "sql": "theirs in a Memory"},
			ours(m{"kind": "memory", "subject": "new"}),
			m{"kind": "memory", "subject": "new", "likes": 3, "sql": "theirs in a Memory"},
		},
		"names of the other kind": {
			m{"kind": "solved_question", "sql": "old", "ts": "theirs in a pair", "detail": "theirs too"},
			ours(m{"kind": "solved_question", "sql": "new"}),
			m{"kind": "solved_question", "sql": "new", "ts": "theirs in a pair", "detail": "theirs too"},
		},
		"flat to nested": {
			m{"kind": "memory", "subject": "old", "detail": "old"},
			ours(m{"kind": "memory", "metadata": m{"subject": "new"}}),
			m{"kind": "memory", "metadata": m{"subject": "new"}},
		},
		"nested to flat": {
			m{"kind": "memory", "metadata": m{"subject": "old", "detail": "old"}},
			ours(m{"kind": "memory", "subject": "new"}),
			m{"kind": "memory", "metadata": m{}, "subject": "new"},
		},
		"theirs inside metadata": {
			m{"kind": "memory", "metadata": m{"subject": "old", "seen": true}},
			ours(m{"kind": "memory", "metadata": m{"subject": "new"}}),
			m{"kind": "memory", "metadata": m{"subject": "new", "seen": true}},
		},
		"metadata that is no object": {
			m{"kind": "memory", "metadata": "theirs"},
			ours(m{"kind": "memory", "subject": "new"}),
			m{"kind": "memory", "subject": "new", "metadata": "theirs"},
		},
		"another writer's nested point, flat": {
			m{"kind": "memory", "metadata": m{"subject": "old", "seen": true}},
			theirs(m{"kind": "memory", "subject": "new", "detail": "new"}),
			m{"kind": "memory", "subject": "new", "detail": "new", "metadata": m{"subject": "new", "seen": true}},
		},
		"another writer's flat point, nested": {
			m{"kind": "memory", "subject": "old", "content": "old"},
			theirs(m{"kind": "memory", "metadata": m{"subject": "new", "detail": "new"}}),
			m{"kind": "memory", "subject": "new", "metadata": m{"subject": "new", "detail": "new"}},
		},
	} {
		old, update := maps.Clone(c.old), maps.Clone(c.w.Payload)
		if got := load.Merge(c.old, c.w); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if !reflect.DeepEqual(old, c.old) || !reflect.DeepEqual(update, c.w.Payload) {
			t.Errorf("%s: an argument changed", name)
		}
	}
}

// Merging twice is merging once, whatever was there, and what was there last
// of ours does not matter, under our own id.
func TestMergeIsIdempotent(t *testing.T) {
	foreign := []string{"likes", "sql", "note"}
	inside := append(record.OwnedMetadata(record.KindMemory), foreign...)
	number := rapid.Map(rapid.Int(), func(n int) any { return n })
	metadata := rapid.MapOf(rapid.SampledFrom(inside), number)
	names := slices.DeleteFunc(append(record.OwnedFields(), inside...), func(name string) bool { return name == "record_key" })
	fields := rapid.MapOf(rapid.SampledFrom(names), number)
	payload := rapid.Custom(func(t *rapid.T) m {
		p := fields.Draw(t, "fields")
		if rapid.Bool().Draw(t, "nested") {
			p["metadata"] = metadata.Draw(t, "metadata")
		}
		p["kind"] = record.KindMemory
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		old, between, update := payload.Draw(t, "old"), payload.Draw(t, "between"), payload.Draw(t, "update")
		for _, w := range []load.Write{ours(update), theirs(update)} {
			once := load.Merge(old, w)
			if twice := load.Merge(once, w); !reflect.DeepEqual(once, twice) {
				t.Fatalf("once %v, twice %v", once, twice)
			}
		}
		nested, _ := between["metadata"].(m)
		for _, name := range foreign {
			delete(between, name)
			delete(nested, name)
		}
		if _, there := old["metadata"]; !there {
			delete(between, "metadata") // an object that is emptied stays
		}
		once := load.Merge(old, ours(update))
		if after := load.Merge(load.Merge(old, ours(between)), ours(update)); !reflect.DeepEqual(once, after) {
			t.Fatalf("once %v, with another between %v", once, after)
		}
	})
}

func TestFieldReadsBothLayouts(t *testing.T) {
	payload := m{
		"type": "flat", "kind": nil, "session_id": nil, "ref": 3,
		"metadata": m{"type": "nested", "kind": "no metadata", "session_id": "s1", "detail": "d"},
	}
	for name, want := range map[string]string{"type": "flat", "kind": "", "session_id": "s1", "detail": "d", "ref": "", "none": ""} {
		if got := load.String(payload, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	row := load.PointRow("id", payload)
	if len(row) != load.PointSchema().NumFields() || row[0] != "id" || row[4] != "flat" || row[5] != "s1" {
		t.Errorf("row %q", row)
	}
}

package load_test

import (
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

func TestMerge(t *testing.T) {
	type m = map[string]any
	for name, c := range map[string]struct{ old, update, want m }{
		"an insert": {nil, m{"kind": "memory", "x": 1}, m{"kind": "memory", "x": 1}},
		"ours go, theirs stay": {
			m{"kind": "memory", "title": "old", "subject": "old", "likes": 3, "sql": "theirs in a Memory"},
			m{"kind": "memory", "subject": "new"},
			m{"kind": "memory", "subject": "new", "likes": 3, "sql": "theirs in a Memory"},
		},
		"names of the other kind": {
			m{"kind": "solved_question", "sql": "old", "ts": "theirs in a pair", "detail": "theirs too"},
			m{"kind": "solved_question", "sql": "new"},
			m{"kind": "solved_question", "sql": "new", "ts": "theirs in a pair", "detail": "theirs too"},
		},
		"flat to nested": {
			m{"kind": "memory", "subject": "old", "detail": "old"},
			m{"kind": "memory", "metadata": m{"subject": "new"}},
			m{"kind": "memory", "metadata": m{"subject": "new"}},
		},
		"nested to flat": {
			m{"kind": "memory", "metadata": m{"subject": "old", "detail": "old"}},
			m{"kind": "memory", "subject": "new"},
			m{"kind": "memory", "subject": "new"},
		},
		"theirs inside metadata": {
			m{"kind": "memory", "metadata": m{"subject": "old", "seen": true}},
			m{"kind": "memory", "metadata": m{"subject": "new"}},
			m{"kind": "memory", "metadata": m{"subject": "new", "seen": true}},
		},
		"metadata that is no object": {
			m{"kind": "memory", "metadata": "theirs"},
			m{"kind": "memory", "subject": "new"},
			m{"kind": "memory", "subject": "new", "metadata": "theirs"},
		},
	} {
		old, update := maps.Clone(c.old), maps.Clone(c.update)
		if got := load.Merge(c.old, c.update); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if !reflect.DeepEqual(old, c.old) || !reflect.DeepEqual(update, c.update) {
			t.Errorf("%s: an argument changed", name)
		}
	}
}

// Merging twice is merging once, whatever was there, and what was there last
// of ours does not matter.
func TestMergeIsIdempotent(t *testing.T) {
	foreign := []string{"likes", "sql", "note"}
	inside := append(record.OwnedMetadata(record.KindMemory), foreign...)
	number := rapid.Map(rapid.Int(), func(n int) any { return n })
	metadata := rapid.MapOf(rapid.SampledFrom(inside), number)
	fields := rapid.MapOf(rapid.SampledFrom(append(record.OwnedFields(), inside...)), number)
	payload := rapid.Custom(func(t *rapid.T) map[string]any {
		p := fields.Draw(t, "fields")
		if rapid.Bool().Draw(t, "nested") {
			p["metadata"] = metadata.Draw(t, "metadata")
		}
		p["kind"] = record.KindMemory
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		old, between, update := payload.Draw(t, "old"), payload.Draw(t, "between"), payload.Draw(t, "update")
		once := load.Merge(old, update)
		if twice := load.Merge(once, update); !reflect.DeepEqual(once, twice) {
			t.Fatalf("once %v, twice %v", once, twice)
		}
		nested, _ := between["metadata"].(map[string]any)
		for _, name := range foreign {
			delete(between, name)
			delete(nested, name)
		}
		if after := load.Merge(load.Merge(old, between), update); !reflect.DeepEqual(once, after) {
			t.Fatalf("once %v, with another between %v", once, after)
		}
	})
}

func TestFieldReadsBothLayouts(t *testing.T) {
	payload := map[string]any{
		"type": "flat", "kind": nil, "session_id": nil, "ref": 3,
		"metadata": map[string]any{"type": "nested", "kind": "no metadata", "session_id": "s1", "detail": "d"},
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

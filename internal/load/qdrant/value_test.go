package qdrant

import (
	"reflect"
	"strings"
	"testing"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// jsonValues draws what load.Check accepts, and what a payload gives back for it.
func jsonValues(depth int) *rapid.Generator[[2]any] {
	same := func(v any) [2]any { return [2]any{v, v} }
	leaves := []*rapid.Generator[[2]any]{
		rapid.Map(rapid.String(), func(v string) [2]any { return same(v) }),
		rapid.Map(rapid.Bool(), func(v bool) [2]any { return same(v) }),
		rapid.Map(rapid.Int64(), func(v int64) [2]any { return same(v) }),
		rapid.Map(rapid.Int(), func(v int) [2]any { return [2]any{v, int64(v)} }),
		rapid.Map(rapid.Float64(), func(v float64) [2]any { return same(v) }),
		rapid.Map(rapid.SliceOfN(rapid.String(), 0, 4), func(v []string) [2]any {
			back := make([]any, len(v))
			for i, text := range v {
				back[i] = text
			}
			return [2]any{v, back}
		}),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := jsonValues(depth - 1)
	list := rapid.Map(rapid.SliceOfN(inner, 0, 4), func(items [][2]any) [2]any {
		in, back := make([]any, len(items)), make([]any, len(items))
		for i, item := range items {
			in[i], back[i] = item[0], item[1]
		}
		return [2]any{in, back}
	})
	object := rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, 4), func(fields map[string][2]any) [2]any {
		in, back := make(map[string]any, len(fields)), make(map[string]any, len(fields))
		for name, field := range fields {
			in[name], back[name] = field[0], field[1]
		}
		return [2]any{in, back}
	})
	return rapid.OneOf(append(leaves, list, object)...)
}

// A value goes over the wire and comes back as it was, and is never larger there
// than it was taken for.
func TestValuesComeBack(t *testing.T) {
	values := jsonValues(3)
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		wire, err := proto.Marshal(toValue(v[0]))
		if err != nil {
			t.Fatal(err)
		}
		if len(wire) > sizeOf(v[0]) {
			t.Fatalf("%d bytes, taken for %d", len(wire), sizeOf(v[0]))
		}
		var back qdrant.Value
		if err := proto.Unmarshal(wire, &back); err != nil {
			t.Fatal(err)
		}
		if got := fromValue(&back); !reflect.DeepEqual(got, v[1]) {
			t.Fatalf("%#v came back as %#v", v[0], got)
		}
	})
}

// An id that is taken is told by a server as it was written.
func FuzzPointID(f *testing.F) {
	for _, text := range []string{"", "0", "007", "18446744073709551615", "18446744073709551616", "-1", "\xff",
		"ce6ab6d8-99f1-5c0c-a0a9-db26307301de", "CE6AB6D8-99F1-5C0C-A0A9-DB26307301DE", "{ce6ab6d8-99f1-5c0c-a0a9-db26307301de}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, ok := pointID(text); ok && (idText(id) != text || strings.ToLower(text) != text) {
			t.Fatalf("%q is told as %q", text, idText(id))
		}
	})
}

// What a server says of its version is foreign text.
func FuzzVersion(f *testing.F) {
	for _, text := range []string{"1.17.0", "v1.11", "1", "", "99999999999999999999.1", "1.x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if old(text) && !strings.Contains(text, ".") {
			t.Fatalf("%q is no version, and an old one", text)
		}
	})
}

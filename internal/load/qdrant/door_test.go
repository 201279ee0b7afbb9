package qdrant_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

// A list of types is no type: a server finds a value in it, but such a point is not
// shown, nor does it take the place of one that is.
func TestListOfTypesIsNoType(t *testing.T) {
	server, s := prepared(t, nil)
	if err := s.Write(t.Context(), memories(0, 3)); err != nil {
		t.Fatal(err)
	}
	for i, types := range []map[string]any{
		{"type": []any{record.ReusableType}},
		{"type": []any{record.ReusableType, "table_promoted"}},
		{"metadata": map[string]any{"type": []any{record.ReusableType}}},
		{"type": "table_promoted", "kind": []any{record.KindMemory, record.KindSolved}},
		{"type": record.ReusableType, "metadata": map[string]any{"type": []any{record.ReusableType, "table_excluded"}}},
	} {
		for n := range 20 { // more than one page of them, ahead of ours
			types["record_key"] = fmt.Sprint("memory:a", i, n)
			if types["kind"] == nil {
				types["kind"] = record.KindMemory
			}
			if err := server.Plant("c", fmt.Sprint(100*i+n), []float32{1, 0, 0, 1}, types); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kind := range []string{"", record.KindMemory} {
		var keys []string
		for offset := range 4 {
			hits, err := s.Search(t.Context(), load.Query{Vector: []float32{1, 0, 0, 1}, Kind: kind, Limit: 1, Offset: offset})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				keys = append(keys, h.Key)
			}
		}
		if want := []string{"memory:mem-0000", "memory:mem-0001", "memory:mem-0002"}; !slices.Equal(keys, want) {
			t.Errorf("kind %q: found %q, want %q", kind, keys, want)
		}
	}
}

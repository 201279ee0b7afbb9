package record_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/record"
)

// The list of owned names is what an update removes before it writes: a name
// that a builder writes and the list lacks would never be cleaned up.
func TestOwnedNamesAreThoseThatABuilderWrites(t *testing.T) {
	template, err := record.ParseTemplate(record.DefaultTemplate())
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []record.Layout{record.Flat, record.Nested} {
		b := record.Builder{Workspace: "w", Layout: layout, Template: template}
		memory, err := b.Memory(record.Memory{ID: "mem-0001", Type: record.ReusableType, Subject: "s"})
		if err != nil {
			t.Fatal(err)
		}
		solved, err := b.Solved(record.Solved{SessionID: "s1", Question: "q", SQL: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []record.Record{memory, solved} {
			want := append(record.OwnedFields(), record.OwnedMetadata(r.Kind)...)
			payload := r.Payload("space", "run", time.Unix(0, 0))
			if layout == record.Nested {
				metadata, _ := payload["metadata"].(map[string]any)
				delete(payload, "metadata")
				maps.Copy(payload, metadata)
			}
			got := slices.Sorted(maps.Keys(payload))
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s %s: payload has %q, owned are %q", layout, r.Kind, got, want)
			}
		}
	}
}

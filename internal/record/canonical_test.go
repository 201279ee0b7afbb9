package record

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The short way must give, byte for byte, what encoding/json gives.
func TestAppendCanonicalEqualsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u2028", "a\"b", "\\", "\x00", "è", "<&>", "\xff", "\x7f", "\u2029x"}))
		tables := rapid.SliceOf(text).Draw(t, "tables")
		if tables == nil {
			tables = []string{}
		}
		payload := []Field{
			{"a", text.Draw(t, "a")}, {"metadata", []Field{{"x", text.Draw(t, "x")}, {"z", rapid.Int64().Draw(t, "z")}}},
			{"none", nil}, {"tables", tables},
		}
		want, err := Canonical(object(payload))
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendCanonical(nil, payload)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%s\n%s\n%v", got, want, err)
		}
	})
}

// The canonical form relies on the order in which a record lists its fields.
func TestOwnedFieldsAreInOrder(t *testing.T) {
	template, err := ParseTemplate(DefaultTemplate())
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []Layout{Flat, Nested} {
		b := Builder{Workspace: "w", Layout: layout, Template: template}
		memory, err := b.Memory(Memory{ID: "mem-1", Type: ReusableType, Subject: "s"})
		if err != nil {
			t.Fatal(err)
		}
		solved, err := b.Solved(Solved{SessionID: "a", Question: "q", SQL: "s"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []Record{memory, solved} {
			byName := func(a, b Field) int { return strings.Compare(a.Name, b.Name) }
			if !slices.IsSortedFunc(r.owned(), byName) || !slices.IsSortedFunc(r.Metadata, byName) {
				t.Errorf("%s, %s: %v", r.Key, layout, r.owned())
			}
		}
	}
}

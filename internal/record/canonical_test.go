package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Where both have the same opinion of what need not be escaped, the result is,
// byte for byte, encoding/json's.
func TestCanonicalIsWhatAnyLibraryWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u2028", "a\"b", "\\", "\x00", "è", "<&>", "\xff", "\x7f", "\u2029x", "\b\f\n\r\t\x1f"}))
		tables := rapid.SliceOf(text).Draw(t, "tables")
		if tables == nil {
			tables = []string{}
		}
		payload := []Field{
			{"a", text.Draw(t, "a")}, {"metadata", []Field{{"x", text.Draw(t, "x")}, {"z", rapid.Int64().Draw(t, "z")}}},
			{"none", nil}, {"tables", tables},
		}
		var buffer bytes.Buffer
		enc := json.NewEncoder(&buffer)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(object(payload)); err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(buffer.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got, err := appendCanonical(nil, payload)
		if err != nil {
			t.Fatal(err)
		}
		var meant any
		if err := json.Unmarshal(got, &meant); err != nil || !reflect.DeepEqual(meant, want) {
			t.Fatalf("%s means %v, want %v, %v", got, meant, want, err)
		}
		whole := strings.TrimSuffix(buffer.String(), "\n")
		if !strings.Contains(whole, `\u202`) && !strings.Contains(whole, `\ufffd`) && string(got) != whole {
			t.Fatalf("%s\n%s", got, whole)
		}
	})
}

// As Python's json.dumps(…, sort_keys=True, separators=(",", ":"), ensure_ascii=False) has it.
func TestCanonicalBytes(t *testing.T) {
	got, err := appendCanonical(nil, []Field{{"a", []string{"<&>", "\u2028\u2029", "\x7f\x1f\b\"\\/", "é", "\xff"}}, {"b", int64(1)}, {"c", nil}})
	want := `{"a":["<&>","` + "\u2028\u2029" + `","` + "\x7f" + `\u001f\b\"\\/","é","` + "\ufffd" + `"],"b":1,"c":null}`
	if err != nil || string(got) != want {
		t.Errorf("%s\n%s\n%v", got, want, err)
	}
	if _, err := appendCanonical(nil, 1.5); err == nil {
		t.Error("a float has a canonical form")
	}
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

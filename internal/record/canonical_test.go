package record

import (
	"testing"

	"pgregory.net/rapid"
)

// The short way must give, byte for byte, what encoding/json gives.
func TestAppendCanonicalEqualsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u2028", "a\"b", "\\", "\x00", "è", "<&>", "\xff", "\x7f", "\u2029x"}))
		payload := map[string]any{
			"a": text.Draw(t, "a"), "tables": rapid.SliceOf(text).Draw(t, "tables"), "n": rapid.Int64().Draw(t, "n"),
			"none": nil, "metadata": map[string]any{"z": text.Draw(t, "z"), text.Draw(t, "key"): "x"},
		}
		if payload["tables"] == nil {
			payload["tables"] = []string{}
		}
		want, err := Canonical(payload)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendCanonical(nil, payload)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%s\n%s\n%v", got, want, err)
		}
	})
}

package embed_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/embed"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	vectors := [][]float32{{1, 0}, nil, {1}, {0, 0}, {nan, 1}, {1, inf}, {1e-30, 0}, {0, -1}, {}}
	got, err := embed.Check(vectors, 2, len(vectors))
	want := []embed.ItemError{
		{Index: 1, Reason: embed.ReasonMissing},
		{Index: 2, Reason: embed.ReasonDimension},
		{Index: 3, Reason: embed.ReasonZero, Permanent: true},
		{Index: 4, Reason: embed.ReasonNotFinite, Permanent: true},
		{Index: 5, Reason: embed.ReasonNotFinite, Permanent: true},
		{Index: 6, Reason: embed.ReasonZero, Permanent: true},
		{Index: 8, Reason: embed.ReasonDimension},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	for _, n := range []int{0, 8, 10} {
		if items, err := embed.Check(vectors, 2, n); err == nil || items != nil {
			t.Errorf("%d vectors pass for %d texts", len(vectors), n)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	batch := &embed.BatchError{Items: []embed.ItemError{{Index: 3, Reason: embed.ReasonNothing, Permanent: true}}}
	wrapped := fmt.Errorf("embed a batch: %w", batch)
	if items := embed.Refused(wrapped); !slices.Equal(items, batch.Items) {
		t.Errorf("%v", items)
	}
	if embed.Refused(nil) != nil || embed.Refused(fmt.Errorf("down")) != nil {
		t.Error("refusals out of nothing")
	}
	if !strings.Contains(wrapped.Error(), "1 texts refused, the first at 3: no letter or digit") {
		t.Error(wrapped)
	}
}

func TestSpaceText(t *testing.T) {
	t.Parallel()
	s := embed.Space{
		Provider: "openai", Model: "BAAI/bge-m3;v=1%", Dimensions: 768,
		Normalisation: "l2", Truncation: "server", Prefix: "title: none | text: ",
	}
	const want = "openai/BAAI/bge-m3%3Bv=1%25;dim=768;norm=l2;trunc=server;prefix=title:%20none%20%7C%20text:%20"
	if s.String() != want {
		t.Error(s.String())
	}
	if !embed.Costly(want) {
		t.Error("a server's vectors cost something")
	}
	for _, bad := range []string{
		"", "lexical", "lexical;dim=1;norm=l2;trunc=none;prefix=", "lexical/1;dim=x;norm=l2;trunc=none;prefix=",
		"lexical/1;dim=01;norm=l2;trunc=none;prefix=", "lexical/1;norm=l2;dim=1;trunc=none;prefix=",
		"lexical/1;dim=1;norm=l2;trunc=none;prefix=;more=", "lexical/1;dim=1;norm=l2;trunc=none;prefix=%zz",
		"lexical/1;dim=1;norm=l2;trunc=none;prefix= ",
	} {
		if s, err := embed.ParseSpace(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, s)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String()
		s := embed.Space{
			Provider: text.Draw(rt, "provider"), Model: text.Draw(rt, "model"), Dimensions: rapid.Int().Draw(rt, "dimensions"),
			Normalisation: text.Draw(rt, "normalisation"), Truncation: text.Draw(rt, "truncation"), Prefix: text.Draw(rt, "prefix"),
		}
		got, err := embed.ParseSpace(s.String())
		if err != nil || got != s {
			rt.Fatalf("%q is read as %+v, %v", s.String(), got, err)
		}
	})
}

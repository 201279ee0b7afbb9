package loadtest

import (
	"math"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

func refusalCases() []testCase {
	return []testCase{
		{"refusals leave nothing", refusals},
		{"every refusal is named", refusalsNamed},
		{"only a reusable type may be Memory", refusedTypes},
		{"what is held may refuse", refusedByHeld},
		{"small and large vectors are taken", extremeVectors},
	}
}

func refusals(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0))
	before := b.content()
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	nul := memory(5, 1, 0, 0, 0)
	nul.PointID = ""
	noKey := memory(6, 1, 0, 0, 0)
	noKey.Key = ""
	differs := memory(7, 1, 0, 0, 0)
	differs.Key = "memory:mem-0008"
	badID := memory(9, 1, 0, 0, 0)
	badID.PointID = "\xff"
	for _, c := range []struct {
		write  load.Write
		reason string
	}{
		{memory(2, 1, 0, 0), load.ReasonDimension},
		{load.Write{PointID: "x", Key: "k", Vector: []float32{}, Payload: map[string]any{"record_key": "k", "kind": "solved_question"}}, load.ReasonDimension},
		{memory(2, 1, nan, 0, 0), load.ReasonNotFinite},
		{memory(2, 1, inf, 0, 0), load.ReasonNotFinite},
		{memory(2, 0, 0, 0, 0), load.ReasonZero},
		{memory(2, 1e-30, 0, 0, 0), load.ReasonZero},
		{memory(2, 3e38, 3e38, 0, 0), load.ReasonNorm},
		{memory(2), load.ReasonNoVector},
		{nul, load.ReasonNoPointID},
		{noKey, load.ReasonNoKey},
		{differs, load.ReasonKeyDiffers},
		{badID, load.ReasonEncoding},
		{with(memory(2, 1, 0, 0, 0), map[string]any{"subject": "a\xffb"}), load.ReasonEncoding},
		{with(memory(2, 1, 0, 0, 0), map[string]any{"tables": []string{"a\xff"}}), load.ReasonEncoding},
		{with(memory(2, 1, 0, 0, 0), map[string]any{"\xff": "a"}), load.ReasonEncoding},
		{with(memory(2, 1, 0, 0, 0), map[string]any{"x": map[string]any{"y": []any{"\xff"}}}), load.ReasonEncoding},
		{with(memory(2, 1, 0, 0, 0), map[string]any{"x": math.NaN()}), load.ReasonValue},
		{with(memory(2, 1, 0, 0, 0), map[string]any{"x": make(chan int)}), load.ReasonValue},
		{with(memory(2, 1, 0, 0, 0), map[string]any{"kind": "schema_table"}), load.ReasonKind},
	} {
		// A good write before and one after, and an update of what is held.
		err := b.Write(b.Context(), []load.Write{memory(3, 1, 1, 0, 0), c.write, memory(4, 1, 1, 0, 0), memory(1, 0, 1, 0, 0)})
		b.step(c.reason, func() {
			b.wantRefused(err, load.ItemError{Key: c.write.Key, Reason: c.reason})
			b.wantContent(before)
		})
	}
}

func refusalsNamed(b *trial) {
	b.prepare()
	err := b.Write(b.Context(), []load.Write{
		memory(1, 0, 0, 0, 0), memory(2, 1, 0, 0, 0), memory(2, 0, 1, 0, 0), memory(3, 1),
	})
	b.wantRefused(err,
		load.ItemError{Key: "memory:mem-0001", Reason: load.ReasonZero},
		load.ItemError{Key: "memory:mem-0002", Reason: load.ReasonRepeated},
		load.ItemError{Key: "memory:mem-0003", Reason: load.ReasonDimension})
	err = b.Write(b.Context(), []load.Write{memory(1), memory(2, 1, 0, 0, 0), memory(3)})
	b.wantRefused(err,
		load.ItemError{Key: "memory:mem-0001", Reason: load.ReasonNoVector},
		load.ItemError{Key: "memory:mem-0003", Reason: load.ReasonNoVector})
	if n := len(b.scan()); n != 0 {
		b.Fatalf("%d points were written", n)
	}
}

func refusedTypes(b *trial) {
	b.prepare()
	both := nested(memory(1, 1, 0, 0, 0))
	both = with(both, map[string]any{"type": "table_promoted"})
	for _, w := range []load.Write{
		with(memory(1, 1, 0, 0, 0), map[string]any{"type": "table_promoted"}),
		nested(with(memory(1, 1, 0, 0, 0), map[string]any{"type": "table_promoted"})),
		with(memory(1, 1, 0, 0, 0), map[string]any{"type": ""}),
		with(memory(1, 1, 0, 0, 0), map[string]any{"type": nil}),
		with(memory(1, 1, 0, 0, 0), map[string]any{"type": 7}),
		both,
	} {
		b.wantRefused(b.Write(b.Context(), []load.Write{w}), load.ItemError{Key: w.Key, Reason: load.ReasonType})
	}
	if n := len(b.scan()); n != 0 {
		b.Fatalf("%d points were written", n)
	}
}

func refusedByHeld(b *trial) {
	b.prepare()
	w := memory(1, 1, 0, 0, 0)
	b.write(w, memory(2, 0, 1, 0, 0))
	before := b.content()
	stranger := with(memory(1, 0, 1, 0, 0), map[string]any{"workspace": "v"})
	impostor := memory(2, 0, 0, 1, 0)
	impostor.PointID = w.PointID
	b.wantRefused(b.Write(b.Context(), []load.Write{stranger}), load.ItemError{Key: w.Key, Reason: load.ReasonOtherWorkspace})
	b.wantRefused(b.Write(b.Context(), []load.Write{impostor}), load.ItemError{Key: impostor.Key, Reason: load.ReasonOtherRecord})
	b.wantContent(before)
	// A kind that is not ours under our id and key, and a pair under a Memory's.
	for _, kind := range []string{"evidence", record.KindSolved} {
		held := with(memory(3, 1, 0, 0, 0), map[string]any{"kind": kind})
		b.plant(held.PointID, held.Vector, held.Payload)
		b.wantRefused(b.Write(b.Context(), []load.Write{memory(3, 0, 1, 0, 0)}), load.ItemError{Key: held.Key, Reason: load.ReasonOtherRecord})
	}
}

// extremeVectors are those whose length is near the ends of float32: they are
// taken, and neither overflow nor vanish in a search.
func extremeVectors(b *trial) {
	b.prepare()
	b.write(memory(1, 1.8e19, 0, 0, 0), memory(2, 0, 1.2e-19, 0, 0), memory(3, 1.2e19, 1.2e19, 0, 0))
	for _, scale := range []float32{1.2e-19, 1, 1.8e19} {
		b.wantKeys(b.search(load.Query{Vector: []float32{scale, 0, 0, 0}, Limit: 2}), "memory:mem-0001", "memory:mem-0003")
		hits := b.search(load.Query{Vector: []float32{0, scale, 0, 0}, Limit: 2})
		b.wantKeys(hits, "memory:mem-0002", "memory:mem-0003")
		if hits[0].Score < 0.99999 || math.Abs(hits[1].Score-math.Sqrt2/2) > 1e-5 {
			b.Errorf("scores %v and %v", hits[0].Score, hits[1].Score)
		}
	}
}

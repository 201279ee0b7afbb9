package loadtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

func writeCases() []testCase {
	return []testCase{
		{"a payload alone keeps the vector", payloadOnly},
		{"a vector is replaced", vectorReplaced},
		{"inserts, vectors and payloads in one batch", mixedBatch},
		{"fields of another writer are kept", foreignFields},
		{"a point under another id is updated in place", otherPointID},
		{"the layout of another writer's point stays", otherLayout},
		{"strings arrive as they are", texts},
		{"a big batch", bigBatch},
		{"an ended context writes nothing", endedContext},
		{"applying twice is applying once", applyTwice},
	}
}

func payloadOnly(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 2, 3, 4), memory(2, 4, 3, 2, 1))
	query := load.Query{Vector: []float32{1, 2, 3, 4}, Limit: 1}
	update := with(memory(1), map[string]any{"content_hash": "new", "embed_space": "adopted"})
	b.write(update)
	hits := b.search(query)
	if hits[0].Key != update.Key || hits[0].Score < 0.99999 {
		b.Fatalf("the vector did not stay: %s scores %v", hits[0].Key, hits[0].Score)
	}
	if p := b.lookup(update.Key)[0]; p.ContentHash != "new" || p.EmbedSpace != "adopted" {
		b.Fatalf("the payload did not change: %+v", p)
	}
	if len(b.scan()) != 2 {
		b.Fatalf("%d points, want 2", len(b.scan()))
	}
}

func vectorReplaced(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0), memory(2, 1, 1, 0, 0))
	b.write(memory(1, 0, 0, 0, 3))
	b.wantKeys(b.search(load.Query{Vector: direction(3)}), "memory:mem-0001", "memory:mem-0002")
	if s := b.search(load.Query{Vector: direction(3)})[0].Score; s < 0.99999 {
		b.Fatalf("the new vector scores %v", s)
	}
	if len(b.scan()) != 2 {
		b.Fatalf("%d points, want 2", len(b.scan()))
	}
}

func mixedBatch(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0), memory(2, 0, 1, 0, 0), memory(3, 0, 0, 1, 0))
	b.write(
		with(memory(1), map[string]any{"subject": "payload only"}),
		with(memory(2, 0, 0, 0, 1), map[string]any{"subject": "both"}),
		memory(4, 0, 1, 0, 0),
	)
	for axis, want := range []string{"memory:mem-0001", "memory:mem-0004", "memory:mem-0003", "memory:mem-0002"} {
		b.wantKeys(b.search(load.Query{Vector: direction(axis), Limit: 1}), want)
	}
	for key, subject := range map[string]string{"memory:mem-0001": "payload only", "memory:mem-0002": "both"} {
		b.wantKeys(b.search(load.Query{Vector: direction(0), Filter: map[string]string{"subject": subject}}), key)
	}
}

func foreignFields(b *trial) {
	b.prepare()
	w := memory(1, 1, 0, 0, 0)
	foreign := map[string]any{
		"likes": int64(3), "score": 0.25, "flags": []any{"a", int64(1), nil, true}, "note": nil,
		"sql":   "another writer's, since a Memory has none",
		"deep":  map[string]any{"a": map[string]any{"b": []any{}}},
		"title": "ours, and gone", "rationale": "ours, and gone",
		"metadata": map[string]any{"seen_by": "assistant", "type": record.ReusableType, "concepts": []any{"ours"}},
	}
	b.plant(w.PointID, w.Vector, with(w, foreign).Payload)
	kept := func(want map[string]any) map[string]any {
		want = maps.Clone(want)
		for _, name := range []string{"likes", "score", "flags", "note", "sql", "deep"} {
			want[name] = foreign[name]
		}
		metadata := map[string]any{"seen_by": "assistant"}
		if own, ok := want["metadata"].(map[string]any); ok {
			maps.Copy(metadata, own)
		}
		want["metadata"] = metadata
		want["tables"] = []any{"dim_a", "dim_1"}
		if _, flat := want["subject"]; !flat {
			delete(want, "tables")
			metadata["tables"] = []any{"dim_a", "dim_1"}
		}
		return want
	}
	payload := memory(1)
	b.write(payload)
	b.wantPayload(w.PointID, kept(payload.Payload))
	b.write(nested(memory(1, 0, 1, 0, 0)))
	b.wantPayload(w.PointID, kept(nested(payload).Payload))
	b.write(memory(1, 0, 1, 0, 0))
	b.wantPayload(w.PointID, kept(payload.Payload))
}

// otherLayout updates a point that another writer made under an id of its own
// and goes on reading: its layout stays, with the new values.
func otherLayout(b *trial) {
	b.prepare()
	for n, layouts := range [][2]func(load.Write) load.Write{{nested, flat}, {flat, nested}, {nested, nested}, {flat, flat}} {
		held, w := memory(n, 1, 0, 0, float32(n)), memory(n)
		held.PointID, w.PointID = otherID(held.Key), otherID(held.Key)
		held = layouts[0](with(held, map[string]any{"subject": "old", "detail": "old"}))
		held.Payload["likes"] = int64(3)
		b.plant(held.PointID, held.Vector, held.Payload)
		w = layouts[1](with(w, map[string]any{"subject": "new"}))
		b.write(w)
		want := load.Merge(held.Payload, w)
		hits := b.search(load.Query{Vector: []float32{1, 0, 0, float32(n)}, Filter: map[string]string{"record_key": w.Key}})
		got, err := load.JSON(withoutNulls(hits[0].Payload))
		b.must(err)
		wantText, err := load.JSON(withoutNulls(want))
		b.must(err)
		if string(got) != string(wantText) || hits[0].PointID != w.PointID {
			b.Errorf("case %d: payload is\n%s\nwant\n%s", n, got, wantText)
		}
	}
}

func flat(w load.Write) load.Write { return w }

func otherPointID(b *trial) {
	b.prepare()
	w := memory(1, 1, 0, 0, 0)
	w.PointID = otherID(w.Key)
	theirs := nested(w).Payload
	delete(theirs, "embed_space")
	delete(theirs, "workspace")
	b.plant(w.PointID, w.Vector, theirs)
	if p := b.lookup(w.Key); len(p) != 1 || p[0].ID != w.PointID || p[0].EmbedSpace != "" || p[0].Workspace != "" {
		b.Fatalf("lookup gives %+v", p)
	}
	b.write(w)
	p := b.lookup(w.Key)
	if len(p) != 1 || p[0].ID != w.PointID || p[0].EmbedSpace != "test/4" || p[0].Workspace != "w" {
		b.Fatalf("after the update lookup gives %+v", p)
	}
	if len(b.scan()) != 1 {
		b.Fatalf("%d points, want 1", len(b.scan()))
	}
}

func texts(b *trial) {
	b.prepare()
	for i, text := range []string{
		"perché? città, l’età", "日本語 العربية", "👩‍👩‍👧 e\u0301", "tab\tline\nreturn\r", `"quoted" \back/ 'single' $1 {dimensions} %s`,
		"\u0001\u007f\u0085\u2028\u2029\ufeff", "<b>&amp;</b>", " ", strings.Repeat("lungo ", 200_000), "null", "\ufffd",
	} {
		w := with(memory(i, 1, float32(i), 0, 0), map[string]any{
			"subject": text, "tables": []string{text}, "ref": text, "foreign": map[string]any{text: text},
		})
		b.write(w)
		hits := b.search(load.Query{Vector: w.Vector, Limit: 1, Filter: map[string]string{"tables": text}})
		b.wantKeys(hits, w.Key)
		got := hits[0].Payload
		deep, _ := got["foreign"].(map[string]any)
		if got["subject"] != text || hits[0].Ref != text || deep[text] != text || b.scan()[w.PointID][3] != text {
			b.Errorf("text %d changed", i)
		}
	}
}

func bigBatch(b *trial) {
	b.prepare()
	writes := make([]load.Write, 5000)
	for n := range writes {
		writes[n] = memory(n, 1, float32(n), float32(n%7), 1)
	}
	b.write(writes...)
	b.write(writes[:3000]...)
	info, err := b.Info(b.Context())
	b.must(err)
	if info.Points != 5000 || len(b.scan()) != 5000 {
		b.Fatalf("%d points counted, %d scanned, want 5000", info.Points, len(b.scan()))
	}
	var keys []string
	for _, w := range writes {
		keys = append(keys, w.Key)
	}
	if points := b.lookup(keys...); len(points) != 5000 || points[4999].Key != "memory:mem-4999" {
		b.Fatalf("%d points looked up", len(points))
	}
}

func endedContext(b *trial) {
	b.prepare()
	b.write(memory(1, 1, 0, 0, 0))
	before := b.content()
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	for name, err := range map[string]error{
		"write":   b.Write(ctx, []load.Write{memory(1, 0, 1, 0, 0), memory(2, 0, 1, 0, 0)}),
		"prepare": b.Prepare(ctx, dims),
	} {
		if !errors.Is(err, context.Canceled) {
			b.Errorf("%s: %v, want the end of the context", name, err)
		}
	}
	b.wantContent(before)
}

// applyTwice writes random batches, each once or more, and wants what a store
// that saw each once would hold.
func applyTwice(b *trial) {
	seed := uint64(time.Now().UnixNano())
	b.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	b.prepare()
	for range 20 {
		held := b.scan()
		var batch []load.Write
		for _, n := range random.Perm(12)[:1+random.IntN(11)] {
			w := memory(n)
			if _, there := held[w.PointID]; !there || random.IntN(2) == 0 {
				w.Vector = []float32{random.Float32() + 0.1, random.Float32(), -random.Float32(), random.Float32()}
			}
			w = with(w, map[string]any{"subject": fmt.Sprint(random.IntN(100)), "content_hash": fmt.Sprint(random.Uint32())})
			if random.IntN(2) == 0 {
				w = nested(w)
			}
			batch = append(batch, w)
		}
		b.write(batch...)
		once := b.content()
		random.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		b.write(batch...)
		b.wantContent(once)
		for _, w := range batch {
			if got := b.lookup(w.Key); len(got) != 1 || got[0].ContentHash != w.Payload["content_hash"] {
				b.Fatalf("%s is held as %+v", w.Key, got)
			}
		}
	}
}

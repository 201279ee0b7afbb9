//go:build duckdb_arrow

package embed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
)

// CachedEmbedder answers from a cache what it can and asks another embedder for
// the rest. It implements Embedder.
type CachedEmbedder struct {
	inner  Embedder
	cache  *Cache
	space  string
	prefix string

	hits, misses atomic.Int64
	broken       struct {
		sync.Mutex
		err error
	}
}

// Cached puts a cache before inner. The document prefix in inner's space is part
// of the text as sent, and so of the key; where the space is not in the form of
// Space.String the cache is left alone and Err says so. The caller closes the
// cache, after the last Embed.
func Cached(inner Embedder, cache *Cache) *CachedEmbedder {
	e := &CachedEmbedder{inner: inner, cache: cache, space: inner.Space()}
	space, err := ParseSpace(e.space)
	if err != nil {
		e.fail(fmt.Errorf("cache embeddings: %w", err))
	}
	e.prefix = space.Prefix
	return e
}

// Space is the inner embedder's.
func (e *CachedEmbedder) Space() string { return e.space }

// Dimensions is the inner embedder's.
func (e *CachedEmbedder) Dimensions() int { return e.inner.Dimensions() }

// Hits is how many documents had a vector without being sent to the inner
// embedder: from the cache, or because the batch holds the same text before.
func (e *CachedEmbedder) Hits() int64 { return e.hits.Load() }

// Misses is how many documents were sent to the inner embedder.
func (e *CachedEmbedder) Misses() int64 { return e.misses.Load() }

// Err is the first error of the cache after it was opened, nil without one; it
// names the file. From then on the cache is left alone and everything is sent to
// the inner embedder: a cache saves work, and its loss must not cost a run.
func (e *CachedEmbedder) Err() error {
	e.broken.Lock()
	defer e.broken.Unlock()
	return e.broken.err
}

func (e *CachedEmbedder) fail(err error) {
	e.broken.Lock()
	defer e.broken.Unlock()
	if e.broken.err == nil {
		e.broken.err = err
	}
}

// Embed looks documents up in one query, sends each distinct text that is not
// there to the inner embedder once, in one call, and writes what came back in
// one transaction. Refusals, and vectors that CheckVector would refuse, are
// passed on and not kept. Questions go straight to the inner embedder: they
// have a prefix of their own, seldom come twice, and are none of ours to keep.
func (e *CachedEmbedder) Embed(ctx context.Context, role Role, texts []string) ([][]float32, error) {
	if role != Document || len(texts) == 0 {
		return e.inner.Embed(ctx, role, texts)
	}
	hashes := make([]textHash, len(texts))
	for i, text := range texts {
		hashes[i] = sha256.Sum256([]byte(e.prefix + text))
	}
	known, used, err := e.recall(ctx, hashes)
	if err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	var missing batch
	for i, hash := range hashes {
		if v, ok := known[hash]; ok {
			vectors[i] = append([]float32(nil), v...)
			continue
		}
		missing.add(i, hash, texts[i])
	}
	answered, err := missing.embed(ctx, e.inner, vectors)
	if err != nil && answered == nil {
		return nil, err
	}
	e.misses.Add(int64(len(missing.texts)))
	e.hits.Add(int64(len(texts) - len(missing.texts)))
	e.remember(ctx, answered, used)
	return vectors, err
}

// recall is the usable vectors of the cache, and which of them must have their
// use noted. Only the end of ctx is an error.
func (e *CachedEmbedder) recall(ctx context.Context, hashes []textHash) (known map[textHash][]float32, used []textHash, err error) {
	if e.Err() != nil {
		return nil, nil, nil
	}
	found, err := e.cache.lookup(ctx, e.space, hashes)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		e.fail(err)
		return nil, nil, nil
	}
	known = make(map[textHash][]float32, len(found))
	now := e.cache.now()
	for hash, c := range found {
		if CheckVector(c.vector, e.inner.Dimensions()) != "" {
			continue
		}
		known[hash] = c.vector
		if now.Sub(c.lastUsed) >= usedWithin {
			used = append(used, hash)
		}
	}
	return known, used, nil
}

// remember writes what was paid for, even when ctx has ended meanwhile.
func (e *CachedEmbedder) remember(ctx context.Context, answered map[textHash][]float32, used []textHash) {
	if e.Err() != nil {
		return
	}
	for hash, v := range answered {
		if CheckVector(v, e.inner.Dimensions()) != "" {
			delete(answered, hash)
		}
	}
	if err := e.cache.store(context.WithoutCancel(ctx), e.space, answered, used); err != nil {
		e.fail(err)
	}
}

// batch is the distinct texts to send, and where their vectors go.
type batch struct {
	texts  []string
	hashes []textHash
	places [][]int // for each text, the indexes of the whole batch
	at     map[textHash]int
}

func (b *batch) add(place int, hash textHash, text string) {
	if b.at == nil {
		b.at = make(map[textHash]int)
	}
	k, ok := b.at[hash]
	if !ok {
		k = len(b.texts)
		b.at[hash] = k
		b.texts = append(b.texts, text)
		b.hashes = append(b.hashes, hash)
		b.places = append(b.places, nil)
	}
	b.places[k] = append(b.places[k], place)
}

// embed fills in vectors and returns them by hash as well, the refused ones
// left out. answered is nil when there is none because of err.
func (b *batch) embed(ctx context.Context, inner Embedder, vectors [][]float32) (answered map[textHash][]float32, err error) {
	answered = make(map[textHash][]float32, len(b.texts))
	if len(b.texts) == 0 {
		return answered, nil
	}
	got, err := inner.Embed(ctx, Document, b.texts)
	refused := Refused(err)
	if err != nil && refused == nil {
		return nil, err
	}
	if err := CheckCount(got, len(b.texts)); err != nil {
		return nil, err
	}
	for k, v := range got {
		if v == nil {
			continue
		}
		answered[b.hashes[k]] = v
		for n, place := range b.places[k] {
			if n > 0 {
				v = append([]float32(nil), v...)
			}
			vectors[place] = v
		}
	}
	if refused == nil {
		return answered, nil
	}
	return answered, &BatchError{Items: b.placed(refused, len(vectors))}
}

// placed turns refusals of texts that were sent into those of the whole batch,
// by ascending index.
func (b *batch) placed(refused []ItemError, size int) []ItemError {
	at := make([]*ItemError, size)
	for k := range refused {
		for _, place := range b.places[refused[k].Index] {
			at[place] = &refused[k]
		}
	}
	var items []ItemError
	for place, item := range at {
		if item != nil {
			items = append(items, ItemError{Index: place, Reason: item.Reason, Permanent: item.Permanent})
		}
	}
	return items
}

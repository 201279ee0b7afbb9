package jobs

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// applier carries out a plan: embed, check, write and wait, confirm, record. Its
// fields below the space are guarded by the run's mutex.
type applier struct {
	r        *recorded
	store    load.Store
	embedder embed.Embedder
	space    string
	refused  []state.Refusal     // new ones, which the next run withholds
	applied  []warehouse.Applied // of the chunk under way
	// down is why the embedder is not asked any more. Records that need no vector
	// are written all the same, and the others wait for the next run.
	down error
}

// item is one record on its way into the index.
type item struct {
	warehouse.Work
	vector []float32
}

// apply writes what the plan says. The index is prepared first: where it holds
// another dimension nothing is embedded and nothing written. With accept a model
// that changed behind its name is taken for the one to go on with.
func (r *recorded) apply(ctx context.Context, embedder embed.Embedder, b record.Builder, accept bool) (err error) {
	down, err := r.checkModel(ctx, embedder, accept)
	if err != nil {
		return err
	}
	chunks, err := r.db.Chunks(ctx)
	if err != nil || len(chunks) == 0 {
		if down != nil {
			r.env.Log.Warn("the embedder does not answer; nothing was to be embedded", "error", down)
			r.warn("model_unchecked")
		}
		return err
	}
	total := 0
	for _, c := range chunks {
		total += c.Count
	}
	store, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := r.prepare(ctx, store, embedder); err != nil {
		return err
	}
	cached, cache, err := r.withCache(ctx, embedder)
	if err != nil {
		return err
	}
	if cache != nil {
		defer func() { err = errors.Join(err, r.closeCache(cached, cache)) }()
	}
	a := &applier{r: r, store: store, embedder: cached, space: embedder.Space(), down: down}
	err = r.phase("load", int64(total), func(stage *report.Stage) error {
		for _, chunk := range chunks {
			if err := a.chunk(ctx, chunk, b, stage); err != nil {
				return err
			}
		}
		return nil
	})
	r.down = a.down
	return errors.Join(err, r.dir.AddRefusals(a.refused...))
}

// closeCache takes what came from the cache out of what was embedded. A cache
// that broke on the way has cost time and nothing else: it is only told.
func (r *recorded) closeCache(cached embed.Embedder, cache *embed.Cache) error {
	if counted, ok := cached.(*embed.CachedEmbedder); ok {
		r.run.CacheHits = int(counted.Hits())
		r.run.Embedded = max(0, r.run.Embedded-r.run.CacheHits)
		if err := counted.Err(); err != nil {
			r.env.Log.Warn("the embedding cache failed; texts were embedded again", "path", r.dir.Cache(), "error", err)
		}
	}
	return cache.Close()
}

func (r *recorded) prepare(ctx context.Context, store load.Store, embedder embed.Embedder) error {
	err := store.Prepare(ctx, embedder.Dimensions())
	var other *load.DimensionError
	if errors.As(err, &other) {
		return fault.New(fault.Usage, "dimension_differs", "path", r.place(), "held", other.Held, "wanted", other.Asked).Because(err)
	}
	return err
}

// chunk loads the records of one chunk in batches: some are embedded while
// others are written, each by as many workers as suit the embedder and the store.
func (a *applier) chunk(ctx context.Context, chunk warehouse.Chunk, b record.Builder, stage *report.Stage) error {
	work, err := a.r.db.Fetch(ctx, chunk, b)
	if err != nil {
		return err
	}
	for _, w := range work {
		if w.Record.ContentHash != w.ContentHash || w.Record.PayloadHash != w.PayloadHash {
			return fmt.Errorf("record %s is not what was planned", w.Record.Key)
		}
	}
	batches := make(chan []warehouse.Work)
	ready := make(chan []item)
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		for _, batch := range a.batches(work) {
			if err := send(gctx, batches, batch); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		defer close(ready)
		embedders, ectx := errgroup.WithContext(gctx)
		for range a.r.env.embedders() {
			embedders.Go(func() error {
				for batch := range batches {
					items, err := a.embed(ectx, batch)
					if err == nil {
						err = send(ectx, ready, items)
					}
					if err != nil {
						return err
					}
					stage.Add(int64(len(batch) - len(items)))
				}
				return nil
			})
		}
		return embedders.Wait()
	})
	for range a.r.env.writers() {
		group.Go(func() error {
			for items := range ready {
				if err := a.load(gctx, items); err != nil {
					return err
				}
				stage.Add(int64(len(items)))
			}
			return nil
		})
	}
	err = group.Wait()
	// What was confirmed is recorded whatever came after it.
	err = errors.Join(err, a.r.db.AddApplied(context.WithoutCancel(ctx), a.applied))
	a.applied = nil
	return err
}

// send hands v on, unless the work has ended meanwhile.
func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case to <- v:
		return nil
	}
}

func (a *applier) load(ctx context.Context, items []item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done, err := a.write(ctx, items)
	a.r.mu.Lock()
	defer a.r.mu.Unlock()
	a.applied = append(a.applied, done...)
	return err
}

// pointOverhead is about what a point takes in a message besides its texts and
// its vector: names of fields, hashes, ids.
const pointOverhead = 1200

// batches cuts by count and by bytes; a record that is too large for a batch
// has one of its own.
func (a *applier) batches(work []warehouse.Work) (out [][]warehouse.Work) {
	count, bytes := a.r.env.batchSize(), a.r.env.Settings.Index.BatchBytes
	from, size := 0, 0
	for i, w := range work {
		n := w.Record.Size() + pointOverhead
		if w.Embeds {
			n += 4 * a.embedder.Dimensions()
		}
		if i > from && (i-from >= count || size+n > bytes) {
			out = append(out, work[from:i])
			from, size = i, 0
		}
		size += n
	}
	if from < len(work) {
		out = append(out, work[from:])
	}
	return out
}

// fail reports one record that could not be indexed. A refusal that would be
// the same again is remembered with what it depends on.
func (r *recorded) fail(a *applier, w warehouse.Work, reason string, permanent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Failed++
	r.env.Log.Warn("not indexed", "key", w.Record.Key, "reason", reason)
	r.summary.Failures = append(r.summary.Failures, report.Failure{Key: w.Record.Key, Reason: reason})
	if permanent {
		a.refused = append(a.refused, state.Refusal{
			RecordKey: w.Record.Key, ContentHash: w.Record.ContentHash, TextHash: w.Record.TextHash,
			EmbedSpace: a.space, Reason: reason, At: r.env.Now().UTC(),
		})
	}
}

// count changes the numbers of the run; the workers of a batch do so at once.
func (r *recorded) count(change func(*state.Run)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.run)
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/plan"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// applier carries out a plan: embed, check, write and wait, confirm, record.
type applier struct {
	r        *recorded
	store    load.Store
	embedder embed.Embedder
	space    string
	refused  []state.Refusal // new ones, which the next run withholds
}

// item is one record on its way into the index.
type item struct {
	warehouse.Work
	vector []float32
}

// apply writes what the plan says. The index is prepared first: where it holds
// another dimension nothing is embedded and nothing written.
func (r *recorded) apply(ctx context.Context, embedder embed.Embedder, b record.Builder) (err error) {
	chunks, err := r.db.Chunks(ctx)
	if err != nil || len(chunks) == 0 {
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
	a := &applier{r: r, store: store, embedder: cached, space: embedder.Space()}
	err = r.phase("load", int64(total), func(stage *report.Stage) error {
		for _, chunk := range chunks {
			if err := a.chunk(ctx, chunk, b, stage); err != nil {
				return err
			}
		}
		return nil
	})
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
		return fault.New(fault.Usage, "dimension_differs", "path", r.dir.Index(), "held", other.Held, "wanted", other.Asked).Because(err)
	}
	return err
}

// chunk loads the records of one chunk in batches: embedded by as many workers
// as there are processors, written in order by one.
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
	batches := a.batches(work)
	ready := make([]chan []item, len(batches))
	for i := range ready {
		ready[i] = make(chan []item, 1)
	}
	group, gctx := errgroup.WithContext(ctx)
	next := make(chan int, len(batches))
	for i := range batches {
		next <- i
	}
	close(next)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for i := range next {
				items, err := a.embed(gctx, batches[i])
				if err != nil {
					return err
				}
				ready[i] <- items
			}
			return nil
		})
	}
	var applied []warehouse.Applied
	group.Go(func() error {
		for i := range ready {
			var items []item
			select {
			case <-gctx.Done():
				return gctx.Err()
			case items = <-ready[i]:
			}
			done, err := a.write(gctx, items)
			if err != nil {
				return err
			}
			applied = append(applied, done...)
			stage.Add(int64(len(batches[i])))
		}
		return nil
	})
	err = group.Wait()
	// What was confirmed is recorded whatever came after it.
	return errors.Join(err, a.r.db.AddApplied(context.WithoutCancel(ctx), applied))
}

// batches cuts by count and by bytes; a record that is too large for a batch
// has one of its own.
func (a *applier) batches(work []warehouse.Work) (out [][]warehouse.Work) {
	count, bytes := a.r.env.Settings.IndexBatch, a.r.env.Settings.IndexBatchBytes
	from, size := 0, 0
	for i, w := range work {
		n := w.Record.Size()
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

// embed makes the vectors that a batch needs. What the embedder refuses is
// reported and left out; the others go on.
func (a *applier) embed(ctx context.Context, batch []warehouse.Work) ([]item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var texts []string
	for _, w := range batch {
		if w.Embeds {
			texts = append(texts, w.Record.Content)
		}
	}
	var vectors [][]float32
	reasons := map[int]embed.ItemError{}
	if len(texts) > 0 {
		var err error
		vectors, err = a.embedder.Embed(ctx, embed.Document, texts)
		refused := embed.Refused(err)
		if err != nil && refused == nil {
			return nil, err
		}
		bad, err := embed.Check(vectors, a.embedder.Dimensions(), len(texts))
		if err != nil {
			return nil, err
		}
		for _, f := range append(bad, refused...) { // the embedder's own reason stands over ours
			reasons[f.Index] = f
		}
	}
	out, at := make([]item, 0, len(batch)), 0
	for _, w := range batch {
		it := item{Work: w}
		if w.Embeds {
			i := at
			at++
			if f, ok := reasons[i]; ok {
				a.r.fail(a, w, f.Reason, f.Permanent)
				continue
			}
			it.vector = vectors[i]
		}
		out = append(out, it)
	}
	a.r.count(func(run *state.Run) { run.Embedded += len(texts) - len(reasons) })
	return out, nil
}

// write inserts and updates one batch, confirms it by reading back the hashes,
// and returns what is confirmed. A record that the store refuses is reported,
// and the others are written without it.
func (a *applier) write(ctx context.Context, items []item) ([]warehouse.Applied, error) {
	if len(items) == 0 {
		return nil, nil
	}
	// The index may have another writer: what was planned as an insert and is
	// there by now is updated where it is.
	ids, err := a.askAgain(ctx, items)
	if err != nil {
		return nil, err
	}
	writes := make([]load.Write, len(items))
	for i, it := range items {
		writes[i] = load.Write{
			PointID: ids[i], Key: it.Record.Key, Vector: it.vector,
			Payload: it.Record.Payload(a.space, a.r.run.RunID, a.r.env.Now()),
		}
	}
	err = a.store.Write(ctx, writes)
	var refused *load.RefusedError
	if errors.As(err, &refused) {
		return a.writeOthers(ctx, items, refused)
	}
	if err != nil {
		return nil, err
	}
	return a.confirm(ctx, items, writes)
}

func (a *applier) writeOthers(ctx context.Context, items []item, refused *load.RefusedError) ([]warehouse.Applied, error) {
	reasons := map[string]string{}
	for _, f := range refused.Items {
		reasons[f.Key] = f.Reason
	}
	kept := slices.DeleteFunc(slices.Clone(items), func(it item) bool {
		reason, is := reasons[it.Record.Key]
		if is {
			a.r.fail(a, it.Work, reason, true)
		}
		return is
	})
	if len(kept) == len(items) {
		return nil, refused // it names none of ours: nothing would change
	}
	return a.write(ctx, kept)
}

// askAgain looks the batch's inserts up once more and returns the point ids.
func (a *applier) askAgain(ctx context.Context, items []item) ([]string, error) {
	ids := make([]string, len(items))
	var keys []string
	for i, it := range items {
		ids[i] = it.PointID
		if it.Action == plan.Insert {
			ids[i] = record.PointID(it.Record.Key)
			keys = append(keys, it.Record.Key)
		}
	}
	if len(keys) == 0 {
		return ids, nil
	}
	points, err := a.store.Lookup(ctx, keys)
	if err != nil {
		return nil, err
	}
	there := map[string]string{}
	for _, p := range points {
		if !record.Ours(p.Kind) {
			continue // whatever its key says
		}
		if p.Workspace != "" && p.Workspace != a.r.env.Settings.Workspace {
			return nil, fault.New(fault.Guard, "other_workspace", "count", 1, "key", p.Key, "owner", p.Workspace, "workspace", a.r.env.Settings.Workspace)
		}
		if _, ok := there[p.Key]; !ok {
			there[p.Key] = p.ID
		}
	}
	for i, it := range items {
		if id, ok := there[it.Record.Key]; ok && it.Action == plan.Insert {
			ids[i] = id
		}
	}
	return ids, nil
}

func (a *applier) confirm(ctx context.Context, items []item, writes []load.Write) ([]warehouse.Applied, error) {
	keys := make([]string, len(items))
	for i, it := range items {
		keys[i] = it.Record.Key
	}
	points, err := a.store.Lookup(ctx, keys)
	if err != nil {
		return nil, err
	}
	held := map[string]load.Point{}
	for _, p := range points {
		held[p.ID] = p
	}
	var applied []warehouse.Applied
	for i, it := range items {
		p, ok := held[writes[i].PointID]
		if !ok || p.PayloadHash != it.Record.PayloadHash || p.ContentHash != it.Record.ContentHash || p.EmbedSpace != a.space {
			a.r.fail(a, it.Work, "not confirmed: the index does not hold what was written", false)
			continue
		}
		applied = append(applied, warehouse.Applied{
			Key: it.Record.Key, Kind: it.Record.Kind, Ref: it.Record.Ref, ContentHash: p.ContentHash, Space: a.space, PointID: p.ID,
		})
		a.r.count(func(run *state.Run) {
			switch it.Action {
			case plan.Insert:
				run.Inserted++
			case plan.Reembed, plan.Update:
				run.Updated++
			default:
				run.Repayloaded++
			}
		})
	}
	return applied, nil
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

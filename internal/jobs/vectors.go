package jobs

import (
	"context"
	"errors"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/server"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// embed makes the vectors that a batch needs. What the embedder refuses is
// reported and left out, and so is what it does not answer; the others go on.
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
	vectors, reasons, err := a.vectors(ctx, texts)
	if err != nil {
		return nil, err
	}
	out, at := make([]item, 0, len(batch)), 0
	for _, w := range batch {
		it := item{Work: w}
		if w.Embeds {
			i := at
			at++
			if vectors == nil {
				a.r.count(func(run *state.Run) { run.Failed++; a.r.waiting++ })
				continue
			}
			if f, ok := reasons[i]; ok {
				a.r.fail(a, w, f.Reason, f.Permanent)
				continue
			}
			it.vector = vectors[i]
		}
		out = append(out, it)
	}
	return out, nil
}

// vectors embeds texts and checks what came back. Both results are nil when the
// embedder does not answer: it is then left alone for the rest of the run.
func (a *applier) vectors(ctx context.Context, texts []string) ([][]float32, map[int]embed.ItemError, error) {
	a.r.mu.Lock()
	down := a.down
	a.r.mu.Unlock()
	if len(texts) == 0 || down != nil {
		return nil, nil, nil
	}
	vectors, err := a.embedder.Embed(ctx, embed.Document, texts)
	refused := embed.Refused(err)
	switch {
	case err == nil, refused != nil:
	case errors.Is(err, server.ErrUnavailable) && ctx.Err() == nil:
		a.r.mu.Lock()
		defer a.r.mu.Unlock()
		a.down = err
		a.r.env.Log.Warn("the embedder does not answer; what needs a vector waits for the next run", "error", err)
		return nil, nil, nil
	default:
		return nil, nil, err
	}
	bad, err := embed.Check(vectors, a.embedder.Dimensions(), len(texts))
	if err != nil {
		return nil, nil, err
	}
	reasons := map[int]embed.ItemError{}
	for _, f := range append(bad, refused...) { // the embedder's own reason stands over ours
		reasons[f.Index] = f
	}
	a.r.count(func(run *state.Run) { run.Embedded += len(texts) - len(reasons) })
	return vectors, reasons, nil
}

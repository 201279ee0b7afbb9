package jobs

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/publish"
	"github.com/thtbatch/thtbatch/internal/state"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// published opens what was published last; the caller closes it. It works
// while a job runs.
func (e *Env) published(ctx context.Context) (*warehouse.Published, *state.Dir, error) {
	dir, err := state.OpenExisting(e.Settings.StateDir)
	if err != nil {
		return nil, nil, err
	}
	p, err := warehouse.OpenPublished(ctx, filepath.Join(e.publishDir(dir), publish.Current), e.duckOptions(""))
	return p, dir, err
}

// searcher asks the published copy of the index, page after page.
type searcher struct {
	store  load.Store
	vector []float32
	kind   string
}

// newSearcher embeds a question. A question with nothing to embed is an input
// that cannot be used.
func (e *Env) newSearcher(ctx context.Context, dir *state.Dir, kind, question string) (*searcher, error) {
	embedder, err := e.newEmbedder()
	if err != nil {
		return nil, err
	}
	vectors, err := embedder.Embed(ctx, embed.Query, []string{question})
	if refused := embed.Refused(err); len(refused) > 0 {
		return nil, fault.New(fault.Input, "question_refused", "reason", refused[0].Reason)
	}
	if err != nil {
		return nil, err
	}
	o := e.duckOptions(dir.SearchCopy())
	o.ReadOnly = true
	store, err := local.Open(ctx, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Usage, "nothing_published", "path", dir.SearchCopy())
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "store_unreadable", "path", dir.SearchCopy()).Because(err)
	}
	return &searcher{store, vectors[0], kind}, nil
}

// hits asks for more until top are kept or the index has no more; keep returns
// those of a page that stay, in their order.
func (s *searcher) hits(ctx context.Context, top int, keep func([]load.Hit) ([]load.Hit, error)) ([]load.Hit, error) {
	var out []load.Hit
	page := max(2*top, 16)
	for offset := 0; len(out) < top; offset += page {
		hits, err := s.store.Search(ctx, load.Query{Vector: s.vector, Kind: s.kind, Limit: page, Offset: offset})
		var other *load.DimensionError
		if errors.As(err, &other) {
			return nil, fault.New(fault.Usage, "dimension_differs", "path", "index", "held", other.Held, "wanted", other.Asked).Because(err)
		}
		if err != nil {
			return nil, err
		}
		kept, err := keep(hits)
		if err != nil {
			return nil, err
		}
		out = append(out, kept...)
		if len(hits) < page {
			break
		}
	}
	return out[:min(top, len(out))], nil
}

package jobs

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
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

// searcher asks the index, page after page: the copy that was published last,
// or the server.
type searcher struct {
	store            load.Store
	vector           []float32
	kind             string
	workspace, space string
}

// newSearcher embeds a question. A question with nothing to embed is an input
// that cannot be used.
func (e *Env) newSearcher(ctx context.Context, dir *state.Dir, kind, question string) (_ *searcher, err error) {
	embedder, err := e.newEmbedder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeEmbedder(embedder)) }()
	vectors, err := embedder.Embed(ctx, embed.Query, []string{question})
	if refused := embed.Refused(err); len(refused) > 0 {
		return nil, fault.New(fault.Input, "question_refused", "reason", refused[0].Reason)
	}
	if err != nil {
		return nil, err
	}
	store, err := e.openToRead(ctx, dir)
	if errors.Is(err, errNoCopy) {
		return nil, fault.New(fault.Usage, "nothing_published", "path", dir.SearchCopy())
	}
	if err != nil {
		return nil, err
	}
	return &searcher{store, vectors[0], kind, e.Settings.Workspace, embedder.Space()}, nil
}

// comparable tells whether a hit is one of this workspace whose vector may be
// compared with the question's: of the same space, or of another writer who
// names none.
func (s *searcher) comparable(h load.Hit) bool {
	workspace, space := load.String(h.Payload, "workspace"), load.String(h.Payload, "embed_space")
	return (workspace == "" || workspace == s.workspace) && (space == "" || space == s.space)
}

// hits asks for more until top are kept or the index has no more; keep returns
// those of a page that stay, in their order.
func (s *searcher) hits(ctx context.Context, top int, keep func([]load.Hit) ([]load.Hit, error)) ([]load.Hit, error) {
	var out []load.Hit
	page := max(2*top, 16)
	for offset := 0; len(out) < top; offset += page {
		hits, err := s.store.Search(ctx, load.Query{Vector: s.vector, Kind: s.kind, Limit: page, Offset: offset})
		if err != nil {
			return nil, err
		}
		last := len(hits) < page
		kept, err := keep(slices.DeleteFunc(hits, func(h load.Hit) bool { return !s.comparable(h) }))
		if err != nil {
			return nil, err
		}
		out = append(out, kept...)
		if last {
			break
		}
	}
	return out[:min(top, len(out))], nil
}

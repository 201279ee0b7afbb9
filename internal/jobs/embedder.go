package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/lexical"
	"github.com/thtbatch/thtbatch/internal/embed/ollama"
	"github.com/thtbatch/thtbatch/internal/embed/onnx"
	"github.com/thtbatch/thtbatch/internal/embed/openai"
	"github.com/thtbatch/thtbatch/internal/embed/server"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/secret"
	"github.com/thtbatch/thtbatch/internal/state"
)

// The embedders by the names of the configuration.
const (
	providerLexical = embed.BuiltIn
	providerOllama  = "ollama"
	providerOpenAI  = "openai"
	providerONNX    = "onnx"
)

const (
	lexicalDimensions = 1024
	ollamaURL         = "http://localhost:11434"
)

// newEmbedder makes the embedder of the configuration. Nothing is asked of a
// server for it. The caller closes it with closeEmbedder.
func (e *Env) newEmbedder() (embed.Embedder, error) {
	s := e.Settings.Embed
	switch s.Provider {
	case providerLexical:
		embedder, err := lexical.New(cmp.Or(s.Dimensions, lexicalDimensions))
		if err != nil {
			return nil, fault.New(fault.Usage, "embedder_refused", "provider", s.Provider).Because(err)
		}
		return embedder, nil
	case providerOllama, providerOpenAI:
		return e.newServedEmbedder()
	case providerONNX:
		embedder, err := onnx.Open(onnx.Options{
			ModelDir: s.ModelDir, Library: s.Library, Model: s.Model, Revision: s.Revision, Dimensions: s.Dimensions,
			DocumentPrefix: s.DocumentPrefix, QueryPrefix: s.QueryPrefix, Normalise: s.Normalise, Truncate: s.Truncate,
			BatchCount: s.Batch, BatchTokens: s.BatchTokens, Threads: s.Threads,
		})
		if err != nil {
			return nil, err
		}
		return embedder, nil
	}
	return nil, fault.New(fault.Usage, "embedder_unknown", "provider", s.Provider)
}

func (e *Env) newServedEmbedder() (embed.Embedder, error) {
	s := e.Settings.Embed
	url := s.URL
	if s.Provider == providerOllama {
		url = cmp.Or(url, ollamaURL)
	}
	for _, setting := range []struct {
		key     string
		missing bool
	}{{"embed.url", url == ""}, {"embed.model", s.Model == ""}, {"embed.dimensions", s.Dimensions == 0}} {
		if setting.missing {
			return nil, fault.New(fault.Usage, "embedder_setting_missing", "provider", s.Provider, "key", setting.key)
		}
	}
	key, err := secret.Read(embedKeyVariable, e.Getenv, s.KeyFile)
	if err != nil {
		return nil, err
	}
	o := server.Options{
		URL: url, Key: key, AllowRemote: s.AllowRemote, Model: s.Model, Revision: s.Revision,
		Dimensions: s.Dimensions, SendDimensions: s.SendDimensions,
		DocumentPrefix: s.DocumentPrefix, QueryPrefix: s.QueryPrefix, Normalise: s.Normalise, Truncate: s.Truncate,
		BatchCount: s.Batch, BatchTokens: s.BatchTokens, RequestsPerMinute: s.RequestsPerMinute, Timeout: s.Timeout, Tries: s.Tries, Pause: s.Pause, Log: e.Log,
	}
	if s.Provider == providerOllama {
		return ollama.New(o)
	}
	return openai.New(o)
}

// closeEmbedder releases what an embedder holds, if it holds anything.
func closeEmbedder(embedder embed.Embedder) error {
	if held, ok := embedder.(io.Closer); ok {
		return held.Close()
	}
	return nil
}

// embedders is how many batches are embedded at once.
func (e *Env) embedders() int {
	if n := e.Settings.Embed.Concurrency; n > 0 {
		return n
	}
	switch e.Settings.Embed.Provider {
	case providerLexical:
		return runtime.GOMAXPROCS(0)
	case providerOpenAI:
		return 2
	}
	return 1 // the others work on one request at a time
}

// withCache wraps the embedder in the cache of the state directory, where the
// configuration or the cost of the model says so. The caller closes what is
// returned second.
func (r *recorded) withCache(ctx context.Context, inner embed.Embedder) (embed.Embedder, *embed.Cache, error) {
	mode := r.env.Settings.Embed.Cache
	if mode == "off" || (mode == "auto" && !embed.Costly(inner.Space())) {
		return inner, nil, nil
	}
	cache, err := embed.OpenCache(ctx, r.env.duckOptions(r.dir.Cache()), r.env.Now)
	if err != nil {
		return nil, nil, fault.New(fault.Failed, "cache_unusable", "path", r.dir.Cache()).Because(err)
	}
	return embed.Cached(inner, cache), cache, nil
}

// checkModel embeds the fixed texts and compares them with what they gave
// before: a model that changed behind its name stops the run before anything
// is written. With accept what they give now is kept instead. The built-in
// embedder cannot change: its version is in its space. down is why the embedder
// could not be asked; whatever needs no vector can still be done.
func (r *recorded) checkModel(ctx context.Context, embedder embed.Embedder, accept bool) (down, err error) {
	space := embedder.Space()
	if !embed.Costly(space) {
		return nil, nil
	}
	vectors, err := embed.Canaries(ctx, embedder)
	if errors.Is(err, server.ErrUnavailable) && ctx.Err() == nil {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	before, known, damage, err := r.dir.Canary(space)
	if err != nil {
		return nil, err
	}
	for _, d := range damage {
		r.env.Log.Warn("what the model gave before cannot be read", "error", d)
	}
	if known {
		agreement := embed.Agreement(before.Vectors, vectors)
		r.env.Log.Debug("model compared with what it gave before", "embed_space", space, "agreement", agreement, "since", before.At)
		switch {
		case agreement >= embed.LeastAgreement:
			return nil, nil
		case !accept:
			return nil, modelChanged(space, agreement, before)
		}
		r.env.Log.Warn("a changed model was accepted", "embed_space", space, "agreement", agreement)
	}
	return nil, r.dir.AddCanary(state.Canary{Space: space, Vectors: vectors, RunID: r.run.RunID, At: r.env.Now().UTC()})
}

func modelChanged(space string, agreement float64, before state.Canary) error {
	return fault.New(fault.Guard, "model_changed", "space", space, "agreement", fmt.Sprintf("%.4f", agreement),
		"least", embed.LeastAgreement, "since", before.At.UTC().Format("2006-01-02"), "run", before.RunID)
}

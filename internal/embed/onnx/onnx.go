// Package onnx embeds in this process, with the ONNX Runtime: a library and a
// directory with a model, both of which the user has and names. Nothing is
// fetched.
//
// The directory is one as sentence-transformers publishes it: model.onnx (or
// onnx/model.onnx), tokenizer.json, and where they are there 1_Pooling/config.json,
// modules.json, sentence_bert_config.json and tokenizer_config.json.
package onnx

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// Provider is the name of this embedder in an embed_space.
const Provider = "onnx"

// What happens to a text that is too long for the model.
const (
	Refuse   = "refuse" // it is refused
	ModelCut = "server" // it is cut to what the model takes
	headCut  = "head:"  // and a number: it is cut to its first code points, then as ModelCut
)

// Options of an embedder.
type Options struct {
	ModelDir, Library string
	Model             string // its name in the space; empty: that of the directory
	Revision          string
	Dimensions        int // 0: what the model says

	DocumentPrefix, QueryPrefix string
	Normalise                   bool   // bring vectors to unit length
	Truncate                    string // Refuse, ModelCut or head:N

	BatchCount, BatchTokens int // of one run of the model, padding included; 0: 32 and 16000
	Threads                 int // 0: the runtime decides
}

// Embedder is a model in this process. It may be used from several goroutines,
// which take turns at the tokenizer.
type Embedder struct {
	options    Options
	head       int
	space      string
	dimensions int
	tokenizer  *tokenizer
	turn       sync.Mutex // of the tokenizer, which keeps a cache
	model      *model
}

var _ embed.Embedder = (*Embedder)(nil)

// Open loads a model. The runtime is loaded once for a process, from the first
// library that is named, whatever later calls name, and stays until its end; two
// calls of Open must not be under way at once. The caller closes the embedder.
// Faults, all of the configuration: embedder_setting_missing, onnx_file,
// onnx_library, onnx_tokenizer, onnx_model, onnx_unsupported, embedder_dimension.
func Open(o Options) (*Embedder, error) {
	o.BatchCount, o.BatchTokens = cmp.Or(o.BatchCount, 32), cmp.Or(o.BatchTokens, 16_000)
	head, ok := headOf(o.Truncate)
	for _, s := range []struct {
		key string
		set bool
	}{{"embed.model_dir", o.ModelDir != ""}, {"embed.library", o.Library != ""}, {"embed.truncate", ok}} {
		if !s.set {
			return nil, fault.New(fault.Usage, "embedder_setting_missing", "provider", Provider, "key", s.key)
		}
	}
	dir, err := readDir(o.ModelDir)
	if err != nil {
		return nil, err
	}
	t, err := newTokenizer(dir)
	if err != nil {
		return nil, err
	}
	m, err := load(dir, o.Library, o.Threads)
	if err != nil {
		return nil, err
	}
	e := &Embedder{options: o, head: head, tokenizer: t, model: m}
	if err := e.describe(); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return e, nil
}

// describe settles dimensions and space.
func (e *Embedder) describe() error {
	o := e.options
	// The base of "." is no name.
	dir, err := filepath.Abs(o.ModelDir)
	if err != nil {
		return fault.New(fault.Usage, "onnx_file", "path", o.ModelDir).Because(err)
	}
	e.dimensions = cmp.Or(e.model.dimensions, o.Dimensions)
	name := cmp.Or(o.Model, filepath.Base(dir))
	switch {
	case e.dimensions == 0:
		return fault.New(fault.Usage, "embedder_setting_missing", "provider", Provider, "key", "embed.dimensions")
	case o.Dimensions != 0 && o.Dimensions != e.dimensions:
		return fault.New(fault.Usage, "embedder_dimension", "provider", Provider, "model", name, "held", e.dimensions, "wanted", o.Dimensions)
	}
	s := embed.Space{
		Provider: Provider, Model: name, Dimensions: e.dimensions, Normalisation: "none", Truncation: "none", Prefix: o.DocumentPrefix,
	}
	if o.Revision != "" {
		s.Model += "@" + o.Revision
	}
	if o.Normalise {
		s.Normalisation = "l2"
	}
	if o.Truncate != Refuse {
		s.Truncation = o.Truncate
	}
	e.space = s.String()
	return nil
}

func headOf(truncate string) (int, bool) {
	digits, head := strings.CutPrefix(truncate, headCut)
	if !head {
		return 0, truncate == Refuse || truncate == ModelCut
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// Space implements embed.Embedder.
func (e *Embedder) Space() string { return e.space }

// Dimensions implements embed.Embedder.
func (e *Embedder) Dimensions() int { return e.dimensions }

// Close releases the model; no Embed may be under way.
func (e *Embedder) Close() error { return e.model.close() }

// Embed implements embed.Embedder. ctx is heeded between two runs of the model.
// Texts run in the order of their length, so that little is padded.
func (e *Embedder) Embed(ctx context.Context, role embed.Role, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var refused []embed.ItemError
	ids := make([][]int64, len(texts))
	var wanted []int
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		reason := ""
		if ids[i], reason = e.tokens(role, text); reason != "" {
			refused = append(refused, embed.ItemError{Index: i, Reason: reason, Permanent: true})
			continue
		}
		wanted = append(wanted, i)
	}
	slices.SortStableFunc(wanted, func(a, b int) int { return cmp.Compare(len(ids[a]), len(ids[b])) })
	for _, batch := range e.batches(ids, wanted) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := make([][]int64, len(batch))
		for k, i := range batch {
			rows[k] = ids[i]
		}
		got, err := e.model.run(rows, e.tokenizer.pad)
		if err != nil {
			return nil, err
		}
		for k, i := range batch {
			if vectors[i] = got[k]; e.options.Normalise {
				embed.Normalise(got[k])
			}
		}
	}
	if refused == nil {
		return vectors, nil
	}
	return vectors, &embed.BatchError{Items: refused}
}

// tokens of a text as it is embedded, or why it is not.
func (e *Embedder) tokens(role embed.Role, text string) ([]int64, string) {
	if e.head > 0 {
		n := 0
		for at := range text {
			if n == e.head {
				text = text[:at]
				break
			}
			n++
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil, embed.ReasonNothing
	}
	prefix := e.options.DocumentPrefix
	if role == embed.Query {
		prefix = e.options.QueryPrefix
	}
	e.turn.Lock()
	ids, ok := e.tokenizer.encode(prefix + text)
	e.turn.Unlock()
	if !ok {
		return nil, embed.ReasonServerFails
	}
	if len(ids) == 0 { // nothing is left of control characters, and not every model adds tokens
		return nil, embed.ReasonNothing
	}
	if len(ids) > e.tokenizer.most && e.options.Truncate == Refuse {
		return nil, embed.ReasonServerRefuses
	}
	return e.tokenizer.cut(ids), ""
}

// batches cuts by count and by tokens, as they are after padding: places are in
// the order of their length. A model that knows no mask would take padding for text,
// so that its batches are of one length.
func (e *Embedder) batches(ids [][]int64, places []int) (out [][]int) {
	from := 0
	for at, i := range places {
		n, padded := at-from, len(ids[i]) != len(ids[places[from]])
		if n > 0 && (n >= e.options.BatchCount || (n+1)*len(ids[i]) > e.options.BatchTokens || padded && !e.model.masks) {
			out = append(out, places[from:at])
			from = at
		}
	}
	if from < len(places) {
		out = append(out, places[from:])
	}
	return out
}

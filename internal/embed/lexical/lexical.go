// Package lexical is the built-in embedder. It needs no weights, no download
// and no server, and gives the same bits on every platform.
//
// It compares wording, not meaning. Texts are near when they share words, in
// any order and inflection, with typing errors or without: the question that
// was asked before, the definition that was written twice. It knows no
// synonyms and does not translate, so a true paraphrase may well score below
// "the same sentence, another year". A high similarity is a reason to look, and
// never says that two texts mean the same.
//
// How a text becomes a vector:
//
//   - NFKD without marks, lower case; the language, Italian or English, is
//     guessed from function words;
//   - function words of both languages are dropped, unless nothing else is left;
//   - a word counts by its Snowball stem, the stem's first four letters, and
//     the stem's character 3- and 4-grams with its ends marked;
//   - an identifier such as flag_attivo, flagAttivo or fact_visits.ward_id
//     counts whole, and then each of its parts counts as a word;
//   - numbers, and the words for them, count by their value; all words that
//     negate count as one feature, once a text;
//   - every feature is hashed to a dimension and a sign, the integer weights
//     are summed, and the sums are brought to unit length.
//
// Summing integers makes the order of features irrelevant; what follows is
// rounded at each step (see normalise), so that no processor may fuse two.
package lexical

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/thtbatch/thtbatch/internal/embed"
)

// version is part of the embed_space: any change of vocabulary, weights, hash
// or tokens makes other vectors and needs another version.
const version = "1"

// DefaultDimensions keeps two features of an ordinary text from sharing a
// dimension by chance often enough to matter. Half as many cost about 0.01 of
// mean reciprocal rank, four times as many gain nothing.
const DefaultDimensions = 1024

// Fewer dimensions are all collisions; a feature's dimension has 16 bits.
const (
	minDimensions = 64
	maxDimensions = 8192
)

// Embedder implements embed.Embedder.
type Embedder struct {
	space   embed.Space
	workers sync.Pool // of *worker: one for each call under way
}

// New makes an embedder of vectors with this many dimensions.
func New(dimensions int) (*Embedder, error) {
	if dimensions < minDimensions || dimensions > maxDimensions {
		return nil, fmt.Errorf("lexical embedder: %d dimensions, possible are %d to %d", dimensions, minDimensions, maxDimensions)
	}
	e := &Embedder{space: embed.Space{
		Provider: embed.BuiltIn, Model: version, Dimensions: dimensions, Normalisation: "l2", Truncation: "none",
	}}
	words := newVocabulary()
	e.workers.New = func() any { return newWorker(dimensions, words) }
	return e, nil
}

// Space is the embed_space.
func (e *Embedder) Space() string { return e.space.String() }

// Dimensions is the length of every vector.
func (e *Embedder) Dimensions() int { return e.space.Dimensions }

// Embed gives every text a vector of unit length, in the calling goroutine;
// concurrent calls do not wait for each other. Both roles are alike. A text
// without any letter or digit is refused for good with embed.ReasonNothing. The
// vectors of a call share one block of memory.
func (e *Embedder) Embed(ctx context.Context, _ embed.Role, texts []string) ([][]float32, error) {
	w := e.workers.Get().(*worker)
	defer e.workers.Put(w)
	d := e.space.Dimensions
	block := make([]float32, d*len(texts))
	vectors := make([][]float32, len(texts))
	var refused []embed.ItemError
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !w.add(text) {
			refused = append(refused, embed.ItemError{Index: i, Reason: embed.ReasonNothing, Permanent: true})
			continue
		}
		vectors[i] = block[i*d : (i+1)*d : (i+1)*d]
		normalise(vectors[i], w.sums)
	}
	if refused != nil {
		return vectors, &embed.BatchError{Items: refused}
	}
	return vectors, nil
}

// normalise writes sums, brought to unit length, to v. The conversion around
// the product forbids to fuse it with the addition, which some processors would
// round differently; the square root and the quotient are exactly rounded on
// all. Sums that cancelled out to nothing become the first axis: a text with
// features must have a vector.
func normalise(v []float32, sums []int64) {
	var squares float64
	for _, sum := range sums {
		x := float64(sum)
		squares += float64(x * x)
	}
	if squares == 0 {
		v[0] = 1
		return
	}
	length := math.Sqrt(squares)
	for i, sum := range sums {
		v[i] = float32(float64(sum) / length)
	}
}

// Package embed turns texts into vectors. It owns the seam between the jobs
// and whatever computes vectors (the built-in embedder of package lexical, or a
// server), the name of a vector space, the check that a reply must pass before
// it is written anywhere, and the cache of vectors that cost something.
package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Role says what a text is embedded for. Some models expect another prefix for
// a question than for the documents it is compared with.
type Role int

// The two sides of a search.
const (
	Document Role = iota
	Query
)

func (r Role) String() string {
	if r == Query {
		return "query"
	}
	return "document"
}

// Embedder turns texts into vectors. Implementations may be used by several
// goroutines at once.
type Embedder interface {
	// Space is the embed_space of the vectors, in the form of Space.String.
	// Vectors of two different spaces must never be compared.
	Space() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed returns one vector for each text, in the order of the texts; an
	// empty batch gives an empty result. When some texts are refused and the
	// others are not, the error is a *BatchError, the vectors of the refused
	// texts are nil and the others are valid. With any other error, the end of
	// ctx included, there are no vectors. Texts are not kept; the vectors are
	// the caller's, and those of one call may share one block of memory.
	Embed(ctx context.Context, role Role, texts []string) ([][]float32, error)
}

// BatchError says which texts of a batch were refused, by ascending index.
type BatchError struct{ Items []ItemError }

// ItemError is the refusal of one text. Reason never contains the text.
type ItemError struct {
	Index  int    // into the texts of the batch
	Reason string // one of the Reason constants, or what a server said of a class of input
	// Permanent refusals would be the same again for the same text and space.
	Permanent bool
}

func (e *BatchError) Error() string {
	if len(e.Items) == 0 {
		return "no text refused"
	}
	first := e.Items[0]
	return fmt.Sprintf("%d texts refused, the first at %d: %s", len(e.Items), first.Index, first.Reason)
}

// Refused is the items of a *BatchError anywhere in err, nil when there is none.
func Refused(err error) []ItemError {
	var batch *BatchError
	if errors.As(err, &batch) {
		return batch.Items
	}
	return nil
}

// Reasons for which a text has no usable vector.
const (
	ReasonNothing   = "no letter or digit to embed"
	ReasonMissing   = "no vector returned"
	ReasonDimension = "vector of another dimension"
	ReasonNotFinite = "vector with a value that is not finite"
	ReasonZero      = "zero vector"
	// A server takes other texts, and not this one.
	ReasonServerRefuses = "refused by the embedder, most often because it is too long"
	ReasonServerFails   = "the embedder fails on this text"
)

// CheckCount reports a reply with another number of vectors than there were
// texts. Which vector belongs to which text is then unknown, so the whole
// batch has failed.
func CheckCount(vectors [][]float32, want int) error {
	if len(vectors) != want {
		return fmt.Errorf("embed a batch: %d vectors returned for %d texts", len(vectors), want)
	}
	return nil
}

// CheckVector is the reason why v cannot be stored in a space of dims
// dimensions, or "" when it can.
func CheckVector(v []float32, dims int) string {
	if v == nil {
		return ReasonMissing
	}
	if len(v) != dims {
		return ReasonDimension
	}
	var length float64
	for _, x := range v {
		// The difference of an infinity or a NaN with itself is NaN.
		if x-x != 0 {
			return ReasonNotFinite
		}
		length += float64(x) * float64(x)
	}
	// Stores normalise in float32: what vanishes there is zero to them.
	if float32(length) == 0 {
		return ReasonZero
	}
	return ""
}

// Check looks at the vectors of a batch of want texts before any of them is
// written: their count, and of each its dimension, that it is finite and that
// it is not zero. A wrong count is an error for the whole batch; everything
// else is one refusal for each vector concerned, by ascending index. Refusals
// for a zero or not finite vector are permanent: the same text would give the
// same vector. A missing vector or another dimension says something about the
// server rather than the text, and is not.
func Check(vectors [][]float32, dims, want int) ([]ItemError, error) {
	if err := CheckCount(vectors, want); err != nil {
		return nil, err
	}
	var refused []ItemError
	for i, v := range vectors {
		if reason := CheckVector(v, dims); reason != "" {
			permanent := reason == ReasonZero || reason == ReasonNotFinite
			refused = append(refused, ItemError{Index: i, Reason: reason, Permanent: permanent})
		}
	}
	return refused, nil
}

// Normalise brings a vector to unit length, in place and computed in float64. One
// without a length (zero, not finite) is left as it is: Check refuses it.
func Normalise(v []float32) {
	var squared float64
	for _, x := range v {
		squared += float64(x) * float64(x)
	}
	norm := math.Sqrt(squared)
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / norm)
	}
}

package server

import (
	"context"
	"errors"
	"math"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// call is one Embed under way.
type call struct {
	embedder *Embedder
	texts    []string // as sent
	vectors  [][]float32
	refused  []embed.ItemError
	probed   bool // a short text was taken, so that a refusal is one of the texts
}

func (c *call) refuse(i int, reason string) {
	c.refused = append(c.refused, embed.ItemError{Index: i, Reason: reason, Permanent: true})
}

// ask embeds the texts at these places. When the request is refused it is
// halved, until the text that is refused stands alone.
func (c *call) ask(ctx context.Context, places []int) error {
	texts := make([]string, len(places))
	for k, i := range places {
		texts[k] = c.texts[i]
	}
	// A server that failed on the whole again and again is not asked as often
	// about its parts.
	vectors, err := c.embedder.request(ctx, texts, c.probed)
	var r *refusal
	if errors.As(err, &r) {
		return c.divide(ctx, places, r)
	}
	if err != nil {
		return err
	}
	for k, i := range places {
		c.vectors[i] = vectors[k]
	}
	return nil
}

// probe is a text that every model takes.
const probe = "prova"

func (c *call) divide(ctx context.Context, places []int, r *refusal) error {
	if !c.probed {
		_, err := c.embedder.request(ctx, []string{probe}, false)
		var same *refusal
		switch {
		case errors.As(err, &same) && same.failed:
			return c.embedder.unavailable(same)
		case errors.As(err, &same):
			return fault.New(fault.Usage, "embedder_refused", "provider", c.embedder.provider, "path", c.embedder.endpoint).Because(same)
		case err != nil:
			return err
		}
		c.probed = true
	}
	if len(places) > 1 {
		half := len(places) / 2
		return errors.Join(c.ask(ctx, places[:half]), c.ask(ctx, places[half:]))
	}
	if r.failed {
		c.refuse(places[0], embed.ReasonServerFails)
	} else {
		c.refuse(places[0], embed.ReasonServerRefuses)
	}
	return nil
}

// check looks at the dimension of the vectors of a reply, and brings them to
// unit length. A vector that is missing stays nil.
func (e *Embedder) check(vectors [][]float32) error {
	for i, v := range vectors {
		if len(v) == 0 {
			vectors[i] = nil
			continue
		}
		if len(v) != e.options.Dimensions {
			return fault.New(fault.Usage, "embedder_dimension", "provider", e.provider, "model", e.options.Model,
				"held", len(v), "wanted", e.options.Dimensions)
		}
		if e.options.Normalise {
			normalise(v)
		}
	}
	return nil
}

// normalise leaves a vector without a length as it is: it is refused later.
func normalise(v []float32) {
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

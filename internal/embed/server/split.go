package server

import (
	"context"
	"errors"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// call is one Embed under way.
type call struct {
	embedder *Embedder
	role     embed.Role
	texts    []string // as sent
	vectors  [][]float32
	refused  []embed.ItemError
	probed   bool // the short text was taken once, so that not everything is refused
}

func (c *call) refuse(i int, reason string, permanent bool) {
	c.refused = append(c.refused, embed.ItemError{Index: i, Reason: reason, Permanent: permanent})
}

// ask embeds the texts at these places. When the request is refused it is
// halved, until the text that is refused stands alone.
func (c *call) ask(ctx context.Context, places []int) error {
	texts := make([]string, len(places))
	for k, i := range places {
		texts[k] = c.texts[i]
	}
	// A server that failed on the whole again and again is not asked as often
	// about its parts; a single text gets its full chance.
	vectors, err := c.embedder.request(ctx, texts, c.probed && len(places) > 1)
	var r *refusal
	if errors.As(err, &r) {
		return c.divide(ctx, places, r)
	}
	if err != nil {
		return err
	}
	for k, i := range places {
		if c.vectors[i] = vectors[k]; vectors[k] == nil {
			c.refuse(i, embed.ReasonMissing, false)
		}
	}
	return nil
}

func (c *call) divide(ctx context.Context, places []int, r *refusal) error {
	// Before the work of dividing, and again before a text is blamed: a server
	// that breaks meanwhile must not have its texts refused for ever.
	if !c.probed || len(places) == 1 {
		if err := c.probe(ctx); err != nil {
			return err
		}
	}
	if len(places) == 1 {
		c.refuse(places[0], r.reason, true)
		return nil
	}
	half := len(places) / 2
	if err := c.ask(ctx, places[:half]); err != nil {
		return err
	}
	return c.ask(ctx, places[half:])
}

// harmless is a text that every model takes.
const harmless = "prova"

// probe sends a short text, prefix and all. When that is refused too it is the
// server or its configuration, and not the text.
func (c *call) probe(ctx context.Context) error {
	e := c.embedder
	vectors, err := e.request(ctx, []string{e.sent(c.role, harmless)}, false)
	var r *refusal
	switch {
	case errors.As(err, &r) && r.failed():
		return e.unavailable(r.seen)
	case errors.As(err, &r) && r.missing(), err == nil && vectors[0] == nil:
		return e.unreadable(&CountError{Held: 0, Wanted: 1})
	case errors.As(err, &r):
		return fault.New(fault.Usage, "embedder_refused", "provider", e.provider, "path", e.endpoint).Because(r.seen)
	case err != nil:
		return err
	}
	c.probed = true
	return nil
}

// check looks at the dimension of the vectors of a reply, and brings them to
// unit length. A vector that is missing is nil.
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
			embed.Normalise(v)
		}
	}
	return nil
}

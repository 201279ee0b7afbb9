package qdranttest

import (
	"context"

	"github.com/qdrant/go-client/qdrant"
)

func (x points) SetPayload(_ context.Context, r *qdrant.SetPayloadPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error {
		return x.setPayload(c, r.GetPointsSelector(), r.GetPayload(), r.GetKey())
	})
}

func (x points) setPayload(c *collection, selector *qdrant.PointsSelector, payload map[string]*qdrant.Value, key string) error {
	var path []string
	if key != "" {
		var err error
		if path, err = split(key); err != nil {
			return err
		}
	}
	return x.relay(c, selector, func(old map[string]*qdrant.Value) map[string]*qdrant.Value { return below(old, path, payload) })
}

// OverwritePayload takes no notice of a key, as the server does.
func (x points) OverwritePayload(_ context.Context, r *qdrant.SetPayloadPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error {
		return x.overwritePayload(c, r.GetPointsSelector(), r.GetPayload())
	})
}

func (x points) ClearPayload(_ context.Context, r *qdrant.ClearPayloadPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error { return x.overwritePayload(c, r.GetPoints(), nil) })
}

func (x points) overwritePayload(c *collection, selector *qdrant.PointsSelector, payload map[string]*qdrant.Value) error {
	if payload == nil {
		payload = map[string]*qdrant.Value{}
	}
	return x.relay(c, selector, func(map[string]*qdrant.Value) map[string]*qdrant.Value { return payload })
}

func (x points) DeletePayload(_ context.Context, r *qdrant.DeletePayloadPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error {
		return x.deletePayload(c, r.GetPointsSelector(), r.GetKeys())
	})
}

func (x points) deletePayload(c *collection, selector *qdrant.PointsSelector, keys []string) error {
	paths, err := splitAll(keys)
	if err != nil {
		return err
	}
	return x.relay(c, selector, func(payload map[string]*qdrant.Value) map[string]*qdrant.Value {
		for _, path := range paths {
			payload = cut(payload, path)
		}
		return payload
	})
}

// relay gives the points that are there another payload; of the others it says
// so, after.
func (x points) relay(c *collection, selector *qdrant.PointsSelector, change func(map[string]*qdrant.Value) map[string]*qdrant.Value) error {
	found, unknown, err := x.selected(c, selector)
	if err != nil {
		return err
	}
	for _, p := range found {
		c.forget(p)
		p.payload = change(p.payload)
		c.remember(p)
	}
	x.s.count(func(n *Counts) { n.Updated += len(found) })
	return unknown
}

package qdrant

import (
	"context"
	"errors"
	"fmt"

	"github.com/qdrant/go-client/qdrant"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Deleter removes points that are named one by one. It has a key of its own, and
// without one there is none: that is this program's promise, since the keys of
// Qdrant do not tell an upsert from a delete.
type Deleter struct{ store *Store }

// NewDeleter makes a deleter; the key of o is not used. Without a delete key the
// fault is delete_key_missing (exit 4).
func NewDeleter(ctx context.Context, o Options, deleteKey string) (*Deleter, error) {
	if deleteKey == "" {
		return nil, fault.New(fault.Credential, "delete_key_missing", "path", placeOf(o))
	}
	o.Key = deleteKey
	s, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Deleter{s}, nil
}

// Delete removes the points with these ids, and waits until it is done. Ids that
// are not there are no error; no id at all is one, and nothing is sent. There is
// no deleting by a filter: an empty one would delete everything.
func (d *Deleter) Delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return errors.New("delete points: none is named")
	}
	named := make([]*qdrant.PointId, len(ids))
	for i, text := range ids {
		id, ok := pointID(text)
		if !ok {
			return fmt.Errorf("delete point %d of %d: the id is neither a number nor a UUID", i+1, len(ids))
		}
		named[i] = id
	}
	wait := true
	_, err := again(ctx, d.store, "Delete", func(ctx context.Context) (*qdrant.PointsOperationResponse, error) {
		return d.store.client.GetPointsClient().Delete(ctx, &qdrant.DeletePoints{
			CollectionName: d.store.options.Collection, Wait: &wait, Points: qdrant.NewPointsSelector(named...),
		})
	})
	return d.store.final(err)
}

// Close lets the connection go.
func (d *Deleter) Close() error { return d.store.Close() }

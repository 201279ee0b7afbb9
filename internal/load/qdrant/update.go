package qdrant

import (
	"slices"
	"strings"

	"github.com/qdrant/go-client/qdrant"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

// operations are those of a batch of updates, in their order: fields that go,
// vectors, metadata, and last the fields of the top level with the hashes. They
// make of a point what load.Merge says, and touch nothing else.
func operations(updated []*outgoing, held holding) []*qdrant.PointsUpdateOperation {
	var vectors []*qdrant.PointVectors
	var metadata, top []*qdrant.PointsUpdateOperation
	gone := map[string][]*qdrant.PointId{} // names, joined by a NUL, to points
	for _, o := range updated {
		c := changesOf(o, held[o.PointID])
		if len(c.gone) > 0 {
			names := strings.Join(c.gone, "\x00")
			gone[names] = append(gone[names], o.id)
		}
		if o.vectors != nil {
			vectors = append(vectors, &qdrant.PointVectors{Id: o.id, Vectors: o.vectors})
		}
		if len(c.metadata) > 0 {
			metadata = append(metadata, set(o.id, c.metadata, metadataField))
		}
		top = append(top, set(o.id, c.top, ""))
	}
	var out []*qdrant.PointsUpdateOperation
	for names, ids := range gone {
		out = append(out, &qdrant.PointsUpdateOperation{Operation: &qdrant.PointsUpdateOperation_DeletePayload_{
			DeletePayload: &qdrant.PointsUpdateOperation_DeletePayload{
				Keys: strings.Split(names, "\x00"), PointsSelector: qdrant.NewPointsSelector(ids...),
			},
		}})
	}
	if len(vectors) > 0 {
		out = append(out, &qdrant.PointsUpdateOperation{Operation: &qdrant.PointsUpdateOperation_UpdateVectors_{
			UpdateVectors: &qdrant.PointsUpdateOperation_UpdateVectors{Points: vectors},
		}})
	}
	return slices.Concat(out, metadata, top)
}

func set(id *qdrant.PointId, payload map[string]*qdrant.Value, key string) *qdrant.PointsUpdateOperation {
	o := &qdrant.PointsUpdateOperation_SetPayload{Payload: payload, PointsSelector: qdrant.NewPointsSelector(id)}
	if key != "" {
		o.Key = &key
	}
	return &qdrant.PointsUpdateOperation{Operation: &qdrant.PointsUpdateOperation_SetPayload_{SetPayload: o}}
}

// changes of a payload: names that go, and fields that are set beside the others
// and in the metadata.
type changes struct {
	gone          []string
	top, metadata map[string]*qdrant.Value
}

// changesOf is load.Merge as changes. A name that is ours and that the write does
// not have goes, in both layouts. Of another writer's point what stands in the
// layout that is not written stays there, with the new value.
func changesOf(o *outgoing, held map[string]*qdrant.Value) changes {
	kind, _ := o.Payload["kind"].(string)
	within := held[metadataField].GetStructValue().GetFields()
	c := changes{top: make(map[string]*qdrant.Value, len(o.fields)), metadata: map[string]*qdrant.Value{}}
	for name, v := range o.fields {
		if name == metadataField && v.GetStructValue() != nil {
			for inner, v := range v.GetStructValue().GetFields() {
				c.metadata[inner] = v
			}
			continue
		}
		c.top[name] = v
	}
	foreign := load.Foreign(o.Write)
	also := func(to map[string]*qdrant.Value, held map[string]*qdrant.Value, name, path string) {
		if _, written := to[name]; written {
			return
		}
		_, there := held[name]
		if value := load.Field(o.Payload, name); foreign && there && value != nil {
			to[name] = toValue(value)
			return
		}
		c.gone = append(c.gone, path)
	}
	for _, name := range record.OwnedFields() {
		if _, written := c.top[name]; !written {
			c.gone = append(c.gone, name)
		}
	}
	for _, name := range record.OwnedMetadata(kind) {
		also(c.top, held, name, name)
		also(c.metadata, within, name, metadataField+"."+name)
	}
	return c
}

package qdranttest

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type point struct {
	id      *qdrant.PointId
	text    string // the id
	payload map[string]*qdrant.Value
	vectors map[string][]float32
}

type points struct {
	qdrant.UnimplementedPointsServer
	s *Server
}

// idText is an id as text; numbers sort before UUIDs when they are padded.
func idText(id *qdrant.PointId) (string, error) {
	switch v := id.GetPointIdOptions().(type) {
	case *qdrant.PointId_Num:
		return strconv.FormatUint(v.Num, 10), nil
	case *qdrant.PointId_Uuid:
		u, err := uuid.Parse(v.Uuid)
		if err != nil {
			return "", status.Error(codes.InvalidArgument, "Unable to parse UUID")
		}
		return u.String(), nil
	}
	return "", status.Error(codes.InvalidArgument, "No ID options provided")
}

func (x points) Upsert(_ context.Context, r *qdrant.UpsertPoints) (*qdrant.PointsOperationResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	return done(), x.upsert(c, r.GetPoints())
}

// upsert replaces points as wholes, all or none.
func (x points) upsert(c *collection, given []*qdrant.PointStruct) error {
	if most := c.strictly().UpsertMaxBatchsize; most != nil && uint64(len(given)) > *most {
		return strictly("upsert_max_batchsize")
	}
	added := make(map[string]*point, len(given))
	for _, g := range given {
		id, err := idText(g.GetId())
		if err != nil {
			return err
		}
		p := &point{id: g.GetId(), text: id, payload: g.GetPayload()}
		if p.vectors, err = c.read(g.GetVectors(), true); err != nil {
			return err
		}
		if p.payload == nil {
			p.payload = map[string]*qdrant.Value{}
		}
		added[id] = p
	}
	for id, p := range added {
		old, there := c.points[id]
		if there {
			c.forget(old)
		} else {
			c.order = nil
		}
		c.points[id] = p
		c.remember(p)
	}
	x.s.count(func(n *Counts) { n.Upserted += len(added) })
	return nil
}

// read checks vectors and brings them to unit length, as far as the server does.
func (c *collection) read(v *qdrant.Vectors, all bool) (map[string][]float32, error) {
	given := map[string]*qdrant.Vector{}
	if single := v.GetVector(); single != nil {
		given[""] = single
	}
	for name, named := range v.GetVectors().GetVectors() {
		given[name] = named
	}
	out := make(map[string][]float32, len(given))
	for name, g := range given {
		params, ok := c.vectors[name]
		if !ok {
			return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Not existing vector name error: %s", name)
		}
		data := g.GetDense().GetData()
		if data == nil {
			//lint:ignore SA1019 both ways to write a vector are read, as the server does
			data = g.Data
		}
		if uint64(len(data)) != params.GetSize() {
			return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Vector dimension error: expected dim: %d, got %d", params.GetSize(), len(data))
		}
		out[name] = data
		if params.GetDistance() == qdrant.Distance_Cosine {
			out[name] = unit(data)
		}
	}
	if all && len(out) == 0 && len(c.vectors) > 0 {
		return nil, status.Error(codes.InvalidArgument, "Expected some vectors")
	}
	return out, nil
}

const epsilon = 1.1920929e-07 // of float32

func unit(v []float32) []float32 {
	var squared float32
	for _, x := range v {
		squared += x * x
	}
	if squared < epsilon || math.Abs(float64(squared-1)) <= 1e-6 {
		return v
	}
	length := float32(math.Sqrt(float64(squared)))
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = x / length
	}
	return out
}

func (x points) Get(_ context.Context, r *qdrant.GetPoints) (*qdrant.GetResponse, error) {
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	var out []*qdrant.RetrievedPoint
	for _, id := range r.GetIds() {
		text, err := idText(id)
		if err != nil {
			return nil, err
		}
		if p, ok := c.points[text]; ok {
			out = append(out, x.retrieved(p, r.GetWithPayload(), r.GetWithVectors()))
		}
	}
	return &qdrant.GetResponse{Result: out}, nil
}

func (x points) UpdateVectors(_ context.Context, r *qdrant.UpdatePointVectors) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error { return x.updateVectors(c, r.GetPoints()) })
}

func (x points) updateVectors(c *collection, given []*qdrant.PointVectors) error {
	found := make([]*point, len(given))
	vectors := make([]map[string][]float32, len(given))
	for i, g := range given {
		id, err := idText(g.GetId())
		if err != nil {
			return err
		}
		if found[i] = c.points[id]; found[i] == nil {
			return status.Errorf(codes.NotFound, "Not found: No point with id %s found", id)
		}
		if vectors[i], err = c.read(g.GetVectors(), true); err != nil {
			return err
		}
	}
	for i, p := range found {
		changed := make(map[string][]float32, len(p.vectors))
		for name, v := range p.vectors {
			changed[name] = v
		}
		for name, v := range vectors[i] {
			changed[name] = v
		}
		p.vectors = changed
	}
	x.s.count(func(n *Counts) { n.Updated += len(found) })
	return nil
}

func (x points) SetPayload(_ context.Context, r *qdrant.SetPayloadPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error {
		return x.setPayload(c, r.GetPointsSelector(), r.GetPayload(), r.GetKey())
	})
}

func (x points) setPayload(c *collection, selector *qdrant.PointsSelector, payload map[string]*qdrant.Value, key string) error {
	found, err := c.selected(selector)
	if err != nil {
		return err
	}
	for _, p := range found {
		if key == "" {
			c.lay(p, laid(p.payload, payload))
			continue
		}
		c.lay(p, below(p.payload, strings.Split(key, "."), payload))
	}
	x.s.count(func(n *Counts) { n.Updated += len(found) })
	return nil
}

// laid is a payload with another over it; what is null there goes. Payloads are
// never changed in place: replies may still be on their way.
func laid(old, over map[string]*qdrant.Value) map[string]*qdrant.Value {
	out := make(map[string]*qdrant.Value, len(old)+len(over))
	for name, v := range old {
		out[name] = v
	}
	for name, v := range over {
		if _, null := v.GetKind().(*qdrant.Value_NullValue); null {
			delete(out, name)
			continue
		}
		out[name] = v
	}
	return out
}

func below(old map[string]*qdrant.Value, path []string, over map[string]*qdrant.Value) map[string]*qdrant.Value {
	if len(path) == 0 {
		return laid(old, over)
	}
	inner := old[path[0]].GetStructValue().GetFields()
	return laid(old, map[string]*qdrant.Value{path[0]: qdrant.NewValueFromFields(below(inner, path[1:], over))})
}

func (x points) OverwritePayload(_ context.Context, r *qdrant.SetPayloadPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error {
		found, err := c.selected(r.GetPointsSelector())
		for _, p := range found {
			c.lay(p, laid(nil, r.GetPayload()))
		}
		return err
	})
}

func (x points) DeletePayload(_ context.Context, r *qdrant.DeletePayloadPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error {
		return x.deletePayload(c, r.GetPointsSelector(), r.GetKeys())
	})
}

func (x points) deletePayload(c *collection, selector *qdrant.PointsSelector, keys []string) error {
	found, err := c.selected(selector)
	for _, p := range found {
		for _, key := range keys {
			c.lay(p, cut(p.payload, strings.Split(key, ".")))
		}
	}
	return err
}

func cut(old map[string]*qdrant.Value, path []string) map[string]*qdrant.Value {
	value, there := old[path[0]]
	if !there {
		return old
	}
	out := laid(old, nil)
	if len(path) == 1 {
		delete(out, path[0])
		return out
	}
	if object := value.GetStructValue(); object != nil {
		out[path[0]] = qdrant.NewValueFromFields(cut(object.GetFields(), path[1:]))
	}
	return out
}

func (x points) UpdateBatch(_ context.Context, r *qdrant.UpdateBatchPoints) (*qdrant.UpdateBatchResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	var results []*qdrant.UpdateResult
	for _, operation := range r.GetOperations() {
		switch o := operation.GetOperation().(type) {
		case *qdrant.PointsUpdateOperation_Upsert:
			err = x.upsert(c, o.Upsert.GetPoints())
		case *qdrant.PointsUpdateOperation_UpdateVectors_:
			err = x.updateVectors(c, o.UpdateVectors.GetPoints())
		case *qdrant.PointsUpdateOperation_SetPayload_:
			err = x.setPayload(c, o.SetPayload.GetPointsSelector(), o.SetPayload.GetPayload(), o.SetPayload.GetKey())
		case *qdrant.PointsUpdateOperation_DeletePayload_:
			err = x.deletePayload(c, o.DeletePayload.GetPointsSelector(), o.DeletePayload.GetKeys())
		case *qdrant.PointsUpdateOperation_DeletePoints_:
			err = x.deletePoints(c, o.DeletePoints.GetPoints())
		default:
			err = status.Error(codes.Unimplemented, "no such operation here")
		}
		if err != nil {
			return nil, err // what came before it stays
		}
		results = append(results, &qdrant.UpdateResult{Status: qdrant.UpdateStatus_Completed})
	}
	return &qdrant.UpdateBatchResponse{Result: results}, nil
}

func (x points) Delete(_ context.Context, r *qdrant.DeletePoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error { return x.deletePoints(c, r.GetPoints()) })
}

// deletePoints by an empty filter deletes everything, as the server does.
func (x points) deletePoints(c *collection, selector *qdrant.PointsSelector) error {
	for _, id := range selector.GetPoints().GetIds() {
		text, err := idText(id)
		if err != nil {
			return err
		}
		c.drop(text)
	}
	if f := selector.GetFilter(); f != nil {
		for id, p := range c.points {
			if matches(p, f) {
				c.drop(id)
			}
		}
	}
	return nil
}

// selected finds points by their ids; one that is not there is refused.
func (c *collection) selected(selector *qdrant.PointsSelector) ([]*point, error) {
	var out []*point
	for _, id := range selector.GetPoints().GetIds() {
		text, err := idText(id)
		if err != nil {
			return nil, err
		}
		p, ok := c.points[text]
		if !ok {
			return nil, status.Errorf(codes.NotFound, "Not found: No point with id %s found", text)
		}
		out = append(out, p)
	}
	if f := selector.GetFilter(); f != nil {
		for _, p := range c.points {
			if matches(p, f) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

func (x points) change(name string, fn func(*collection) error) (*qdrant.PointsOperationResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	c, err := x.s.find(name)
	if err != nil {
		return nil, err
	}
	if err := fn(c); err != nil {
		return nil, err
	}
	return done(), nil
}

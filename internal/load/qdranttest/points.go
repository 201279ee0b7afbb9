package qdranttest

import (
	"context"
	"math"
	"strconv"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// point is one as held. Its parts are replaced, and never changed in place:
// replies that have them may still be on their way.
type point struct {
	id      *qdrant.PointId
	text    string // the id
	payload map[string]*qdrant.Value
	vectors map[string][]float32 // by name
}

type points struct {
	qdrant.UnimplementedPointsServer
	s *Server
}

// idText is an id as text: a number, or a UUID in lower case with hyphens.
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

func idTexts(ids []*qdrant.PointId) ([]string, error) {
	out := make([]string, len(ids))
	for i, id := range ids {
		var err error
		if out[i], err = idText(id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func unknownPoint(id string) error {
	return status.Errorf(codes.NotFound, "Not found: No point with id %s found", id)
}

// change carries out a change of points with the lock held.
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

func (x points) Upsert(_ context.Context, r *qdrant.UpsertPoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error {
		if r.GetUpdateFilter() != nil {
			return status.Error(codes.Unimplemented, "conditional upserts are not taken here")
		}
		return x.upsert(c, r.GetPoints())
	})
}

// upsert replaces points as wholes, those before the first bad vector.
func (x points) upsert(c *collection, given []*qdrant.PointStruct) error {
	ids := make([]string, len(given))
	for i, g := range given {
		var err error
		if ids[i], err = idText(g.GetId()); err != nil {
			return err
		}
		if g.GetVectors().GetVectorsOptions() == nil {
			return status.Error(codes.InvalidArgument, "Expected some vectors")
		}
	}
	if err := c.allowsWrite(x.s.options.Now(), len(given), true, nil); err != nil {
		return err
	}
	for i, g := range given {
		vectors, err := c.read(g.GetVectors())
		if err != nil {
			return err
		}
		payload := g.GetPayload()
		if payload == nil {
			payload = map[string]*qdrant.Value{}
		}
		c.put(&point{id: g.GetId(), text: ids[i], payload: payload, vectors: vectors})
		x.s.count(func(n *Counts) { n.Upserted++ })
	}
	return nil
}

// read checks vectors and brings them to unit length, as far as the server does.
func (c *collection) read(v *qdrant.Vectors) (map[string][]float32, error) {
	given := v.GetVectors().GetVectors()
	if single := v.GetVector(); single != nil {
		given = map[string]*qdrant.Vector{"": single}
	}
	out := make(map[string][]float32, len(given))
	for name, g := range given {
		data := g.GetDense().GetData()
		if data == nil {
			//lint:ignore SA1019 both ways to write a vector are read, as the server does
			data = g.Data
		}
		var err error
		if out[name], err = c.fitting(name, data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fitting is a vector as it is held under a name.
func (c *collection) fitting(name string, data []float32) ([]float32, error) {
	params, ok := c.vectors[name]
	switch {
	case !ok:
		return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Not existing vector name error: %s", name)
	case uint64(len(data)) != params.GetSize():
		return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Vector dimension error: expected dim: %d, got %d", params.GetSize(), len(data))
	case params.GetDistance() == qdrant.Distance_Cosine:
		return unit(data), nil
	}
	return data, nil
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

func (x points) UpdateVectors(_ context.Context, r *qdrant.UpdatePointVectors) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error { return x.updateVectors(c, r.GetPoints()) })
}

// updateVectors of the points that are there, those before the first bad vector.
func (x points) updateVectors(c *collection, given []*qdrant.PointVectors) error {
	ids := make([]string, len(given))
	for i, g := range given {
		var err error
		if ids[i], err = idText(g.GetId()); err != nil {
			return err
		}
		if g.GetVectors().GetVectorsOptions() == nil {
			return status.Error(codes.InvalidArgument, "Expected some vectors")
		}
	}
	if err := c.allowsWrite(x.s.options.Now(), len(given), true, nil); err != nil {
		return err
	}
	var unknown error
	for i, g := range given {
		p := c.points[ids[i]]
		if p == nil {
			unknown = unknownPoint(ids[i])
			continue
		}
		vectors, err := c.read(g.GetVectors())
		if err != nil {
			return err
		}
		for name, v := range p.vectors {
			if _, changed := vectors[name]; !changed {
				vectors[name] = v
			}
		}
		p.vectors = vectors
		x.s.count(func(n *Counts) { n.Updated++ })
	}
	return unknown
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
		if err := x.operate(c, operation); err != nil {
			return nil, err // what came before it stays
		}
		results = append(results, &qdrant.UpdateResult{Status: qdrant.UpdateStatus_Completed})
	}
	return &qdrant.UpdateBatchResponse{Result: results}, nil
}

func (x points) operate(c *collection, operation *qdrant.PointsUpdateOperation) error {
	switch o := operation.GetOperation().(type) {
	case *qdrant.PointsUpdateOperation_Upsert:
		return x.upsert(c, o.Upsert.GetPoints())
	case *qdrant.PointsUpdateOperation_UpdateVectors_:
		return x.updateVectors(c, o.UpdateVectors.GetPoints())
	case *qdrant.PointsUpdateOperation_SetPayload_:
		return x.setPayload(c, o.SetPayload.GetPointsSelector(), o.SetPayload.GetPayload(), o.SetPayload.GetKey())
	case *qdrant.PointsUpdateOperation_OverwritePayload_:
		return x.overwritePayload(c, o.OverwritePayload.GetPointsSelector(), o.OverwritePayload.GetPayload())
	case *qdrant.PointsUpdateOperation_DeletePayload_:
		return x.deletePayload(c, o.DeletePayload.GetPointsSelector(), o.DeletePayload.GetKeys())
	case *qdrant.PointsUpdateOperation_ClearPayload_:
		return x.overwritePayload(c, o.ClearPayload.GetPoints(), nil)
	case *qdrant.PointsUpdateOperation_DeletePoints_:
		x.s.count(func(n *Counts) { n.Deletes++ })
		return x.deletePoints(c, o.DeletePoints.GetPoints())
	}
	return status.Error(codes.Unimplemented, "no such operation here")
}

func (x points) Delete(_ context.Context, r *qdrant.DeletePoints) (*qdrant.PointsOperationResponse, error) {
	return x.change(r.GetCollectionName(), func(c *collection) error { return x.deletePoints(c, r.GetPoints()) })
}

// deletePoints by an empty filter deletes everything, as the server does.
func (x points) deletePoints(c *collection, selector *qdrant.PointsSelector) error {
	found, _, err := x.selected(c, selector)
	for _, p := range found {
		c.drop(p.text)
	}
	return err
}

// selected finds points, and says which of those that were named is not there.
func (x points) selected(c *collection, selector *qdrant.PointsSelector) (found []*point, unknown, refused error) {
	switch o := selector.GetPointsSelectorOneOf().(type) {
	case *qdrant.PointsSelector_Points:
		ids, err := idTexts(o.Points.GetIds())
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids {
			p, there := c.points[id]
			if !there {
				unknown = unknownPoint(id)
				continue
			}
			found = append(found, p)
		}
		return found, unknown, c.allowsWrite(x.s.options.Now(), len(ids), false, nil)
	case *qdrant.PointsSelector_Filter:
		holds, err := c.predicate(o.Filter)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range c.points {
			if holds(p) {
				found = append(found, p)
			}
		}
		return found, nil, c.allowsWrite(x.s.options.Now(), len(found), false, o.Filter)
	}
	return nil, nil, status.Error(codes.InvalidArgument, "PointsSelector is missing")
}

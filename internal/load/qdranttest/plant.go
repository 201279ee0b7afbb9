package qdranttest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/qdrant/go-client/qdrant"
)

// Point is one as held, for tests to compare.
type Point struct {
	ID string
	// Payload has int64, float64, string, bool, nil, []any and map[string]any.
	Payload map[string]any
	Vector  []float32 // the one without a name, or the only one
}

// Points of a collection, by id; nil where there is no such collection.
func (s *Server) Points(name string) []Point {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.collections[name]
	if c == nil {
		return nil
	}
	out := []Point{}
	for id, p := range c.points {
		held := Point{ID: id, Payload: object(p.payload)}
		for _, vector := range p.vectors {
			held.Vector = slices.Clone(vector)
		}
		out = append(out, held)
	}
	slices.SortFunc(out, func(a, b Point) int { return byID(a.ID, b.ID) })
	return out
}

func object(fields map[string]*qdrant.Value) map[string]any {
	out := make(map[string]any, len(fields))
	for name, v := range fields {
		out[name] = plain(v)
	}
	return out
}

func plain(v *qdrant.Value) any {
	switch k := v.GetKind().(type) {
	case *qdrant.Value_StringValue:
		return k.StringValue
	case *qdrant.Value_IntegerValue:
		return k.IntegerValue
	case *qdrant.Value_DoubleValue:
		return k.DoubleValue
	case *qdrant.Value_BoolValue:
		return k.BoolValue
	case *qdrant.Value_ListValue:
		out := []any{}
		for _, item := range k.ListValue.GetValues() {
			out = append(out, plain(item))
		}
		return out
	case *qdrant.Value_StructValue:
		return object(k.StructValue.GetFields())
	}
	return nil
}

// Plant puts a point there as another writer would, as a whole.
func (s *Server) Plant(collection, id string, vector []float32, payload map[string]any) error {
	values := make(map[string]*qdrant.Value, len(payload))
	for name, v := range payload {
		value, err := valueOf(v)
		if err != nil {
			return fmt.Errorf("plant %s: %w", id, err)
		}
		values[name] = value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(collection)
	if err != nil {
		return err
	}
	names := slices.Collect(maps.Keys(c.vectors))
	vectors := qdrant.NewVectors(vector...)
	if len(names) == 1 && names[0] != "" {
		vectors = qdrant.NewVectorsMap(map[string]*qdrant.Vector{names[0]: qdrant.NewVector(vector...)})
	}
	pointID := qdrant.NewID(id)
	if n, err := strconv.ParseUint(id, 10, 64); err == nil {
		pointID = qdrant.NewIDNum(n)
	}
	return points{s: s}.upsert(c, []*qdrant.PointStruct{{Id: pointID, Vectors: vectors, Payload: values}})
}

// Remove takes points away as another writer would.
func (s *Server) Remove(collection string, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.collections[collection]; c != nil {
		for _, id := range ids {
			c.drop(id)
		}
	}
}

// SetStrict sets the limits of a collection that is there.
func (s *Server) SetStrict(collection string, limits *qdrant.StrictModeConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.collections[collection]; c != nil {
		c.strict = limits
	}
}

func valueOf(v any) (*qdrant.Value, error) {
	switch v := v.(type) {
	case []string:
		list := make([]*qdrant.Value, len(v))
		for i, text := range v {
			list[i] = qdrant.NewValueString(text)
		}
		return qdrant.NewValueFromList(list...), nil
	case map[string]any:
		fields := make(map[string]*qdrant.Value, len(v))
		for name, inner := range v {
			value, err := valueOf(inner)
			if err != nil {
				return nil, err
			}
			fields[name] = value
		}
		return qdrant.NewValueFromFields(fields), nil
	case time.Time:
		return qdrant.NewValueString(v.Format(time.RFC3339Nano)), nil
	}
	return qdrant.NewValue(v)
}

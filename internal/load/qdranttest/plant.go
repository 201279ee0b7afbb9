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
	Vector  []float32            // the one without a name, or the only one
	Vectors map[string][]float32 // all, by name
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
		held := Point{ID: id, Payload: plainFields(p.payload), Vectors: map[string][]float32{}}
		for name, vector := range p.vectors {
			held.Vectors[name] = slices.Clone(vector)
			if name == "" || len(p.vectors) == 1 {
				held.Vector = held.Vectors[name]
			}
		}
		out = append(out, held)
	}
	slices.SortFunc(out, func(a, b Point) int { return byID(a.ID, b.ID) })
	return out
}

func plainFields(fields map[string]*qdrant.Value) map[string]any {
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
		return plainFields(k.StructValue.GetFields())
	}
	return nil
}

// Plant puts a point there as a whole, as another writer would: no call of it is
// counted. The vector goes under the only name, if there is one.
func (s *Server) Plant(collection, id string, vector []float32, payload map[string]any) error {
	values := make(map[string]*qdrant.Value, len(payload))
	for name, v := range payload {
		value, err := valueOf(v)
		if err != nil {
			return fmt.Errorf("plant %s: %w", id, err)
		}
		values[name] = value
	}
	pointID := qdrant.NewID(id)
	if n, err := strconv.ParseUint(id, 10, 64); err == nil {
		pointID = qdrant.NewIDNum(n)
	}
	text, err := idText(pointID)
	if err != nil {
		return fmt.Errorf("plant %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(collection)
	if err != nil {
		return err
	}
	name := ""
	if names := slices.Collect(maps.Keys(c.vectors)); len(names) == 1 {
		name = names[0]
	}
	fitting, err := c.fitting(name, vector)
	if err != nil {
		return fmt.Errorf("plant %s: %w", id, err)
	}
	c.put(&point{id: pointID, text: text, payload: values, vectors: map[string][]float32{name: fitting}})
	return nil
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

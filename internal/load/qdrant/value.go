package qdrant

import (
	"strconv"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"
)

// pointID reads an id as the seam has it: decimal digits, or a UUID, in the one form
// in which the server tells them. Another form of an id would not be found in its
// answers, and the point be taken for a new one.
func pointID(text string) (*qdrant.PointId, bool) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		return qdrant.NewIDNum(n), true
	}
	if id, err := uuid.Parse(text); err != nil || id.String() != text {
		return nil, false
	}
	return qdrant.NewIDUUID(text), true
}

func idText(id *qdrant.PointId) string {
	if n, ok := id.GetPointIdOptions().(*qdrant.PointId_Num); ok {
		return strconv.FormatUint(n.Num, 10)
	}
	return id.GetUuid()
}

// toValue is a payload value that load.Check has accepted. It cannot fail, and is
// used where the client's own conversion panics.
func toValue(v any) *qdrant.Value {
	switch v := v.(type) {
	case string:
		return qdrant.NewValueString(v)
	case bool:
		return qdrant.NewValueBool(v)
	case int:
		return qdrant.NewValueInt(int64(v))
	case int64:
		return qdrant.NewValueInt(v)
	case float64:
		return qdrant.NewValueDouble(v)
	case []string:
		list := make([]*qdrant.Value, len(v))
		for i, text := range v {
			list[i] = qdrant.NewValueString(text)
		}
		return qdrant.NewValueFromList(list...)
	case []any:
		list := make([]*qdrant.Value, len(v))
		for i, item := range v {
			list[i] = toValue(item)
		}
		return qdrant.NewValueFromList(list...)
	case map[string]any:
		return qdrant.NewValueFromFields(toFields(v))
	}
	return qdrant.NewValueNull()
}

// toFields leaves nulls out: they are the same as nothing.
func toFields(payload map[string]any) map[string]*qdrant.Value {
	out := make(map[string]*qdrant.Value, len(payload))
	for name, v := range payload {
		if v != nil {
			out[name] = toValue(v)
		}
	}
	return out
}

func fromValue(v *qdrant.Value) any {
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
		out := make([]any, len(k.ListValue.GetValues()))
		for i, item := range k.ListValue.GetValues() {
			out[i] = fromValue(item)
		}
		return out
	case *qdrant.Value_StructValue:
		return fromFields(k.StructValue.GetFields())
	}
	return nil
}

func fromFields(fields map[string]*qdrant.Value) map[string]any {
	out := make(map[string]any, len(fields))
	for name, v := range fields {
		out[name] = fromValue(v)
	}
	return out
}

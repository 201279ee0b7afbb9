package qdranttest

import (
	"strings"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// split takes a key of a payload apart.
func split(key string) ([]string, error) {
	if strings.ContainsAny(key, `[]"`) {
		return nil, status.Error(codes.Unimplemented, "keys with [] or quotes are not taken here")
	}
	path := strings.Split(key, ".")
	for _, name := range path {
		if name == "" {
			return nil, status.Error(codes.InvalidArgument, "Wrong input: a key without a name")
		}
	}
	return path, nil
}

func splitAll(keys []string) ([][]string, error) {
	paths := make([][]string, len(keys))
	for i, key := range keys {
		var err error
		if paths[i], err = split(key); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// at is the value at a path, nil where there is none. It does not look into lists.
func at(payload map[string]*qdrant.Value, path []string) *qdrant.Value {
	for _, name := range path[:len(path)-1] {
		payload = payload[name].GetStructValue().GetFields()
	}
	return payload[path[len(path)-1]]
}

// items are the values that a condition looks at: one, or those of a list.
func items(v *qdrant.Value) []*qdrant.Value {
	if v == nil {
		return nil
	}
	if list, is := v.GetKind().(*qdrant.Value_ListValue); is {
		return list.ListValue.GetValues()
	}
	return []*qdrant.Value{v}
}

func null(v *qdrant.Value) bool {
	if v == nil {
		return false
	}
	switch v.GetKind().(type) {
	case nil, *qdrant.Value_NullValue:
		return true
	}
	return false
}

// laid is a payload with another over it; what is null there goes. Payloads are
// never changed in place: replies may still be on their way.
func laid(old, over map[string]*qdrant.Value) map[string]*qdrant.Value {
	out := make(map[string]*qdrant.Value, len(old)+len(over))
	for name, v := range old {
		out[name] = v
	}
	for name, v := range over {
		if null(v) {
			delete(out, name)
			continue
		}
		out[name] = v
	}
	return out
}

// below lays a payload over the object at a path, which is made where it is missing.
func below(old map[string]*qdrant.Value, path []string, over map[string]*qdrant.Value) map[string]*qdrant.Value {
	if len(path) == 0 {
		return laid(old, over)
	}
	inner := old[path[0]].GetStructValue().GetFields()
	return laid(old, map[string]*qdrant.Value{path[0]: object(below(inner, path[1:], over))})
}

func object(fields map[string]*qdrant.Value) *qdrant.Value {
	return &qdrant.Value{Kind: &qdrant.Value_StructValue{StructValue: &qdrant.Struct{Fields: fields}}}
}

// cut is a payload without what is at a path; what holds it stays, emptied.
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
	if inner := value.GetStructValue(); inner != nil {
		out[path[0]] = object(cut(inner.GetFields(), path[1:]))
	}
	return out
}

// selection is what a reply has of payloads.
type selection struct {
	all              bool
	include, exclude [][]string
}

func selected(selector *qdrant.WithPayloadSelector) (s selection, err error) {
	switch o := selector.GetSelectorOptions().(type) {
	case *qdrant.WithPayloadSelector_Enable:
		s.all = o.Enable
	case *qdrant.WithPayloadSelector_Include:
		s.include, err = splitAll(o.Include.GetFields())
	case *qdrant.WithPayloadSelector_Exclude:
		s.all = true
		s.exclude, err = splitAll(o.Exclude.GetFields())
	}
	return s, err
}

func (s selection) of(payload map[string]*qdrant.Value) map[string]*qdrant.Value {
	if !s.all {
		return kept(payload, s.include)
	}
	for _, path := range s.exclude {
		payload = cut(payload, path)
	}
	return payload
}

// kept is what of a payload lies at some paths.
func kept(payload map[string]*qdrant.Value, paths [][]string) map[string]*qdrant.Value {
	if len(paths) == 0 {
		return nil
	}
	whole, deeper := map[string]bool{}, map[string][][]string{}
	for _, path := range paths {
		if len(path) == 1 {
			whole[path[0]] = true
			continue
		}
		deeper[path[0]] = append(deeper[path[0]], path[1:])
	}
	out := map[string]*qdrant.Value{}
	for name := range whole {
		if v, there := payload[name]; there {
			out[name] = v
		}
	}
	for name, rest := range deeper {
		if whole[name] {
			continue
		}
		switch v := payload[name].GetKind().(type) {
		case *qdrant.Value_StructValue:
			out[name] = object(kept(v.StructValue.GetFields(), rest))
		case *qdrant.Value_ListValue:
			out[name] = &qdrant.Value{Kind: &qdrant.Value_ListValue{ListValue: &qdrant.ListValue{}}}
		}
	}
	return out
}

package qdranttest

import (
	"context"
	"maps"
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// collection is one, guarded by the server's lock.
type collection struct {
	vectors       map[string]*qdrant.VectorParams // "" is the one without a name
	schema        map[string]*qdrant.PayloadSchemaInfo
	strict        *qdrant.StrictModeConfig
	reads, writes *bucket
	points        map[string]*point
	order         []string                     // ids in the order of a scroll; nil after an insert or a delete
	keys          map[string]map[string]*point // points by record_key, as the real one's index has them
}

// keyField is the one field whose index is more than a name here: every batch asks
// for it.
const keyField = "record_key"

func keysOf(p *point) (keys []string) {
	for _, v := range items(p.payload[keyField]) {
		if s, is := v.GetKind().(*qdrant.Value_StringValue); is {
			keys = append(keys, s.StringValue)
		}
	}
	return keys
}

func (c *collection) remember(p *point) {
	for _, key := range keysOf(p) {
		if c.keys[key] == nil {
			c.keys[key] = map[string]*point{}
		}
		c.keys[key][p.text] = p
	}
}

func (c *collection) forget(p *point) {
	for _, key := range keysOf(p) {
		if delete(c.keys[key], p.text); len(c.keys[key]) == 0 {
			delete(c.keys, key)
		}
	}
}

// put puts a point there, in the place of one with its id.
func (c *collection) put(p *point) {
	if old, there := c.points[p.text]; there {
		c.forget(old)
	} else {
		c.order = nil
	}
	c.points[p.text] = p
	c.remember(p)
}

func (c *collection) drop(id string) {
	if p, there := c.points[id]; there {
		c.forget(p)
		delete(c.points, id)
		c.order = nil
	}
}

// candidates are the ids, in order, among which all that match a filter are.
func (c *collection) candidates(f *qdrant.Filter) []string {
	for _, condition := range f.GetMust() {
		if condition.GetField().GetKey() != keyField {
			continue
		}
		var wanted []string
		switch o := condition.GetField().GetMatch().GetMatchValue().(type) {
		case *qdrant.Match_Keyword:
			wanted = []string{o.Keyword}
		case *qdrant.Match_Keywords:
			wanted = o.Keywords.GetStrings()
		default:
			continue
		}
		found := map[string]bool{}
		for _, key := range wanted {
			for id := range c.keys[key] {
				found[id] = true
			}
		}
		return slices.SortedFunc(maps.Keys(found), byID)
	}
	return c.ordered()
}

type collections struct {
	qdrant.UnimplementedCollectionsServer
	s *Server
}

// find is called with the lock held.
func (s *Server) find(name string) (*collection, error) {
	c, ok := s.collections[name]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Not found: Collection `%s` doesn't exist!", name)
	}
	return c, nil
}

func (x collections) CollectionExists(_ context.Context, r *qdrant.CollectionExistsRequest) (*qdrant.CollectionExistsResponse, error) {
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	_, ok := x.s.collections[r.GetCollectionName()]
	return &qdrant.CollectionExistsResponse{Result: &qdrant.CollectionExists{Exists: ok}}, nil
}

func (x collections) Create(_ context.Context, r *qdrant.CreateCollection) (*qdrant.CollectionOperationResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if _, ok := x.s.collections[r.GetCollectionName()]; ok {
		return nil, status.Errorf(codes.AlreadyExists, "Collection `%s` already exists!", r.GetCollectionName())
	}
	c := &collection{vectors: map[string]*qdrant.VectorParams{}, schema: map[string]*qdrant.PayloadSchemaInfo{},
		points: map[string]*point{}, keys: map[string]map[string]*point{}}
	c.limit(r.GetStrictModeConfig())
	if p := r.GetVectorsConfig().GetParams(); p != nil {
		c.vectors[""] = p
	}
	for name, p := range r.GetVectorsConfig().GetParamsMap().GetMap() {
		c.vectors[name] = p
	}
	if r.GetSparseVectorsConfig() != nil {
		return nil, status.Error(codes.Unimplemented, "there are no sparse vectors here")
	}
	for name, p := range c.vectors {
		if p.GetMultivectorConfig() != nil {
			return nil, status.Error(codes.Unimplemented, "there are no multiple vectors here")
		}
		if p.GetSize() < 1 || p.GetSize() > 65536 {
			return nil, status.Errorf(codes.InvalidArgument, "size of vector %q", name)
		}
	}
	x.s.collections[r.GetCollectionName()] = c
	return &qdrant.CollectionOperationResponse{Result: true}, nil
}

func (x collections) Get(_ context.Context, r *qdrant.GetCollectionInfoRequest) (*qdrant.GetCollectionInfoResponse, error) {
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	vectors := &qdrant.VectorsConfig{Config: &qdrant.VectorsConfig_ParamsMap{ParamsMap: &qdrant.VectorParamsMap{Map: c.vectors}}}
	if p, ok := c.vectors[""]; ok {
		vectors = &qdrant.VectorsConfig{Config: &qdrant.VectorsConfig_Params{Params: p}}
	}
	count := uint64(len(c.points))
	return &qdrant.GetCollectionInfoResponse{Result: &qdrant.CollectionInfo{
		Status: qdrant.CollectionStatus_Green, PointsCount: &count, PayloadSchema: maps.Clone(c.schema),
		Config: &qdrant.CollectionConfig{Params: &qdrant.CollectionParams{VectorsConfig: vectors}, StrictModeConfig: c.strict},
	}}, nil
}

func (x collections) List(context.Context, *qdrant.ListCollectionsRequest) (*qdrant.ListCollectionsResponse, error) {
	x.s.mu.RLock()
	defer x.s.mu.RUnlock()
	var out []*qdrant.CollectionDescription
	for name := range x.s.collections {
		out = append(out, &qdrant.CollectionDescription{Name: name})
	}
	slices.SortFunc(out, func(a, b *qdrant.CollectionDescription) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return &qdrant.ListCollectionsResponse{Collections: out}, nil
}

func (x collections) Update(_ context.Context, r *qdrant.UpdateCollection) (*qdrant.CollectionOperationResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if r.GetStrictModeConfig() != nil {
		c.limit(r.GetStrictModeConfig())
	}
	return &qdrant.CollectionOperationResponse{Result: true}, nil
}

func (x collections) Delete(_ context.Context, r *qdrant.DeleteCollection) (*qdrant.CollectionOperationResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	_, ok := x.s.collections[r.GetCollectionName()]
	delete(x.s.collections, r.GetCollectionName())
	return &qdrant.CollectionOperationResponse{Result: ok}, nil
}

func (x points) CreateFieldIndex(_ context.Context, r *qdrant.CreateFieldIndexCollection) (*qdrant.PointsOperationResponse, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	c, err := x.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	kind := schemaType(r.GetFieldType())
	if r.FieldType == nil || kind == qdrant.PayloadSchemaType_UnknownType {
		return nil, status.Error(codes.InvalidArgument, "field type is missing or not known here")
	}
	c.schema[r.GetFieldName()] = &qdrant.PayloadSchemaInfo{DataType: kind}
	return done(), nil
}

func schemaType(t qdrant.FieldType) qdrant.PayloadSchemaType {
	switch t {
	case qdrant.FieldType_FieldTypeKeyword:
		return qdrant.PayloadSchemaType_Keyword
	case qdrant.FieldType_FieldTypeInteger:
		return qdrant.PayloadSchemaType_Integer
	case qdrant.FieldType_FieldTypeFloat:
		return qdrant.PayloadSchemaType_Float
	case qdrant.FieldType_FieldTypeBool:
		return qdrant.PayloadSchemaType_Bool
	case qdrant.FieldType_FieldTypeText:
		return qdrant.PayloadSchemaType_Text
	case qdrant.FieldType_FieldTypeDatetime:
		return qdrant.PayloadSchemaType_Datetime
	case qdrant.FieldType_FieldTypeUuid:
		return qdrant.PayloadSchemaType_Uuid
	}
	return qdrant.PayloadSchemaType_UnknownType
}

func done() *qdrant.PointsOperationResponse {
	return &qdrant.PointsOperationResponse{Result: &qdrant.UpdateResult{Status: qdrant.UpdateStatus_Completed}}
}

package qdrant

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

const (
	metadataField = "metadata"
	// A page of these fields has some 800 bytes a point: 1000 stay far below the
	// 4 MiB that receivers of gRPC take by default.
	pagePoints = 1000
	// Keys in one filter.
	lookupKeys = 256
)

// scanned are the fields of load.PointSchema behind the id, where they may stand.
func scanned() *qdrant.WithPayloadSelector {
	var fields []string
	for _, f := range load.PointSchema().Fields()[1:] {
		fields = append(fields, f.Name)
		if !record.TopLevel(f.Name) {
			fields = append(fields, metadataField+"."+f.Name)
		}
	}
	return qdrant.NewWithPayloadInclude(fields...)
}

// text is a field of a payload in either layout, where it is a string.
func text(payload map[string]*qdrant.Value, name string, topLevel bool) string {
	v := payload[name]
	if _, null := v.GetKind().(*qdrant.Value_NullValue); (v == nil || null) && !topLevel {
		v = payload[metadataField].GetStructValue().GetFields()[name]
	}
	return v.GetStringValue()
}

// Scan implements load.Store.
func (s *Store) Scan(ctx context.Context, fn func(arrow.RecordBatch) error) error {
	held, err := s.known(ctx)
	if err != nil || !held.exists {
		return err
	}
	schema := load.PointSchema()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	columns := make([]*array.StringBuilder, schema.NumFields())
	names, top := make([]string, len(columns)), make([]bool, len(columns))
	for i := range columns {
		columns[i] = b.Field(i).(*array.StringBuilder)
		names[i], top[i] = schema.Field(i).Name, record.TopLevel(schema.Field(i).Name)
	}
	return s.scroll(ctx, held, nil, scanned(), func(points []*qdrant.RetrievedPoint) error {
		for _, p := range points {
			columns[0].Append(idText(p.GetId()))
			for i := 1; i < len(columns); i++ {
				if value := text(p.GetPayload(), names[i], top[i]); value != "" {
					columns[i].Append(value)
				} else {
					columns[i].AppendNull()
				}
			}
		}
		batch := b.NewRecordBatch()
		defer batch.Release()
		return fn(batch)
	})
}

// scroll hands the points that match a filter to fn, page by page. A page that is
// too much for a message is asked for by halves.
func (s *Store) scroll(ctx context.Context, held *described, filter *qdrant.Filter, fields *qdrant.WithPayloadSelector, fn func([]*qdrant.RetrievedPoint) error) error {
	limit := uint32(pagePoints)
	if most := held.strict.MaxQueryLimit; most != nil {
		limit = max(1, min(limit, *most))
	}
	var offset *qdrant.PointId
	for {
		page, err := again(ctx, s, "Scroll", func(ctx context.Context) (*qdrant.ScrollResponse, error) {
			return s.client.GetPointsClient().Scroll(ctx, &qdrant.ScrollPoints{
				CollectionName: s.options.Collection, Filter: filter, Offset: offset, Limit: &limit, WithPayload: fields,
			})
		})
		var tooMuch *callError
		if errors.As(err, &tooMuch) && limit > 1 && (tooMuch.code == codes.ResourceExhausted || tooMuch.code == codes.OutOfRange) {
			limit /= 2
			continue
		}
		if err != nil {
			return s.final(err)
		}
		if len(page.GetResult()) > 0 {
			if err := fn(page.GetResult()); err != nil {
				return err
			}
		}
		if offset = page.GetNextPageOffset(); offset == nil {
			return nil
		}
	}
}

// Lookup implements load.Store.
func (s *Store) Lookup(ctx context.Context, keys []string) ([]load.Point, error) {
	held, err := s.known(ctx)
	if err != nil || !held.exists {
		return nil, err
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	// No point has such a key, and no message could ask for it.
	keys = slices.DeleteFunc(keys, func(key string) bool { return !utf8.ValidString(key) })
	size := lookupKeys
	if most := held.strict.ConditionMaxSize; most != nil {
		size = int(max(1, min(uint64(size), *most)))
	}
	var points []load.Point
	for piece := range slices.Chunk(keys, size) {
		filter := &qdrant.Filter{Must: []*qdrant.Condition{qdrant.NewMatchKeywords("record_key", piece...)}}
		err := s.scroll(ctx, held, filter, scanned(), func(page []*qdrant.RetrievedPoint) error {
			for _, p := range page {
				points = append(points, pointOf(p))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(points, func(a, b load.Point) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID)) })
	return points, nil
}

func pointOf(p *qdrant.RetrievedPoint) load.Point {
	field := func(name string) string { return text(p.GetPayload(), name, true) }
	return load.Point{
		ID: idText(p.GetId()), Key: field("record_key"), Kind: field("kind"), Ref: field("ref"), Workspace: field("workspace"),
		ContentHash: field("content_hash"), TextHash: field("text_hash"), PayloadHash: field("payload_hash"), EmbedSpace: field("embed_space"),
	}
}

// payloads reads points by their ids, whole or some fields.
func (s *Store) payloads(ctx context.Context, ids []*qdrant.PointId, fields *qdrant.WithPayloadSelector) (map[string]map[string]*qdrant.Value, error) {
	out := make(map[string]map[string]*qdrant.Value, len(ids))
	var read func([]*qdrant.PointId) error
	read = func(ids []*qdrant.PointId) error {
		reply, err := once(ctx, s, "Get", func(ctx context.Context) (*qdrant.GetResponse, error) {
			return s.client.GetPointsClient().Get(ctx, &qdrant.GetPoints{CollectionName: s.options.Collection, Ids: ids, WithPayload: fields})
		})
		var tooMuch *callError
		if errors.As(err, &tooMuch) && len(ids) > 1 && !tooMuch.transient() && (tooMuch.code == codes.ResourceExhausted || tooMuch.code == codes.OutOfRange) {
			half := len(ids) / 2
			return errors.Join(read(ids[:half]), read(ids[half:]))
		}
		for _, p := range reply.GetResult() {
			out[idText(p.GetId())] = p.GetPayload()
		}
		return err
	}
	for piece := range slices.Chunk(ids, lookupKeys) {
		if err := read(piece); err != nil {
			return nil, err
		}
	}
	return out, nil
}

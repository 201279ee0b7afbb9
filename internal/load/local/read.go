//go:build duckdb_arrow

package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
	query "github.com/thtbatch/thtbatch/sql"
)

// Scan implements load.Store.
func (s *Store) Scan(ctx context.Context, fn func(arrow.RecordBatch) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if s.dimensions == 0 {
		return nil
	}
	if err := s.db.ReadArrow(ctx, fn, query.Text("local/scan")); err != nil {
		return fmt.Errorf("scan %s: %w", s.db.Path(), err)
	}
	return nil
}

// Lookup implements load.Store.
func (s *Store) Lookup(ctx context.Context, keys []string) ([]load.Point, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	if s.dimensions == 0 || len(keys) == 0 {
		return nil, nil
	}
	var points []load.Point
	read := func(rows *duck.Rows) error {
		var p load.Point
		err := rows.Scan(&p.ID, &p.Key, &p.Kind, &p.Ref, &p.Workspace, &p.ContentHash, &p.TextHash, &p.PayloadHash, &p.EmbedSpace)
		points = append(points, p)
		return err
	}
	if err := s.each(ctx, read, query.Text("local/lookup"), sql.Named("keys", keys)); err != nil {
		return nil, fmt.Errorf("look up %d keys in %s: %w", len(keys), s.db.Path(), err)
	}
	return points, nil
}

// Search implements load.Store. It looks at every point of the kind: 100,000 of
// 512 dimensions are some 0.1 CPU-seconds, more with a filter on a field other
// than record_key, ref, type, session_id and workspace.
func (s *Store) Search(ctx context.Context, q load.Query) ([]load.Hit, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	if err := load.CheckQuery(q, s.db.Path(), s.dimensions); err != nil {
		return nil, fmt.Errorf("search %s: %w", s.db.Path(), err)
	}
	if s.dimensions == 0 {
		return nil, nil
	}
	kinds := []string{q.Kind}
	if q.Kind == "" {
		kinds = []string{record.KindMemory, record.KindSolved}
	}
	args := []any{
		sql.Named("query", load.Unit(q.Vector)), sql.Named("kinds", kinds),
		sql.Named("memory", record.KindMemory), sql.Named("reusable", record.ReusableType),
		sql.Named("limit", q.Limit), sql.Named("offset", q.Offset),
	}
	filters, err := s.filter(ctx, q.Filter)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", s.db.Path(), err)
	}
	var hits []load.Hit
	read := func(rows *duck.Rows) error {
		var h load.Hit
		var payload string
		if err := rows.Scan(&h.PointID, &h.Key, &h.Ref, &h.Score, &payload); err != nil {
			return err
		}
		if h.Payload, err = decode(payload); err != nil {
			return fmt.Errorf("payload of %s: %w", h.PointID, err)
		}
		h.Payload, _ = plain(h.Payload).(map[string]any)
		hits = append(hits, h)
		return nil
	}
	if err := s.each(ctx, read, statement("search", s.dimensions), append(args, filters...)...); err != nil {
		return nil, fmt.Errorf("search %s: %w", s.db.Path(), err)
	}
	return hits, nil
}

// filter collects the places that satisfy the filters on fields without a
// column of their own, and returns the arguments that a search takes for all
// filters.
func (s *Store) filter(ctx context.Context, filter map[string]string) ([]any, error) {
	if err := s.db.Exec(ctx, query.Text("local/matching")); err != nil {
		return nil, err
	}
	columns := map[string]string{"record_key": "", "ref": "", "type": "", "session_id": "", "workspace": ""}
	others := 0
	for name, value := range filter {
		if _, ok := columns[name]; ok {
			columns[name] = value
			continue
		}
		others++
		within := `$."metadata"."` + name + `"`
		if record.TopLevel(name) {
			within = `$."` + name + `"`
		}
		err := s.db.Exec(ctx, query.Text("local/filter"), sql.Named("beside", `$."`+name+`"`),
			sql.Named("within", within), sql.Named("hint", hint(value)), sql.Named("value", value))
		if err != nil {
			return nil, err
		}
	}
	args := []any{sql.Named("filters", others)}
	for name, value := range columns {
		args = append(args, sql.Named(name, value))
	}
	return args, nil
}

// hint is value as JSON has it when no character of it is ever escaped there.
func hint(value string) string {
	for _, c := range value {
		if c < ' ' || c == 0x7f || strings.ContainsRune("\"\\/<>&\u2028\u2029", c) {
			return ""
		}
	}
	return `"` + value + `"`
}

// each runs read on every row of a statement.
func (s *Store) each(ctx context.Context, read func(*duck.Rows) error, text string, args ...any) error {
	rows, err := s.db.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// decode reads a payload and keeps its numbers as they are written: a number
// of another writer must not change because we passed over it.
func decode(payload string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(payload))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("not a JSON object")
	}
	return out, nil
}

// plain turns the numbers of a decoded payload into int64 where they fit and
// float64 where not.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // out of range: an infinity, which says it best
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	}
	return v
}

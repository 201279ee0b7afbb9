package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/publish"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// rows of a statement, each as JSON with sorted names, sorted: what can be
// compared.
type rows []string

// views are the rows of every public view.
type views map[string]rows

// aside are the columns that say who ran, and when.
var aside = []string{"run_id", "seen_at", "started_at", "finished_at"}

// collector takes the rows of a statement.
type collector struct {
	names []string
	rows  rows
}

func (c *collector) header(names []string) error {
	c.names = slices.Clone(names)
	return nil
}

func (c *collector) row(values []any) error {
	row := map[string]any{}
	for i, name := range c.names {
		if !slices.Contains(aside, name) {
			row[name] = values[i]
		}
	}
	text, err := json.Marshal(row)
	c.rows = append(c.rows, string(text))
	return err
}

// query asks the published views.
func (d *desk) query(t *testing.T, statement string) rows {
	t.Helper()
	published, err := warehouse.OpenPublished(t.Context(), d.state("published", publish.Current), duck.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer published.Close()
	var c collector
	if err := published.Query(t.Context(), statement, c.header, c.row); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	slices.Sort(c.rows)
	return c.rows
}

// views reads all public views, from the published database and from the
// Parquet files, which must agree. The runs are left out: they are the history
// and not the content, as the plans of former runs are.
func (d *desk) views(t *testing.T) views {
	t.Helper()
	dir := d.state("published", publish.Current)
	published, err := warehouse.OpenPublished(t.Context(), dir, duck.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer published.Close()
	files, err := duck.Open(t.Context(), duck.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	out := views{}
	for _, v := range warehouse.Views() {
		if v.Name == "runs" || v.Name == "index_plan" {
			continue
		}
		var c, parquet collector
		if err := published.Query(t.Context(), "SELECT * FROM "+v.Name, c.header, c.row); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, warehouse.ParquetFile(v.Name))
		if err := files.ReadRows(t.Context(), parquet.header, parquet.row, "SELECT * FROM read_parquet("+duck.Quote(path)+")"); err != nil {
			t.Fatal(err)
		}
		slices.Sort(c.rows)
		slices.Sort(parquet.rows)
		if !slices.Equal(c.rows, parquet.rows) {
			t.Errorf("%s: the database and the Parquet file differ:\n%s", v.Name, difference(parquet.rows, c.rows))
		}
		out[v.Name] = c.rows
	}
	return out
}

// planOf is the action of each record in the plan of the summary's run, from
// the warehouse: an unchanged night publishes no plan. Where two points have
// one key, both actions, joined by +.
func (d *desk) planOf(t *testing.T, s summary) map[string]string {
	t.Helper()
	out := map[string]string{}
	withFile(t, d.state("warehouse.duckdb"), true, func(ctx context.Context, db *duck.DB) error {
		return db.ReadRows(ctx, func([]string) error { return nil }, func(row []any) error {
			key, action := row[0].(string), row[1].(string)
			if before, twice := out[key]; twice {
				action = before + "+" + action
			}
			out[key] = action
			return nil
		}, "SELECT record_key, action FROM index_plan WHERE run_id = $1 ORDER BY action = 'twin', action", s.RunID)
	})
	return out
}

// sameViews fails with the rows that differ.
func sameViews(t *testing.T, what string, got, want views) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: view %s differs:\n%s", what, name, difference(got[name], want[name]))
		}
	}
}

// difference shows some of the rows that only one side has.
func difference(got, want rows) string {
	const most = 6
	var b strings.Builder
	show := func(sign string, have, other rows) {
		n := 0
		count := map[string]int{}
		for _, row := range other {
			count[row]++
		}
		for _, row := range have {
			if count[row]--; count[row] < 0 {
				if n++; n <= most {
					fmt.Fprintf(&b, "  %s %s\n", sign, row)
				}
			}
		}
		if n > most {
			fmt.Fprintf(&b, "  %s … %d more\n", sign, n-most)
		}
	}
	show("unexpected", got, want)
	show("missing   ", want, got)
	return b.String()
}

// point is what the store itself holds.
type point struct {
	Payload map[string]any
	Vector  string
}

// index reads the store's own file: payloads, without who wrote them and when,
// and vectors, by point id.
func (d *desk) index(t *testing.T) map[string]point {
	t.Helper()
	return pointsIn(t, d.state("index", "local.duckdb"))
}

func pointsIn(t *testing.T, path string) map[string]point {
	t.Helper()
	out := map[string]point{}
	withFile(t, path, true, func(ctx context.Context, db *duck.DB) error {
		return db.ReadRows(ctx, func([]string) error { return nil }, func(row []any) error {
			p := point{Vector: row[2].(string)}
			if err := json.Unmarshal([]byte(row[1].(string)), &p.Payload); err != nil {
				return err
			}
			delete(p.Payload, "run_id")
			delete(p.Payload, "indexed_at")
			if _, twice := out[row[0].(string)]; twice {
				t.Errorf("point %s is there twice", row[0])
			}
			out[row[0].(string)] = p
			return nil
		}, "SELECT point_id, payload::VARCHAR, vector::VARCHAR FROM points")
	})
	return out
}

// withFile opens a DuckDB file as its owner would by hand.
func withFile(t *testing.T, path string, readOnly bool, fn func(context.Context, *duck.DB) error) {
	t.Helper()
	db, err := duck.Open(t.Context(), duck.Options{Path: path, ReadOnly: readOnly, Threads: 1, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := fn(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func (p point) text(name string) string {
	s, _ := p.Payload[name].(string)
	return s
}

// samePoints compares two indexes by content: ids, payloads and vectors.
func samePoints(t *testing.T, what string, got, want map[string]point) {
	t.Helper()
	g, w := pointRows(t, got), pointRows(t, want)
	if !slices.Equal(g, w) {
		t.Errorf("%s: the points differ:\n%s", what, difference(g, w))
	}
}

// pointRows are rows with a vector's hash in the place of the vector.
func pointRows(t *testing.T, points map[string]point) rows {
	t.Helper()
	out := rows{}
	for id, p := range points {
		out = append(out, p.text("record_key")+" "+canonical(t, p.Payload)+" "+record.Hash(p.Vector)+" "+id)
	}
	slices.Sort(out)
	return out
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

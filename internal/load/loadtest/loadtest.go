// Package loadtest is the conformance suite of load.Store: what every store
// promises, as tests. A store runs it from a test of its own.
package loadtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
)

// Store is a store under test. Plant puts a point there as another writer
// would: no rule of Write is asked, and a point with this id is replaced as a
// whole. The vector's length is that of the last Prepare.
type Store interface {
	load.Store
	Plant(ctx context.Context, pointID string, vector []float32, payload map[string]any) error
}

// Run runs the suite. open returns a new store that holds nothing and was not
// prepared, and closes it at the end of its test. Point ids are UUIDs.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, c := range slices.Concat(readCases(), writeCases(), refusalCases()) {
		t.Run(c.name, func(t *testing.T) { c.run(&trial{T: t, Store: open(t)}) })
	}
}

type testCase struct {
	name string
	run  func(*trial)
}

// dims is the dimension of the suite's vectors.
const dims = 4

// trial is one test with its store.
type trial struct {
	*testing.T
	Store
}

func (b *trial) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *trial) prepare() {
	b.Helper()
	b.must(b.Prepare(b.Context(), dims))
}

func (b *trial) write(writes ...load.Write) {
	b.Helper()
	b.must(b.Write(b.Context(), writes))
}

func (b *trial) plant(id string, vector []float32, payload map[string]any) {
	b.Helper()
	b.must(b.Plant(b.Context(), id, vector, payload))
}

func (b *trial) search(q load.Query) []load.Hit {
	b.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	hits, err := b.Search(b.Context(), q)
	b.must(err)
	return hits
}

func (b *trial) lookup(keys ...string) []load.Point {
	b.Helper()
	points, err := b.Lookup(b.Context(), keys)
	b.must(err)
	return points
}

// scan returns the rows of a scan by point id.
func (b *trial) scan() map[string][]string {
	b.Helper()
	rows := make(map[string][]string)
	b.must(b.Scan(b.Context(), func(batch arrow.RecordBatch) error {
		if !batch.Schema().Equal(load.PointSchema()) {
			return fmt.Errorf("a scan gives %s, not %s", batch.Schema(), load.PointSchema())
		}
		for i := range int(batch.NumRows()) {
			var row []string
			for _, column := range batch.Columns() {
				value := ""
				if column.IsValid(i) {
					value = strings.Clone(column.(*array.String).Value(i))
				}
				row = append(row, value)
			}
			if _, twice := rows[row[0]]; twice {
				return fmt.Errorf("a scan gives %s twice", row[0])
			}
			rows[row[0]] = row
		}
		return nil
	}))
	return rows
}

// content is everything that the seam shows of the points of our kinds: their
// payloads, and their vectors by the angle to each axis.
func (b *trial) content() map[string]string {
	b.Helper()
	out := make(map[string]string)
	for axis := range dims {
		for _, hit := range b.search(load.Query{Vector: direction(axis), Limit: 10_000}) {
			payload, err := load.JSON(withoutNulls(hit.Payload))
			b.must(err)
			out[hit.PointID] += fmt.Sprintf("%.5f ", hit.Score)
			if axis == dims-1 {
				out[hit.PointID] += string(payload)
			}
		}
	}
	return out
}

// wantContent fails unless the store holds exactly what want was.
func (b *trial) wantContent(want map[string]string) {
	b.Helper()
	if got := b.content(); !maps.Equal(got, want) {
		b.Fatalf("the store holds\n%v\nwant\n%v", got, want)
	}
}

func (b *trial) wantKeys(hits []load.Hit, want ...string) {
	b.Helper()
	var got []string
	for _, h := range hits {
		got = append(got, h.Key)
	}
	if !slices.Equal(got, want) {
		b.Fatalf("found %q, want %q", got, want)
	}
}

// wantRefused fails unless err names exactly these keys and reasons.
func (b *trial) wantRefused(err error, want ...load.ItemError) {
	b.Helper()
	var refused *load.RefusedError
	if !errors.As(err, &refused) {
		b.Fatalf("%v, want a refusal", err)
	}
	if !slices.Equal(refused.Items, want) {
		b.Fatalf("refused %v, want %v", refused.Items, want)
	}
}

func (b *trial) wantPayload(pointID string, want map[string]any) {
	b.Helper()
	kind, _ := want["kind"].(string)
	for _, h := range b.search(load.Query{Vector: direction(0), Kind: kind, Limit: 100}) {
		if h.PointID == pointID {
			if got, want := withoutNulls(h.Payload), withoutNulls(want); !reflect.DeepEqual(got, want) {
				b.Fatalf("payload is\n%v\nwant\n%v", got, want)
			}
			return
		}
	}
	b.Fatalf("point %s is not found", pointID)
}

// withoutNulls is a payload as a store may give it back: without fields that
// are null.
func withoutNulls(payload map[string]any) map[string]any {
	out := make(map[string]any, len(payload))
	for name, value := range payload {
		if object, ok := value.(map[string]any); ok {
			value = withoutNulls(object)
		}
		if value != nil {
			out[name] = value
		}
	}
	return out
}

// direction is the unit vector of an axis.
func direction(axis int) []float32 {
	v := make([]float32, dims)
	v[axis] = 1
	return v
}

// memory is a write of a Memory that is inserted under our own id.
func memory(n int, vector ...float32) load.Write {
	ref := fmt.Sprintf("mem-%04d", n)
	key := record.MemoryKey(ref)
	return load.Write{PointID: record.PointID(key), Key: key, Vector: vector, Payload: map[string]any{
		"record_key": key, "kind": record.KindMemory, "ref": ref, "type": record.ReusableType,
		"session_id": fmt.Sprintf("s%d", n%3), "workspace": "w", "subject": "subject " + ref,
		"content_hash": record.Hash(ref), "text_hash": record.Hash("text " + ref),
		"payload_hash": record.Hash("payload " + ref), "embed_space": "test/4",
		"tables": []string{"dim_a", fmt.Sprintf("dim_%d", n)}, "decision_seq": int64(n), "ts": nil,
	}}
}

// solved is a write of a solved pair.
func solved(n int, vector ...float32) load.Write {
	session := fmt.Sprintf("s%d", n)
	key := record.SolvedKey(session)
	return load.Write{PointID: record.PointID(key), Key: key, Vector: vector, Payload: map[string]any{
		"record_key": key, "kind": record.KindSolved, "ref": session, "session_id": session, "workspace": "w",
		"question": "how many?", "sql": "SELECT 1", "tables": []string{},
	}}
}

// with is w with some payload fields set.
func with(w load.Write, fields map[string]any) load.Write {
	w.Payload = maps.Clone(w.Payload)
	maps.Copy(w.Payload, fields)
	return w
}

// nested is w in the nested layout.
func nested(w load.Write) load.Write {
	payload, metadata := make(map[string]any), make(map[string]any)
	for name, value := range w.Payload {
		if record.TopLevel(name) {
			payload[name] = value
		} else {
			metadata[name] = value
		}
	}
	payload["metadata"] = metadata
	w.Payload = payload
	return w
}

// otherID is the id under which another writer keeps a key.
func otherID(key string) string { return record.PointID("other:" + key) }

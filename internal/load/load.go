// Package load is the seam between the jobs and the vector store that holds
// the index. What every store promises is written here and held by package
// loadtest; the stores are its subpackages.
package load

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// Store is an index of points: a vector and a payload under an id. Its methods
// may be called from several goroutines at once. There is deliberately no
// Delete: a job that loads has nothing in its hands that could remove a point.
type Store interface {
	// Info reports what the store holds. A store that was never prepared is no
	// error: Exists is false.
	Info(ctx context.Context) (Info, error)

	// Prepare creates what is absent for vectors of this many dimensions, and
	// does nothing when it is there. Where another dimension is held it returns
	// a *DimensionError, where the place is not one that this program can use
	// (another distance, another name of the vector) a classified error, and
	// changes nothing.
	Prepare(ctx context.Context, dimensions int) error

	// Scan hands every point of every kind to fn, without vectors and in no
	// particular order, in batches of PointSchema. A batch, and every string
	// read from it, is valid until fn returns. fn runs in the caller's
	// goroutine and calls no method of the store. An error of fn ends the scan
	// and is returned as it is.
	Scan(ctx context.Context, fn func(arrow.RecordBatch) error) error

	// Lookup returns the points that have one of these record keys, twins
	// included, ordered by key and point id. Unknown keys are no error.
	Lookup(ctx context.Context, keys []string) ([]Point, error)

	// Write inserts or updates points by their id. When it returns nil all of
	// them are durable. An update lays the fields that are ours over what is
	// held and leaves those of another writer alone (see Merge). Of a point that
	// is interrupted half-way, the hashes are what is written last.
	//
	// A *RefusedError names every write that can never be taken as it is, and
	// says whether the others were written or nothing was; in the second case
	// they may be sent again without them. After any other error a store with
	// transactions holds nothing of the batch, and a store across a network may
	// hold some of it: the same Write again leads to the same content.
	Write(ctx context.Context, writes []Write) error

	// Search ranks points by cosine similarity, descending, equal ones by
	// record key and point id. Points of kind memory whose type is not reusable
	// (record.Reusable) are left out before Limit and Offset count, so that
	// vectors made when other types could become Memory neither show nor take
	// the place of what may show. A store that was never prepared has no hits;
	// a query vector that is no direction (NaN, zero …) is a *RefusedError, one
	// of another dimension a *DimensionError.
	Search(ctx context.Context, q Query) ([]Hit, error)

	// Close releases the store. What Write returned nil for stays.
	Close() error
}

// Info is what a store is and holds.
type Info struct {
	Exists     bool
	Dimensions int
	Points     int64  // of every kind
	Place      string // the file, or the address and the collection; also of one that does not exist
	Version    string // of the server; empty where there is none
}

// Point is what a plan compares and what confirms a write, as held. A field
// that the payload lacks is empty.
type Point struct {
	ID, Key, Kind, Ref, Workspace                  string
	ContentHash, TextHash, PayloadHash, EmbedSpace string
}

// Write is one point to insert or to update.
type Write struct {
	// PointID is the id of the point, ours or another writer's.
	PointID string
	// Key is the record key; the payload has it too, under record_key.
	Key string
	// Vector is a direction: a store may bring it to unit length. Nil leaves the
	// vector of an existing point as it is.
	Vector []float32
	// Payload holds JSON values, metadata in either layout. Null is the same as
	// no field, and a store may drop it.
	Payload map[string]any
}

// Query is what Search asks.
type Query struct {
	// Vector needs no unit length.
	Vector []float32
	// Kind of the points; empty means both of ours. A kind that is not ours can
	// be named, to look at what another writer keeps in the same index.
	Kind string
	// Filter holds the payload fields that must have this value: a string equal
	// to it, or a list that has such a string. Metadata is found in either
	// layout; the fields of record.OwnedFields are read at the top level alone.
	// A name is letters, digits and underscores, a value is not empty.
	Filter map[string]string
	// Limit is at least 1, Offset at least 0.
	Limit, Offset int
}

// Hit is a point that Search found.
type Hit struct {
	PointID, Key, Ref string
	Score             float64 // cosine similarity, -1 to 1
	// Payload is the whole payload as held. Integers that fit are int64, other
	// numbers float64, lists []any, objects map[string]any.
	Payload map[string]any
}

// pointFields are the payload fields of PointSchema, after point_id.
func pointFields() []string {
	return []string{
		"record_key", "kind", "ref", "type", "session_id", "workspace",
		"content_hash", "text_hash", "payload_hash", "embed_space",
	}
}

// PointSchema is the schema of a scan: point_id, record_key, kind, ref, type,
// session_id, workspace, content_hash, text_hash, payload_hash, embed_space,
// all utf8. A field that the payload lacks, or has as something other than a
// string, or as an empty one, is null.
func PointSchema() *arrow.Schema {
	fields := []arrow.Field{{Name: "point_id", Type: arrow.BinaryTypes.String, Nullable: true}}
	for _, name := range pointFields() {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// PointRow is a point in the order of PointSchema, empty where it has null.
func PointRow(pointID string, payload map[string]any) []string {
	names := pointFields()
	row := make([]string, 1, len(names)+1)
	row[0] = pointID
	for _, name := range names {
		row = append(row, String(payload, name))
	}
	return row
}

package main

import (
	"github.com/thtbatch/thtbatch/internal/jobs"
	"github.com/thtbatch/thtbatch/internal/record"
)

// A message to a server must fit what receivers take by default, 4 MiB.
const mostBatchBytes = 4_000_000

// indexSettings say where vectors are kept, and how they are written.
func indexSettings() []setting {
	return []setting{
		{key: "index.store", doc: "Where vectors are kept: local, a file in state.dir, or qdrant, a server.",
			at: func(s *jobs.Settings) value { return word{to: &s.Index.Store, among: []string{"local", "qdrant"}} }},
		{key: "index.layout", doc: "Metadata beside the other fields of a record (flat) or in an object (nested). Both are read.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.Index.Layout, among: []string{string(record.Flat), string(record.Nested)}}
			}},
		{key: "index.adopt_as", doc: "The embed_space that records of another writer, which name none, were embedded in. Empty: unknown, they are left alone.",
			at: func(s *jobs.Settings) value { return word{to: &s.Index.AdoptAs} }},
		{key: "index.batch", doc: "Records in one batch, 1 to 1000. 0: 512 with local, 256 with qdrant.",
			at: func(s *jobs.Settings) value { return number{&s.Index.Batch, 0, 1000} }},
		{key: "index.batch_bytes", doc: "Bytes of one batch, vectors included.",
			at: func(s *jobs.Settings) value { return number{&s.Index.BatchBytes, 1, mostBatchBytes} }},

		{key: "index.url", doc: "qdrant: its gRPC address, http:// or https://. A key goes over http:// to this machine alone.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.Index.URL, check: isURL, shape: "http://host:6334|https://host:6334"}
			}},
		{key: "index.collection", doc: "qdrant: the collection. It is made when it is not there.",
			at: func(s *jobs.Settings) value {
				return word{to: &s.Index.Collection, check: isFileName, shape: "name"}
			}},
		{key: "index.vector", doc: "qdrant: the name of the vector in a point. Empty: the one without a name.",
			at: func(s *jobs.Settings) value { return word{to: &s.Index.Vector} }},
		{key: "index.key_file", doc: "qdrant: a file that only its owner can read, with the key for reading and writing. THTBATCH_INDEX_KEY stands above it.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.Index.KeyFile} }},
		{key: "index.delete_key_file", doc: "qdrant: the same for the key that deletes. THTBATCH_INDEX_DELETE_KEY stands above it. Without one nothing can be deleted.", dir: true,
			at: func(s *jobs.Settings) value { return word{to: &s.Index.DeleteKeyFile} }},
		{key: "index.timeout", doc: "qdrant: how long one call may take.",
			at: func(s *jobs.Settings) value { return duration{&s.Index.Timeout} }},
		{key: "index.tries", doc: "qdrant: how often a call is tried, with growing pauses, before the run fails.",
			at: func(s *jobs.Settings) value { return number{&s.Index.Tries, 1, 100} }},
		{key: "index.pause", doc: "qdrant: the pause before the second try; each further one is longer.",
			at: func(s *jobs.Settings) value { return duration{&s.Index.Pause} }},
		{key: "index.streams", doc: "qdrant: batches that are written at once, 1 to 8.",
			at: func(s *jobs.Settings) value { return number{&s.Index.Streams, 1, 8} }},
	}
}

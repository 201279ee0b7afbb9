package jobs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/load/local"
	"github.com/thtbatch/thtbatch/internal/load/qdrant"
	"github.com/thtbatch/thtbatch/internal/secret"
	"github.com/thtbatch/thtbatch/internal/state"
)

// The variables that hold keys. No setting does.
const (
	indexKeyVariable  = "THTBATCH_INDEX_KEY"
	deleteKeyVariable = "THTBATCH_INDEX_DELETE_KEY"
	embedKeyVariable  = "THTBATCH_EMBED_KEY"
)

// Records in a batch, where the setting leaves it to the store.
const (
	localBatch  = 512
	servedBatch = 256
)

// served tells an index on a server from one in the state directory.
func (e *Env) served() bool { return e.Settings.Index.Store == "qdrant" }

// batchSize is how many records are written at a time.
func (e *Env) batchSize() int {
	if e.served() {
		return cmp.Or(e.Settings.Index.Batch, servedBatch)
	}
	return cmp.Or(e.Settings.Index.Batch, localBatch)
}

// writers is how many batches are written at once: a file has one writer.
func (e *Env) writers() int {
	if e.served() {
		return e.Settings.Index.Streams
	}
	return 1
}

// place is where the index is, as a person names it.
func (r *recorded) place() string {
	if r.env.served() {
		return r.env.serverPlace()
	}
	return r.dir.Index()
}

func (e *Env) serverPlace() string {
	return strings.TrimSuffix(e.Settings.Index.URL, "/") + "/" + e.Settings.Index.Collection
}

// openStore opens the index for writing.
func (r *recorded) openStore(ctx context.Context) (load.Store, error) {
	if r.env.served() {
		return r.env.openServer(ctx)
	}
	if err := os.MkdirAll(filepath.Dir(r.dir.Index()), 0o700); err != nil {
		return nil, err
	}
	store, err := local.Open(ctx, r.env.duckOptions(r.dir.Index()))
	if err != nil {
		return nil, fault.New(fault.Failed, "store_unreadable", "path", r.dir.Index()).Because(err)
	}
	return store, nil
}

// errNoCopy says that no copy of the index has been published yet.
var errNoCopy = errors.New("no copy of the index")

// openToRead opens what searches read: the copy that was published last, or
// the server. A copy that is not there is errNoCopy.
func (e *Env) openToRead(ctx context.Context, dir *state.Dir) (load.Store, error) {
	if e.served() {
		return e.openServer(ctx)
	}
	o := e.duckOptions(dir.SearchCopy())
	o.ReadOnly = true
	store, err := local.Open(ctx, o)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoCopy
	case err != nil:
		return nil, fault.New(fault.Failed, "store_unreadable", "path", dir.SearchCopy()).Because(err)
	}
	return store, nil
}

func (e *Env) openServer(ctx context.Context) (load.Store, error) {
	s := e.Settings.Index
	key, err := secret.Read(indexKeyVariable, e.Getenv, s.KeyFile)
	if err != nil {
		return nil, err
	}
	store, err := qdrant.Open(ctx, qdrant.Options{
		URL: s.URL, Key: key, Collection: s.Collection, Vector: s.Vector, BatchPoints: e.batchSize(), BatchBytes: s.BatchBytes,
		Timeout: s.Timeout, Tries: s.Tries, Pause: s.Pause, Log: e.Log,
	})
	if err != nil {
		return nil, err
	}
	return store, nil
}

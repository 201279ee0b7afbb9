//go:build duckdb_arrow

package local_test

import (
	"path/filepath"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/load/loadtest"
	"github.com/thtbatch/thtbatch/internal/load/local"
)

func open(t testing.TB, o duck.Options) *local.Store {
	t.Helper()
	s, err := local.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestLocalIsAStore(t *testing.T) {
	loadtest.Run(t, func(t *testing.T) loadtest.Store {
		return open(t, duck.Options{Path: filepath.Join(t.TempDir(), "index.duckdb")})
	})
}

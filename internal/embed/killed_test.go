//go:build duckdb_arrow

package embed_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/embed"
)

// childVariable makes the test binary the process that is killed: it embeds
// batch after batch into the file that the variable names.
const childVariable = "THTBATCH_CACHE_CHILD"

const childBatch = 50

func childTexts(batch int) []string {
	texts := make([]string, childBatch)
	for i := range texts {
		texts[i] = fmt.Sprint(batch, "/", i)
	}
	return texts
}

func TestCacheChild(t *testing.T) {
	path := os.Getenv(childVariable)
	if path == "" {
		t.Skip("only the process that TestKilledProcessLeavesWholeBatches starts runs this")
	}
	e := embed.Cached(newModel(""), openCache(t, path, newClock()))
	for batch := 0; ; batch++ {
		wantVectors(t, e, childTexts(batch)...)
		fmt.Println(batch)
	}
}

func TestKilledProcessLeavesWholeBatches(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache.duckdb")
	child := exec.Command(os.Args[0], "-test.run=^TestCacheChild$")
	child.Env = append(os.Environ(), childVariable+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var said int
	for {
		if _, err := fmt.Fscanln(out, &said); err != nil {
			t.Fatalf("the child ended early: %v", err)
		}
		if said == 0 {
			if _, err := embed.OpenCache(context.Background(), duck.Options{Path: path}, newClock().now); !errors.Is(err, duck.ErrBusy) {
				t.Errorf("opened while another process holds it: %v", err)
			}
		}
		if said >= 5 {
			break
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	cache := openCache(t, path, newClock())
	defer closeCache(t, cache)
	spaces, err := cache.Spaces(context.Background())
	if err != nil || len(spaces) != 1 || spaces[0].Vectors < 6*childBatch || spaces[0].Vectors%childBatch != 0 {
		t.Fatalf("%v %v", spaces, err)
	}
	m := newModel("")
	for batch := range 6 {
		wantVectors(t, embed.Cached(m, cache), childTexts(batch)...)
	}
	if len(m.sent) != 0 {
		t.Errorf("%d texts were embedded again", len(m.sent))
	}
}

//go:build duckdb_arrow

package publish_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/publish"
	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// lookAt opens what is published as a reader does, and reads every view.
func lookAt(t *testing.T, dir string) error {
	p, err := warehouse.OpenPublished(t.Context(), filepath.Join(dir, publish.Current), duck.Options{Threads: 1})
	if err != nil {
		return err
	}
	for _, name := range viewNames() {
		err = errors.Join(err, p.Query(t.Context(), "SELECT count(*) FROM "+name, func([]string) error { return nil }, func([]any) error { return nil }))
	}
	return errors.Join(err, p.Close())
}

// Readers see a whole publication at every moment: the former or the new one.
func TestReadersSeeWholePublications(t *testing.T) {
	db := filled(t)
	dir := t.TempDir()
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "r00", Keep: 20})
	stop, stopped := make(chan struct{}), make(chan error, 1)
	looks := 0
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			looks++
			if err := lookAt(t, dir); err != nil {
				stopped <- fmt.Errorf("look %d: %w", looks, err)
				return
			}
		}
	}()
	for i := 1; i <= 7; i++ {
		if i%3 != 0 { // every third night is an unchanged one
			change(t, db, fmt.Sprint(i))
		}
		mustPublish(t, db, publish.Options{Dir: dir, RunID: fmt.Sprintf("r%02d", i), Keep: 20})
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if looks < 5 {
		t.Errorf("only %d looks: the test shows nothing", looks)
	}
}

const childWarehouse = "THT_TEST_PUBLISH_WAREHOUSE"

// TestPublishingChild is no test: it is the process that the next one kills. It
// publishes without end, each time something else.
func TestPublishingChild(t *testing.T) {
	path := os.Getenv(childWarehouse)
	if path == "" {
		t.Skip("run by TestKilledPublisherLeavesTheLinkWhole")
	}
	db := openWarehouse(t, path)
	for i := 0; ; i++ {
		change(t, db, fmt.Sprint(os.Getpid(), i))
		fmt.Printf("\nbegin %d\n", i)
		mustPublish(t, db, publish.Options{Dir: filepath.Join(filepath.Dir(path), "published"), RunID: fmt.Sprintf("k%d-%d", os.Getpid(), i), Keep: 3})
	}
}

func TestKilledPublisherLeavesTheLinkWhole(t *testing.T) {
	root := t.TempDir()
	dir, path := filepath.Join(root, "published"), filepath.Join(root, "warehouse.duckdb")
	db := fill(t, path)
	mustPublish(t, db, publish.Options{Dir: dir, RunID: "a", Keep: 3})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	leftovers := 0
	for round := range 4 {
		// The child is killed at the beginning of its nth publication, and each
		// time a little later: when it has written its nth file.
		killWhilePublishing(t, path, dir, 4*round)
		if err := lookAt(t, dir); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for _, name := range listing(t, dir) {
			if strings.HasPrefix(name, ".unfinished-") {
				leftovers++
			}
		}
		again := openWarehouse(t, path)
		change(t, again, fmt.Sprint("after ", round))
		mustPublish(t, again, publish.Options{Dir: dir, RunID: fmt.Sprintf("z%d", round), Keep: 3})
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if err := lookAt(t, dir); err != nil {
			t.Fatalf("after round %d: %v", round, err)
		}
		for _, name := range listing(t, dir) {
			if strings.HasPrefix(name, ".unfinished-") {
				t.Errorf("%s is left", name)
			}
		}
		if n := len(listing(t, dir)); n > 4 {
			t.Errorf("%d names are left, want three publications and the link", n)
		}
	}
	if leftovers == 0 {
		t.Error("no round was killed while it published: the test shows nothing")
	}
}

func killWhilePublishing(t *testing.T, path, dir string, files int) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestPublishingChild$", "-test.timeout=2m")
	child.Env = append(os.Environ(), childWarehouse+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	begun := false
	for lines := bufio.NewScanner(out); !begun && lines.Scan(); {
		begun = strings.HasPrefix(lines.Text(), "begin 1")
	}
	for end := time.Now().Add(time.Minute); begun && drafted(dir) < files; {
		if time.Now().After(end) {
			t.Errorf("no publication ever had %d files", files)
			break
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil || !begun {
		t.Fatalf("the child ended by itself, %v", err)
	}
}

// drafted counts the files of unfinished publications.
func drafted(dir string) int {
	files, _ := filepath.Glob(filepath.Join(dir, ".unfinished-*", "*"))
	return len(files)
}

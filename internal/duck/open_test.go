//go:build duckdb_arrow

package duck_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/duck"
)

func openFile(t *testing.T, o duck.Options) *duck.DB {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "a.duckdb")
	}
	db, err := duck.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func value(t *testing.T, db *duck.DB, query string) (text string) {
	t.Helper()
	if err := db.Value(t.Context(), &text, query); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOptionsAreApplied(t *testing.T) {
	spill := filepath.Join(t.TempDir(), "it's spilled")
	db := openFile(t, duck.Options{MemoryLimit: 123 << 20, Threads: 3, TempDir: spill})
	for setting, want := range map[string]string{
		"memory_limit": "123.0 MiB", "threads": "3", "temp_directory": spill, "TimeZone": "UTC",
		"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "preserve_insertion_order": "true",
	} {
		if got := value(t, db, "SELECT current_setting("+duck.Quote(setting)+") || ''"); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	bare := openFile(t, duck.Options{})
	if got, most := value(t, bare, "SELECT current_setting('memory_limit')"), duck.DefaultMemoryLimit(); most > 640<<20 || got != fmt.Sprintf("%.1f MiB", float64(most)/(1<<20)) {
		t.Errorf("memory_limit is %s, the default is %d", got, most)
	}
}

// The limit holds: what does not fit and cannot be spilled fails, and says so.
func TestMemoryLimitHolds(t *testing.T) {
	db := openFile(t, duck.Options{MemoryLimit: 20 << 20, Threads: 1})
	err := db.Exec(t.Context(), "CREATE TEMP TABLE big AS SELECT list(range) AS l FROM range(20000000)")
	var said *duck.Error
	if !errors.As(err, &said) || said.Class != "Out of Memory Error" {
		t.Errorf("%v", err)
	}
	if got := value(t, db, "SELECT 'still there'"); got != "still there" {
		t.Error(got)
	}
}

func TestFilesAreWrittenInTheOldFormatAndPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	db := openFile(t, duck.Options{Path: path})
	if err := db.Exec(t.Context(), "CREATE TABLE t AS SELECT range AS i FROM range(1000)"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Checkpoint(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The storage version of 1.0.0 is number 64.
	if magic, version := string(file[8:12]), binary.LittleEndian.Uint64(file[12:20]); magic != "DUCK" || version != 64 {
		t.Errorf("magic %q, storage version %d", magic, version)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left := files(t, filepath.Dir(path)); len(left) != 2 {
		t.Errorf("beside the file: %q", left)
	}
}

func TestNothingIsLeftOfSpilling(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.duckdb")
	spilling := "CREATE OR REPLACE TEMP TABLE s AS SELECT repeat('x', 100) || range AS wide FROM range(600000) ORDER BY hash(range)"
	for _, o := range []duck.Options{{Path: path}, {Path: path, ReadOnly: true}, {}} {
		o.MemoryLimit, o.Threads = 40<<20, 1
		db, err := duck.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Exec(t.Context(), spilling); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if left := files(t, dir); !slices.Equal(left, []string{dir, path}) {
			t.Errorf("%+v: left beside the file: %q", o, left)
		}
		if left := files(t, temp); len(left) != 1 {
			t.Errorf("%+v: left in the temporary directory: %q", o, left)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cut := openFile(t, duck.Options{Path: filepath.Join(dir, "cut.duckdb")})
	if err := errors.Join(cut.Exec(t.Context(), "CREATE TABLE t AS SELECT range AS i FROM range(100000)"), cut.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(cut.Path(), 5000); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]duck.Options{
		"garbage":               {Path: write("garbage.duckdb", strings.Repeat("no database ", 1000))},
		"shorter than a header": {Path: write("short.duckdb", "x")},
		"cut":                   {Path: cut.Path()},
		"a directory":           {Path: dir},
		"no directory":          {Path: filepath.Join(dir, "no", "a.duckdb")},
		"nothing to read":       {Path: filepath.Join(dir, "new.duckdb"), ReadOnly: true},
		"empty, to read":        {Path: write("empty.duckdb", ""), ReadOnly: true},
	} {
		db, err := duck.Open(t.Context(), o)
		if err == nil {
			t.Errorf("%s was opened: %v", name, db.Close())
		} else if !strings.Contains(err.Error(), o.Path) || errors.Is(err, duck.ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new.duckdb")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a file: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := duck.Open(ended, duck.Options{Path: filepath.Join(dir, "b.duckdb")}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

const childFile, childReads = "THT_TEST_DUCK_FILE", "THT_TEST_DUCK_READS"

// TestHoldingChild is no test: it is the process that holds the file in the
// next one, until its standard input ends.
func TestHoldingChild(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		t.Skip("run by TestOtherProcessesKeepWritersOut")
	}
	openFile(t, duck.Options{Path: path, ReadOnly: os.Getenv(childReads) != ""})
	fmt.Println("\nheld")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestOtherProcessesKeepWritersOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	if err := openFile(t, duck.Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, childReader := range []bool{false, true} {
		release := hold(t, path, childReader)
		for _, reader := range []bool{false, true} {
			db, err := duck.Open(t.Context(), duck.Options{Path: path, ReadOnly: reader})
			if err == nil {
				err = db.Close()
			}
			// Only readers stand each other.
			if wanted := !(childReader && reader); errors.Is(err, duck.ErrBusy) != wanted || (err != nil) != wanted {
				t.Errorf("read only %t beside read only %t: %v", reader, childReader, err)
			}
		}
		release()
		if err := openFile(t, duck.Options{Path: path}).Close(); err != nil {
			t.Errorf("after it ended: %v", err)
		}
	}
}

// hold opens the file in another process, until release is called.
func hold(t *testing.T, path string, reads bool) (release func()) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestHoldingChild$", "-test.timeout=2m")
	child.Env = append(os.Environ(), childFile+"="+path)
	if reads {
		child.Env = append(child.Env, childReads+"=1")
	}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	held := false
	for lines := bufio.NewScanner(out); !held && lines.Scan(); {
		held = lines.Text() == "held"
	}
	if !held {
		t.Fatal("the other process does not hold the file")
	}
	return func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}
}

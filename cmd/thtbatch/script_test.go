package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){programName: main, "holdlock": holdLock})
}

// TestScripts runs the scripts of testdata, each in a directory of its own that
// has the tree of tree.archive in "artifacts".
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata",
		Setup: func(env *testscript.Env) error { return plant(filepath.Join(env.WorkDir, "artifacts")) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exitsWith, "document": checkDocument, "tear": tear, "modes": modes,
		},
	})
}

// plant writes the tree of testdata/tree.archive. A last line that is torn is cut
// there, since every file of an archive ends in a newline.
func plant(dir string) error {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "tree.archive"))
	if err != nil {
		return err
	}
	for _, f := range archive.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		data := f.Data
		if bytes.HasSuffix(data, []byte("2026-02-0\n")) {
			data = data[:len(data)-1]
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// exits runs a program and compares its exit code: exits 3 thtbatch …
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d instead of %d", got, want)
	}
}

// checkDocument checks that standard output is one JSON document and nothing else,
// and compares what is in it: document error.exit 7 checks.0.level ok. A plus
// as a value asks for any that is not empty, a minus for none at all.
func checkDocument(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%2 != 0 {
		ts.Fatalf("usage: document [PATH VALUE]…")
	}
	doc, err := onlyDocument([]byte(ts.ReadFile("stdout")))
	if err != nil {
		ts.Fatalf("%v", err)
	}
	for i := 0; i < len(args); i += 2 {
		got, there := within(doc, args[i])
		text := fmt.Sprint(got)
		switch want := args[i+1]; want {
		case "-":
			if there {
				ts.Fatalf("%s is there: %s", args[i], text)
			}
		case "+":
			if !there || text == "" || got == nil {
				ts.Fatalf("%s is empty or missing", args[i])
			}
		default:
			if !there || text != want {
				ts.Fatalf("%s is %q instead of %q", args[i], text, want)
			}
		}
	}
}

// onlyDocument decodes exactly one.
func onlyDocument(text []byte) (doc any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("no JSON document: %w in %q", err, text)
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("more than one document: %q", rest)
	}
	return doc, nil
}

// within follows a path of names and indexes; "length" of a list is a number.
func within(doc any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch v := doc.(type) {
		case map[string]any:
			next, there := v[name]
			if !there {
				return nil, false
			}
			doc = next
		case []any:
			at, err := strconv.Atoi(name)
			switch {
			case name == "length":
				doc = len(v)
			case err != nil || at >= len(v):
				return nil, false
			default:
				doc = v[at]
			}
		default:
			return nil, false
		}
	}
	return doc, true
}

// tear writes bytes that no program of ours wrote over a file: tear FILE
func tear(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tear FILE")
	}
	path := ts.MkAbs(args[0])
	_, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, bytes.Repeat([]byte("no file of DuckDB"), 1000), 0o600))
}

// modes checks that every file and directory of a state directory is its
// owner's, and what is published its group's too: modes DIR
func modes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: modes DIR")
	}
	wrong, err := wrongModes(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(wrong) > 0 {
		ts.Fatalf("%s", strings.Join(wrong, "\n"))
	}
}

func wrongModes(dir string) (wrong []string, err error) {
	published := filepath.Join(dir, "published")
	return wrong, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		want := fs.FileMode(0o600)
		switch reports := path == published || strings.HasPrefix(path, published+"/"); {
		case reports && info.IsDir():
			want = 0o750
		case reports:
			want = 0o640
		case info.IsDir():
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			wrong = append(wrong, fmt.Sprintf("%s: mode %o instead of %o", path, got, want))
		}
		return nil
	})
}

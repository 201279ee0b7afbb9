package thtbatch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/thtbatch/thtbatch/"

// mayImport is the rule of imports: they go down, and what stands side by side
// never meets. Where two must meet, jobs converts. A package that is not named
// here fails the test: decide where it stands, and write it down.
//
//	cmd > jobs > publish > extract, warehouse, embed, load, report > state, words > duck, plan, record, fault > sql
var mayImport = map[string][]string{
	"cmd/thtbatch": {"internal/jobs", "internal/report", "internal/state", "internal/words", "internal/record", "internal/fault"},
	"internal/jobs": {
		"internal/extract", "internal/warehouse", "internal/publish", "internal/embed", "internal/embed/lexical",
		"internal/embed/server", "internal/embed/ollama", "internal/embed/openai", "internal/embed/onnx", "internal/secret",
		"internal/load", "internal/load/local", "internal/load/qdrant", "internal/report", "internal/state", "internal/words",
		"internal/duck", "internal/plan", "internal/record", "internal/fault",
	},
	"internal/extract":   {"internal/record", "internal/fault"},
	"internal/warehouse": {"internal/duck", "internal/plan", "internal/record", "internal/fault", "sql"},
	// What is published is the warehouse's views: publish stands on it.
	"internal/publish": {"internal/warehouse", "internal/duck", "internal/fault", "sql"},
	"internal/embed":   {"internal/duck", "internal/record", "internal/fault", "sql"},
	"internal/load":    {"internal/record", "internal/fault"},
	// A summary names the run it closes, as the state directory keeps it.
	"internal/report": {"internal/state", "internal/words", "internal/plan", "internal/record", "internal/fault"},
	"internal/state":  {"internal/fault"},
	"internal/words":  {"internal/fault"},
	"internal/secret": {"internal/fault"},

	// Subpackages belong to their parent.
	"internal/embed/lexical":   {"internal/embed"},
	"internal/embed/server":    {"internal/embed", "internal/fault"},
	"internal/embed/ollama":    {"internal/embed/server"},
	"internal/embed/openai":    {"internal/embed/server"},
	"internal/embed/onnx":      {"internal/embed", "internal/fault"},
	"internal/embed/embedtest": {"internal/embed"},
	"internal/load/local":      {"internal/load", "internal/duck", "internal/record", "internal/fault", "sql"},
	"internal/load/qdrant":     {"internal/load", "internal/record", "internal/fault"},
	"internal/load/qdranttest": {},
	"internal/load/loadtest":   {"internal/load", "internal/record"},

	"internal/duck":   {"sql"},
	"internal/plan":   {},
	"internal/record": {},
	"internal/fault":  {},
	"sql":             {},

	// A program of its own, run by make bench.
	"internal/bench":        {"internal/sample", "internal/load/qdranttest", "internal/embed", "internal/embed/lexical", "internal/record"},
	"internal/sample":       {},
	"internal/sample/model": {},
	"":                      {},
}

// testOnly are imported by tests and benchmarks, and by nothing else.
var testOnly = []string{"internal/sample", "internal/sample/model", "internal/load/loadtest", "internal/load/qdranttest", "internal/embed/embedtest"}

// onlyIn says where a library may be imported, tests included: each has one
// package that knows its sharp edges.
var onlyIn = map[string][]string{
	"github.com/duckdb/":              {"internal/duck"},
	"github.com/robfig/cron/":         {"cmd/thtbatch"},
	"github.com/urfave/cli/":          {"cmd/thtbatch", "internal/jobs"},
	"github.com/vbauerster/mpb/":      {"internal/report"},
	"github.com/nicksnyder/go-i18n/":  {"internal/words"},
	"github.com/agnivade/levenshtein": {"cmd/thtbatch"},
	"github.com/qdrant/":              {"internal/load/qdrant", "internal/load/qdranttest"},
	"google.golang.org/grpc":          {"internal/load/qdrant", "internal/load/qdranttest"},
	"github.com/yalue/onnxruntime_go": {"internal/embed/onnx"},
	"github.com/sugarme/tokenizer":    {"internal/embed/onnx"},
	"go.yaml.in/yaml/":                {"cmd/thtbatch", "internal/extract", "internal/words", "internal/sample/model"},
}

// forbidden names no package of ours may have, and modules that have moved.
var (
	forbiddenNames   = []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "base"}
	forbiddenModules = []string{"github.com/marcboeker/go-duckdb", "github.com/apache/arrow/go"}
)

type listed struct {
	ImportPath, Name, Doc              string
	Imports, TestImports, XTestImports []string
}

// path is the directory of the package in the repository; "" is the root.
func (p listed) path() string {
	return strings.TrimSuffix(strings.TrimPrefix(p.ImportPath+"/", module), "/")
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Doc,Imports,TestImports,XTestImports", "-tags", "duckdb_arrow", "./...").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %v\n%s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		allowed, known := mayImport[p.path()]
		if !known {
			t.Errorf("%s stands nowhere in the table of imports: add it", p.path())
			continue
		}
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module)
			if ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s; it may import %v", p.path(), ours, allowed)
			}
			if ok && slices.Contains(testOnly, ours) && p.path() != "internal/bench" && !slices.Contains(testOnly, p.path()) {
				t.Errorf("%s imports %s, which is for tests and benchmarks", p.path(), ours)
			}
		}
	}
}

func TestLibrariesStayWhereTheyAreKnown(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for library, where := range onlyIn {
				if strings.HasPrefix(imported, library) && !slices.Contains(where, p.path()) {
					t.Errorf("%s imports %s, which only %v may", p.path(), imported, where)
				}
			}
			for _, moved := range forbiddenModules {
				if strings.HasPrefix(imported, moved) {
					t.Errorf("%s imports %s, which has moved: see docs/decisions.md", p.path(), imported)
				}
			}
		}
	}
}

func TestPackagesAreNamedForWhatTheyOwn(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains(forbiddenNames, p.Name) {
			t.Errorf("package %s is named for nothing", p.path())
		}
		if p.Doc == "" {
			t.Errorf("package %s has no comment that says what it owns", p.path())
		}
	}
}

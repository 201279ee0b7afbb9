package model_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/thtbatch/thtbatch/internal/sample/model"
)

var update = flag.Bool("update", false, "write testdata/expected anew; read the difference before you commit it")

const testdata = "../../../testdata"

// The sample's expected rows were derived by reading the contract; the model
// has to agree with them, and the program with both.
func TestSampleShowsTheExpectedRows(t *testing.T) {
	views, err := model.Read(filepath.Join(testdata, "artifacts"), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	value := reflect.ValueOf(views)
	for i := range value.NumField() {
		name := value.Type().Field(i).Tag.Get("json")
		path := filepath.Join(testdata, "expected", name+".json")
		got := rowsPerLine(t, value.Field(i))
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("view %s differs from %s:\n%s", name, path, firstDifference(got, want))
		}
	}
}

func rowsPerLine(t *testing.T, rows reflect.Value) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("[")
	for i := range rows.Len() {
		var row bytes.Buffer
		encoder := json.NewEncoder(&row)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(rows.Index(i).Interface()); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(bytes.TrimSpace(row.Bytes()))
	}
	b.WriteString("\n]\n")
	return b.Bytes()
}

func firstDifference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		var gl, wl []byte
		if i < len(g) {
			gl = g[i]
		}
		if i < len(w) {
			wl = w[i]
		}
		if !bytes.Equal(gl, wl) {
			return "got  " + string(gl) + "\nwant " + string(wl)
		}
	}
	return ""
}

func TestRandomTreeReachesEveryRule(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dir := filepath.Join(t.TempDir(), "artifacts")
	if err := model.RandomTree(rand.New(rand.NewPCG(seed, 0)), dir, 2500); err != nil {
		t.Fatal(err)
	}
	views, err := model.Read(dir, model.Options{Accept: []string{"s-0003"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, s := range views.Sessions {
		seen["state "+s.State]++
	}
	for _, d := range views.Decisions {
		if d.Reason != nil {
			seen[*d.Reason]++
		}
	}
	for _, c := range views.Candidates {
		seen["candidate "+c.Status]++
		if c.Reuses != nil {
			seen["reuses"]++
		}
		if c.DuplicateOf != nil && *c.DuplicateOf > c.Seq {
			seen["duplicate of a later one"]++
		}
	}
	for _, m := range views.Memories {
		seen[fmt.Sprintf("memory indexable %v", m.Indexable)]++
	}
	for _, s := range views.SolvedQuestions {
		seen[fmt.Sprintf("solved indexable %v", s.Indexable)]++
		if len(s.Tables) > 1 {
			seen["tables"]++
		}
	}
	for _, m := range views.SessionMemories {
		seen["session memory "+m.Outcome]++
	}
	for _, q := range views.Quarantine {
		seen[fmt.Sprintf("quarantine of the registry %v", q.SessionID == nil)]++
	}
	for _, want := range []string{
		"state ok", "state degraded", "state invalid", "withdrawn", "stale",
		"candidate proposed", "candidate overflow", "candidate promoted", "candidate declined", "candidate duplicate",
		"reuses", "duplicate of a later one", "memory indexable true", "memory indexable false",
		"solved indexable true", "solved indexable false", "tables", "session memory approved", "session memory declined",
		"quarantine of the registry true", "quarantine of the registry false",
	} {
		if seen[want] == 0 {
			t.Errorf("no row shows %q; seen: %v", want, seen)
		}
	}
	t.Log(seen)
}

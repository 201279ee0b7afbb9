package model_test

import (
	"bytes"
	"encoding/json"
	"flag"
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

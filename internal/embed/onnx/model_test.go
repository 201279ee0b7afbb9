package onnx

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
)

// message builds a protobuf message field by field.
type message []byte

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) number(field protowire.Number, n int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(n))
}

func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

const (
	onnxFloat = 1
	onnxInt64 = 7
)

// value is a ValueInfoProto; a dimension of 0 has no fixed size.
func value(name string, element int64, dims ...int64) message {
	var shape message
	for _, d := range dims {
		dim := message(nil).text(2, "n")
		if d > 0 {
			dim = message(nil).number(1, d)
		}
		shape = shape.bytes(1, dim)
	}
	tensor := message(nil).number(1, element).bytes(2, shape)
	return message(nil).text(1, name).bytes(2, message(nil).bytes(1, tensor))
}

// lookupModel is a model that gives for each token a row of a table: (id, 1, 2·id, 0).
// Format: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
func lookupModel(vocabulary int, inputs ...string) []byte {
	const dims = 4
	var raw []byte
	for id := range vocabulary {
		for _, x := range []float32{float32(id), 1, 2 * float32(id), 0} {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
	}
	table := message(nil).number(1, int64(vocabulary)).number(1, dims).number(2, onnxFloat).text(8, "table").bytes(9, raw)
	node := message(nil).text(1, "table").text(1, inputs[0]).text(2, "last_hidden_state").text(4, "Gather")
	graph := message(nil).bytes(1, node).text(2, "g").bytes(5, table)
	for _, name := range inputs {
		graph = graph.bytes(11, value(name, onnxInt64, 0, 0))
	}
	graph = graph.bytes(12, value("last_hidden_state", onnxFloat, 0, 0, dims))
	return message(nil).number(1, 8).bytes(7, graph).bytes(8, message(nil).text(1, "").number(2, 13))
}

// modelDir is a directory as it is published, with files on top.
func modelDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	tokens, err := os.ReadFile(filepath.Join("testdata", "wordpiece_uncased.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{
		"model.onnx": string(lookupModel(400, inputIDs, inputMask)), "tokenizer.json": string(tokens),
		"sentence_bert_config.json": `{"max_seq_length": 12}`, "tokenizer_config.json": `{"model_max_length": 1000000000000000019884624838656}`,
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if text == "" {
			continue
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runtime is the library that the tests with a model run on.
func runtime(t testing.TB) string {
	t.Helper()
	library := os.Getenv("THTBATCH_TEST_ONNXRUNTIME")
	if library == "" {
		t.Skip("set THTBATCH_TEST_ONNXRUNTIME to libonnxruntime.so (the Python package onnxruntime has one) to run a model")
	}
	return library
}

func wantFault(t *testing.T, err error, id string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.ID != id {
		t.Fatalf("%v, want %s", err, id)
	}
}

func TestDirectoriesThatAreNotComplete(t *testing.T) {
	library := filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(library, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	const pooling = `{"pooling_mode_cls_token": %s, "pooling_mode_mean_tokens": %s, "pooling_mode_weightedmean_tokens": true}`
	for name, c := range map[string]struct {
		files map[string]string
		id    string
	}{
		"no model":        {map[string]string{"model.onnx": ""}, "onnx_file"},
		"no tokenizer":    {map[string]string{"tokenizer.json": ""}, "onnx_file"},
		"bad tokenizer":   {map[string]string{"tokenizer.json": "{"}, "onnx_tokenizer"},
		"bad limits":      {map[string]string{"sentence_bert_config.json": "["}, "onnx_file"},
		"no known pool":   {map[string]string{"1_Pooling/config.json": strings.ReplaceAll(pooling, "%s", "false")}, "onnx_unsupported"},
		"two pools":       {map[string]string{"1_Pooling/config.json": strings.ReplaceAll(pooling, "%s", "true")}, "onnx_unsupported"},
		"a dense layer":   {map[string]string{"modules.json": `[{"type":"sentence_transformers.models.Transformer"},{"type":"sentence_transformers.models.Dense"}]`}, "onnx_unsupported"},
		"no real library": {nil, "onnx_library"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(Options{ModelDir: modelDir(t, c.files), Library: library, Truncate: Refuse})
			wantFault(t, err, c.id)
		})
	}
	_, err := Open(Options{ModelDir: modelDir(t, nil), Library: filepath.Join(t.TempDir(), "none.so"), Truncate: Refuse})
	wantFault(t, err, "onnx_file")
	_, err = Open(Options{Library: library, Truncate: Refuse})
	wantFault(t, err, "embedder_setting_missing")
	_, err = Open(Options{ModelDir: "x", Library: library, Truncate: "head:x"})
	wantFault(t, err, "embedder_setting_missing")
}

func TestLimitOfTokens(t *testing.T) {
	for name, c := range map[string]struct {
		sentence, general, config string
		want                      int
	}{
		"the least counts":       {`{"max_seq_length": 256}`, `{"model_max_length": 512}`, `{"max_position_embeddings": 512}`, 256},
		"nobody knows":           {`{}`, `{"model_max_length": 1e30}`, `{"hidden_size": 384}`, 0},
		"two positions are lost": {`{}`, `{}`, `{"model_type": "xlm-roberta", "max_position_embeddings": 514}`, 512},
	} {
		d, err := readDir(modelDir(t, map[string]string{"sentence_bert_config.json": c.sentence, "tokenizer_config.json": c.general, "config.json": c.config}))
		if err != nil || d.most != c.want {
			t.Errorf("%s: %d, %v, want %d", name, d.most, err, c.want)
		}
	}
}

func TestBatches(t *testing.T) {
	lengths := []int{2, 2, 3, 3, 3, 9}
	ids, places := make([][]int64, len(lengths)), make([]int, len(lengths))
	for i, n := range lengths {
		ids[i], places[i] = make([]int64, n), i
	}
	for name, c := range map[string]struct {
		count, tokens int
		masks         bool
		want          [][]int
	}{
		"all at once":         {10, 100, true, [][]int{{0, 1, 2, 3, 4, 5}}},
		"by count":            {4, 100, true, [][]int{{0, 1, 2, 3}, {4, 5}}},
		"by tokens, padded":   {10, 10, true, [][]int{{0, 1, 2}, {3, 4}, {5}}},
		"a text above them":   {10, 1, true, [][]int{{0}, {1}, {2}, {3}, {4}, {5}}},
		"nothing is a filler": {10, 100, false, [][]int{{0, 1}, {2, 3, 4}, {5}}},
	} {
		e := &Embedder{options: Options{BatchCount: c.count, BatchTokens: c.tokens}, model: &model{masks: c.masks}}
		if got := e.batches(ids, places); !slices.EqualFunc(got, c.want, slices.Equal[[]int]) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPooling(t *testing.T) {
	data := []float32{1, 2, 3, 8, 5, 0, 100, 100} // three tokens of two dimensions, and padding
	for how, want := range map[string][]float32{poolMean: {3, 10.0 / 3}, poolCLS: {1, 2}, poolMax: {5, 8}, poolLast: {5, 0}} {
		if got := pool(how, data, 3, 2); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", how, got, want)
		}
	}
}

func open(t testing.TB, o Options, files map[string]string) *Embedder {
	t.Helper()
	o.Library, o.ModelDir = runtime(t), modelDir(t, files)
	if o.Truncate == "" {
		o.Truncate = Refuse
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// mean is what lookupModel gives with mean pooling.
func mean(ids []int64) []float32 {
	var sum float64
	for _, id := range ids {
		sum += float64(id)
	}
	m := sum / float64(len(ids))
	return []float32{float32(m), 1, float32(2 * m), 0}
}

func close4(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-4 })
}

func TestModelRuns(t *testing.T) {
	e := open(t, Options{Model: "tiny", BatchCount: 3, DocumentPrefix: "margine ", Revision: "1"}, nil)
	if e.Space() != "onnx/tiny@1;dim=4;norm=none;trunc=none;prefix=margine%20" || e.Dimensions() != 4 {
		t.Errorf("%s, %d", e.Space(), e.Dimensions())
	}
	texts := []string{"media", "l'età media dei", " ", "margine operativo", "trimestre", strings.Repeat("anni ", 40), "day hospital day"}
	got, err := e.Embed(t.Context(), embed.Document, texts)
	want := []embed.ItemError{{Index: 2, Reason: embed.ReasonNothing, Permanent: true}, {Index: 5, Reason: embed.ReasonServerRefuses, Permanent: true}}
	if !slices.Equal(embed.Refused(err), want) {
		t.Fatalf("%v", err)
	}
	for i, text := range texts {
		if i == 2 || i == 5 {
			if got[i] != nil {
				t.Errorf("text %d has a vector", i)
			}
			continue
		}
		ids, _ := e.tokenizer.encode("margine " + text)
		if !close4(got[i], mean(ids)) {
			t.Errorf("text %d: %v, want %v", i, got[i], mean(ids))
		}
	}
	query, err := e.Embed(t.Context(), embed.Query, []string{"media"})
	ids, _ := e.tokenizer.encode("media")
	if err != nil || !close4(query[0], mean(ids)) {
		t.Errorf("a question: %v, %v", query, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ended, embed.Document, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestModelCutsAndNormalises(t *testing.T) {
	e := open(t, Options{Truncate: ModelCut, Normalise: true}, map[string]string{"1_Pooling/config.json": `{"pooling_mode_lasttoken": true}`})
	got, err := e.Embed(t.Context(), embed.Document, []string{strings.Repeat("anni ", 40)})
	if err != nil {
		t.Fatal(err)
	}
	var squared float64
	for _, x := range got[0] {
		squared += float64(x) * float64(x)
	}
	// The last token is the one that ends a text: [SEP], 3.
	if math.Abs(squared-1) > 1e-5 || math.Abs(float64(got[0][0]/got[0][1])-3) > 1e-4 {
		t.Errorf("%v", got[0])
	}
	if ids, reason := e.tokens(embed.Document, strings.Repeat("anni ", 40)); len(ids) != 12 || ids[11] != 3 || reason != "" {
		t.Errorf("%v %s", ids, reason)
	}
}

// A text of which no token is left has no vector, and does not stop the others.
func TestTextsWithoutTokens(t *testing.T) {
	tokens, err := os.ReadFile(filepath.Join("testdata", "wordpiece_uncased.json"))
	var file map[string]json.RawMessage
	if err = errors.Join(err, json.Unmarshal(tokens, &file)); err != nil {
		t.Fatal(err)
	}
	file["post_processor"] = json.RawMessage("null")
	bare, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{}, map[string]string{"tokenizer.json": string(bare), "1_Pooling/config.json": `{"pooling_mode_lasttoken": true}`})
	got, err := e.Embed(t.Context(), embed.Document, []string{"media", "\u200b"})
	if want := []embed.ItemError{{Index: 1, Reason: embed.ReasonNothing, Permanent: true}}; !slices.Equal(embed.Refused(err), want) || got[0] == nil || got[1] != nil {
		t.Fatalf("%v, %v", got, err)
	}
}

// Texts of one batch do not change each other, also where a model is not told what
// is padding; and "." has a name.
func TestModelWithoutMask(t *testing.T) {
	dir := modelDir(t, map[string]string{"model.onnx": string(lookupModel(400, inputIDs))})
	t.Chdir(dir)
	e, err := Open(Options{Library: runtime(t), ModelDir: ".", Truncate: Refuse})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if want := "onnx/" + filepath.Base(dir) + ";"; !strings.HasPrefix(e.Space(), want) {
		t.Errorf("%s, want %s", e.Space(), want)
	}
	texts := []string{"media", "margine operativo day hospital", "media", "trimestre anni"}
	got, err := e.Embed(t.Context(), embed.Document, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if ids, _ := e.tokenizer.encode(text); !close4(got[i], mean(ids)) {
			t.Errorf("text %d: %v, want %v", i, got[i], mean(ids))
		}
	}
}

func TestModelsThatAreNotOurs(t *testing.T) {
	library := runtime(t)
	for name, c := range map[string]struct {
		model string
		dims  int
		id    string
	}{
		"not ONNX":          {"not a model", 0, "onnx_model"},
		"another input":     {string(lookupModel(400, inputIDs, "pixel_values")), 0, "onnx_unsupported"},
		"another dimension": {string(lookupModel(400, inputIDs)), 768, "embedder_dimension"},
	} {
		_, err := Open(Options{Library: library, ModelDir: modelDir(t, map[string]string{"model.onnx": c.model}), Dimensions: c.dims, Truncate: Refuse})
		wantFault(t, err, c.id)
		t.Log(name)
	}
}

func TestModelInManyGoroutines(t *testing.T) {
	e := open(t, Options{}, nil)
	var all sync.WaitGroup
	for _, text := range []string{"media", "margine", "degenza", "zero"} {
		all.Go(func() {
			ids, _ := e.tokens(embed.Document, text)
			for range 20 {
				if got, err := e.Embed(t.Context(), embed.Document, []string{text, text}); err != nil || !close4(got[1], mean(ids)) {
					t.Errorf("%v, %v", got, err)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkEmbed(b *testing.B) {
	e := open(b, Options{}, nil)
	texts := slices.Repeat([]string{"margine operativo"}, 256)
	for b.Loop() {
		if _, err := e.Embed(b.Context(), embed.Document, texts); err != nil {
			b.Fatal(err)
		}
	}
}

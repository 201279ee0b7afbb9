package onnx

import (
	"errors"
	"fmt"
	"os"
	"slices"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// model is a session of the runtime. The runtime lets several goroutines run one.
type model struct {
	path       string
	session    *ort.DynamicAdvancedSession
	inputs     []string
	masks      bool   // it is told what is padding
	pool       string // empty: the output is one vector a text
	dimensions int    // 0: the file does not say
}

// The inputs that are known.
const (
	inputIDs  = "input_ids"
	inputMask = "attention_mask"
	inputType = "token_type_ids"
)

func load(d directory, library string, threads int) (*model, error) {
	if err := start(library); err != nil {
		return nil, err
	}
	inputs, outputs, err := ort.GetInputOutputInfo(d.model)
	if err != nil {
		return nil, fault.New(fault.Usage, "onnx_model", "path", d.model).Because(err)
	}
	m := &model{path: d.model, pool: d.pool}
	for _, in := range inputs {
		if !slices.Contains([]string{inputIDs, inputMask, inputType}, in.Name) || in.DataType != ort.TensorElementDataTypeInt64 {
			return nil, unsupported(d.model, "input_ids, attention_mask, token_type_ids (int64)")
		}
		m.inputs = append(m.inputs, in.Name)
	}
	m.masks = slices.Contains(m.inputs, inputMask)
	output, ok := chosen(outputs)
	if !ok || !slices.Contains(m.inputs, inputIDs) {
		return nil, unsupported(d.model, "last_hidden_state or sentence_embedding (float32)")
	}
	if len(output.Dimensions) == 2 {
		m.pool = ""
	}
	if last := output.Dimensions[len(output.Dimensions)-1]; last > 0 {
		m.dimensions = int(last)
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fault.New(fault.Failed, "onnx_model", "path", d.model).Because(err)
	}
	defer func() { _ = options.Destroy() }()
	if threads > 0 {
		if err := options.SetIntraOpNumThreads(threads); err != nil {
			return nil, fault.New(fault.Failed, "onnx_model", "path", d.model).Because(err)
		}
	}
	if m.session, err = ort.NewDynamicAdvancedSession(d.model, m.inputs, []string{output.Name}, options); err != nil {
		return nil, fault.New(fault.Usage, "onnx_model", "path", d.model).Because(err)
	}
	return m, nil
}

// start loads the runtime, unless this process has it already.
func start(library string) error {
	if info, err := os.Stat(library); err != nil || !info.Mode().IsRegular() {
		return fault.New(fault.Usage, "onnx_file", "path", library)
	}
	if ort.IsInitialized() {
		return nil
	}
	ort.SetSharedLibraryPath(library)
	// Its errors are returned: standard error is ours.
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return fault.New(fault.Usage, "onnx_library", "path", library).Because(err)
	}
	return nil
}

// chosen prefers the vectors of whole texts, then those of tokens by their usual
// name, then any of a fitting shape.
func chosen(outputs []ort.InputOutputInfo) (ort.InputOutputInfo, bool) {
	fits := func(o ort.InputOutputInfo) bool {
		n := len(o.Dimensions)
		return o.DataType == ort.TensorElementDataTypeFloat && (n == 2 && o.Name == "sentence_embedding" || n == 3)
	}
	for _, name := range []string{"sentence_embedding", "last_hidden_state", "token_embeddings"} {
		for _, o := range outputs {
			if o.Name == name && fits(o) {
				return o, true
			}
		}
	}
	at := slices.IndexFunc(outputs, fits)
	if at < 0 {
		return ort.InputOutputInfo{}, false
	}
	return outputs[at], true
}

func (m *model) close() error { return m.session.Destroy() }

// run embeds texts of some tokens each, padded to the longest.
func (m *model) run(rows [][]int64, pad int64) (vectors [][]float32, err error) {
	defer func() {
		if err != nil {
			err = fault.New(fault.Failed, "onnx_run", "path", m.path).Because(err)
		}
	}()
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	ids, mask := make([]int64, len(rows)*width), make([]int64, len(rows)*width)
	for r, row := range rows {
		at := ids[r*width : (r+1)*width]
		for i := range at {
			at[i] = pad
		}
		copy(at, row)
		for i := range row {
			mask[r*width+i] = 1
		}
	}
	data := map[string][]int64{inputIDs: ids, inputMask: mask, inputType: make([]int64, len(ids))}
	var inputs []ort.Value
	defer func() {
		for _, v := range inputs {
			err = errors.Join(err, v.Destroy())
		}
	}()
	for _, name := range m.inputs {
		tensor, err := ort.NewTensor(ort.NewShape(int64(len(rows)), int64(width)), data[name])
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, tensor)
	}
	outputs := []ort.Value{nil}
	if err := m.session.Run(inputs, outputs); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, outputs[0].Destroy()) }()
	tensor, ok := outputs[0].(*ort.Tensor[float32])
	if !ok {
		return nil, fmt.Errorf("the output is no tensor of float32")
	}
	return m.pooled(tensor.GetData(), tensor.GetShape(), mask, len(rows), width)
}

func (m *model) pooled(data []float32, shape ort.Shape, mask []int64, rows, width int) ([][]float32, error) {
	dims := int(shape[len(shape)-1])
	want := rows * dims
	if m.pool != "" {
		want *= width
	}
	if len(data) != want || dims == 0 {
		return nil, fmt.Errorf("the output has the shape %v", shape)
	}
	vectors := make([][]float32, rows)
	for r := range vectors {
		if m.pool == "" {
			vectors[r] = slices.Clone(data[r*dims : (r+1)*dims])
			continue
		}
		tokens := 0
		for _, on := range mask[r*width : (r+1)*width] {
			tokens += int(on)
		}
		vectors[r] = pool(m.pool, data[r*width*dims:(r+1)*width*dims], tokens, dims)
	}
	return vectors, nil
}

// pool makes one vector of those of the first tokens of a row.
func pool(how string, data []float32, tokens, dims int) []float32 {
	token := func(i int) []float32 { return data[i*dims : (i+1)*dims] }
	switch how {
	case poolCLS:
		return slices.Clone(token(0))
	case poolLast:
		return slices.Clone(token(tokens - 1))
	case poolMax:
		out := slices.Clone(token(0))
		for i := 1; i < tokens; i++ {
			for k, x := range token(i) {
				out[k] = max(out[k], x)
			}
		}
		return out
	}
	sum := make([]float64, dims)
	for i := range tokens {
		for k, x := range token(i) {
			sum[k] += float64(x)
		}
	}
	out := make([]float32, dims)
	for k := range out {
		out[k] = float32(sum[k] / float64(tokens))
	}
	return out
}

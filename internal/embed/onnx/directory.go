package onnx

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Ways to make one vector of those of all tokens.
const (
	poolMean = "mean"
	poolCLS  = "cls"
	poolMax  = "max"
	poolLast = "last"
)

// directory is what the files of a model say.
type directory struct {
	model     string // path of the ONNX file
	tokenizer string // path of tokenizer.json
	pool      string
	most      int // tokens; 0: not said
}

func readDir(dir string) (directory, error) {
	d := directory{pool: poolMean}
	var err error
	if d.model, err = oneOf(dir, "model.onnx", "onnx/model.onnx"); err != nil {
		return d, err
	}
	if d.tokenizer, err = oneOf(dir, "tokenizer.json"); err != nil {
		return d, err
	}
	var pooling struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
		Max  bool `json:"pooling_mode_max_tokens"`
		Last bool `json:"pooling_mode_lasttoken"`
	}
	if there, err := readJSON(filepath.Join(dir, "1_Pooling", "config.json"), &pooling); err != nil {
		return d, err
	} else if there {
		modes := []string{}
		for mode, on := range map[string]bool{poolCLS: pooling.CLS, poolMean: pooling.Mean, poolMax: pooling.Max, poolLast: pooling.Last} {
			if on {
				modes = append(modes, mode)
			}
		}
		if len(modes) != 1 {
			return d, unsupported(filepath.Join(dir, "1_Pooling", "config.json"), "one of cls, mean, max and lasttoken")
		}
		d.pool = modes[0]
	}
	if err := checkModules(dir); err != nil {
		return d, err
	}
	return d, d.readLimits(dir)
}

// checkModules refuses a model with a layer behind the pooling: its vectors would
// be others.
func checkModules(dir string) error {
	path := filepath.Join(dir, "modules.json")
	var modules []struct {
		Type string `json:"type"`
	}
	if _, err := readJSON(path, &modules); err != nil {
		return err
	}
	for _, m := range modules {
		switch name := m.Type[strings.LastIndex(m.Type, ".")+1:]; name {
		case "Transformer", "Pooling", "Normalize":
		default:
			return unsupported(path, "Transformer, Pooling, Normalize")
		}
	}
	return nil
}

// readLimits takes the least of the lengths that the files name.
func (d *directory) readLimits(dir string) error {
	var sentence struct {
		Most float64 `json:"max_seq_length"`
	}
	var general struct {
		Most float64 `json:"model_max_length"` // 1e30 where nobody knows
	}
	var config struct {
		Type      string  `json:"model_type"`
		Positions float64 `json:"max_position_embeddings"`
	}
	for path, into := range map[string]any{"sentence_bert_config.json": &sentence, "tokenizer_config.json": &general, "config.json": &config} {
		if _, err := readJSON(filepath.Join(dir, path), into); err != nil {
			return err
		}
	}
	if slices.Contains([]string{"roberta", "xlm-roberta", "camembert", "mpnet"}, config.Type) {
		config.Positions -= 2 // they count from behind the number of the padding token
	}
	for _, n := range []float64{sentence.Most, general.Most, config.Positions} {
		if n >= 2 && n < 1e6 && (d.most == 0 || int(n) < d.most) {
			d.most = int(n)
		}
	}
	return nil
}

func oneOf(dir string, names ...string) (string, error) {
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fault.New(fault.Usage, "onnx_file", "path", filepath.Join(dir, filepath.FromSlash(names[0])))
}

// readJSON reads a file that may be missing.
func readJSON(path string, into any) (there bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return true, fault.New(fault.Usage, "onnx_file", "path", path).Because(err)
	}
	return true, nil
}

func unsupported(path, expected string) error {
	return fault.New(fault.Usage, "onnx_unsupported", "path", path, "expected", expected)
}

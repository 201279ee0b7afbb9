package onnx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	hf "github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/pretrained"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// mostTokens of a model whose files name no limit.
const mostTokens = 512

// tokenizer turns a text into the ids of a tokenizer.json. Pieces and words are the
// library's work, normalisation is ours: the library drops the accents of BERT's
// uncased models only where the file asks for it by name, and so knows no word with
// one, and fails on some emoji.
type tokenizer struct {
	inner     *hf.Tokenizer
	normalise func(string) string
	pad       int64
	most      int
}

func newTokenizer(d directory) (*tokenizer, error) {
	unusable := func(err error) (*tokenizer, error) {
		return nil, fault.New(fault.Usage, "onnx_tokenizer", "path", d.tokenizer).Because(err)
	}
	text, err := os.ReadFile(d.tokenizer)
	if err != nil {
		return unusable(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(text, &file); err != nil {
		return unusable(fmt.Errorf("not a JSON object"))
	}
	t := &tokenizer{most: cmp.Or(d.most, mostTokens)}
	if t.normalise, err = normaliser(file["normalizer"]); err != nil {
		return unusable(err)
	}
	for _, name := range []string{"normalizer", "padding", "truncation"} {
		file[name] = json.RawMessage("null")
	}
	plain, err := json.Marshal(file)
	if err != nil {
		return unusable(err)
	}
	if t.inner, err = read(plain); err != nil {
		return unusable(err)
	}
	for _, name := range []string{"[PAD]", "<pad>", "<|endoftext|>"} {
		if id, ok := t.inner.TokenToId(name); ok {
			t.pad = int64(id)
			break
		}
	}
	if ids, ok := t.encode("prova"); !ok || len(ids) == 0 {
		return unusable(fmt.Errorf("it gives no tokens"))
	}
	return t, nil
}

// read is the library's reader, whose panics are errors here: the file is
// somebody's.
func read(text []byte) (t *hf.Tokenizer, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("not a tokenizer that can be read")
		}
	}()
	return pretrained.FromReader(bytes.NewReader(text))
}

// encode is the ids of a text with those that begin and end it. ok is false where
// the library fails.
func (t *tokenizer) encode(text string) (ids []int64, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ids, ok = nil, false
		}
	}()
	e, err := t.inner.EncodeSingle(t.normalise(text), true)
	if err != nil {
		return nil, false
	}
	ids = make([]int64, len(e.Ids))
	for i, id := range e.Ids {
		ids[i] = int64(id)
	}
	return ids, true
}

package onnx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	hf "github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/pretrained"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// mostTokens of a model whose files name no limit.
const mostTokens = 512

// tokenizer turns a text into the ids of a tokenizer.json. Pieces and words are the
// library's work, normalisation is ours: the library drops the accents of BERT's
// uncased models only where the file asks for it by name, and so knows no word with
// one, and fails on some emoji. What it was seen to cut otherwise than the reference
// is refused: a wrong id is a wrong vector, and nobody would notice.
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
	first, err := checkParts(d.tokenizer, file)
	if err != nil {
		return nil, err
	}
	if first == preBERT || first == preSpaces {
		// They cut at white space, of which the library knows ASCII's alone.
		normalise := t.normalise
		t.normalise = func(s string) string { return evenSpaces(normalise(s)) }
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

// The ways to cut a text into words that are cut as by the reference.
const (
	preBERT   = "BertPreTokenizer"
	preSpaces = "WhitespaceSplit"
	preMeta   = "Metaspace"
)

// part is an object of a tokenizer.json, as far as it says which code is meant.
type part struct {
	Type          string `json:"type"`
	ByteFallback  bool   `json:"byte_fallback"`
	PreTokenizers []part `json:"pretokenizers"`
}

// checkParts refuses a file with a part that is not cut as by the reference. Of BPE
// the library takes equal merges in any order and knows neither bytes nor the last
// blank of a text. first is what cuts first, empty where nothing does.
func checkParts(path string, file map[string]json.RawMessage) (first string, err error) {
	var model, pre, post part
	for name, into := range map[string]*part{"model": &model, "pre_tokenizer": &pre, "post_processor": &post} {
		if raw := file[name]; len(raw) > 0 && json.Unmarshal(raw, into) != nil {
			return "", fault.New(fault.Usage, "onnx_tokenizer", "path", path)
		}
	}
	if model.Type != "WordPiece" && model.Type != "Unigram" || model.ByteFallback {
		return "", unsupported(path, "WordPiece, Unigram (without byte_fallback)")
	}
	if !slices.Contains([]string{"", "TemplateProcessing", "BertProcessing", "RobertaProcessing"}, post.Type) {
		return "", unsupported(path, "TemplateProcessing, BertProcessing, RobertaProcessing")
	}
	steps := []part{pre}
	if pre.Type == "Sequence" {
		steps = pre.PreTokenizers
	}
	for i, step := range steps {
		if step.Type != preMeta && step.Type != "" && (i > 0 || step.Type != preBERT && step.Type != preSpaces) {
			return "", unsupported(path, "BertPreTokenizer, WhitespaceSplit, Metaspace")
		}
	}
	if len(steps) == 0 {
		return "", nil
	}
	return steps[0].Type, nil
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

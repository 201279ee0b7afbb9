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
	words     bool // blanks part what is cut, so that a text can be cut bit by bit
	pad       int64
	most      int

	before, after []int64 // what begins and ends every text
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
	steps, err := checkParts(d.tokenizer, file)
	if err != nil {
		return nil, err
	}
	t.words = len(steps) > 0 && steps[0].parts()
	if t.words && steps[0].Type != preMeta {
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
	for _, name := range []string{"[PAD]", "<pad>"} {
		if id, ok := t.inner.TokenToId(name); ok {
			t.pad = int64(id)
			break
		}
	}
	if !t.findEnds() {
		return unusable(fmt.Errorf("it gives no tokens"))
	}
	return t, nil
}

// findEnds sees what the file puts before and behind a text.
func (t *tokenizer) findEnds() bool {
	const probe = "prova"
	bare, ok := t.pieces(probe, false)
	whole, okWhole := t.pieces(probe, true)
	if !ok || !okWhole || len(bare) == 0 {
		return false
	}
	for at := range len(whole) - len(bare) + 1 {
		if slices.Equal(whole[at:at+len(bare)], bare) {
			t.before, t.after = whole[:at:at], whole[at+len(bare):]
			return true
		}
	}
	return false
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
	Split         *bool  `json:"split"`
	Prepend       string `json:"prepend_scheme"`
	PreTokenizers []part `json:"pretokenizers"`
}

// parts says whether it cuts at every blank.
func (p part) parts() bool { return p.Type != "" && (p.Split == nil || *p.Split) }

// checkParts refuses a file with a part that is not cut as by the reference. Of BPE
// the library takes equal merges in any order and knows neither bytes nor the last
// blank of a text. steps cut a text into words, one behind the other.
func checkParts(path string, file map[string]json.RawMessage) (steps []part, err error) {
	var model, pre, post part
	for name, into := range map[string]*part{"model": &model, "pre_tokenizer": &pre, "post_processor": &post} {
		if raw := file[name]; len(raw) > 0 && json.Unmarshal(raw, into) != nil {
			return nil, fault.New(fault.Usage, "onnx_tokenizer", "path", path)
		}
	}
	if model.Type != "WordPiece" && model.Type != "Unigram" || model.ByteFallback {
		return nil, unsupported(path, "WordPiece, Unigram (without byte_fallback)")
	}
	if !slices.Contains([]string{"", "TemplateProcessing", "BertProcessing", "RobertaProcessing"}, post.Type) {
		return nil, unsupported(path, "TemplateProcessing, BertProcessing, RobertaProcessing")
	}
	steps = []part{pre}
	if pre.Type == "Sequence" {
		steps = pre.PreTokenizers
	}
	for i, step := range steps {
		known := step.Type == preMeta && (i == 0 || step.Prepend != "first") // of which words would be the first?
		known = known || i == 0 && slices.Contains([]string{"", preBERT, preSpaces}, step.Type)
		if !known {
			return nil, unsupported(path, "BertPreTokenizer, WhitespaceSplit, Metaspace")
		}
	}
	return steps, nil
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

// chunk is how many bytes of a text are cut at a time: the library takes time with
// the square of it.
const chunk = 256

// encode is the ids of a text with those that begin and end it. Of a text that is
// too long for the model it may be a beginning, which is too long too. ok is false
// where the library fails.
func (t *tokenizer) encode(text string) (ids []int64, ok bool) {
	ids = slices.Clone(t.before)
	for rest := t.normalise(text); rest != "" && len(ids) <= t.most; {
		var bit string
		bit, rest = t.next(rest)
		more, ok := t.pieces(bit, false)
		if !ok {
			return nil, false
		}
		ids = append(ids, more...)
	}
	return append(ids, t.after...), true
}

// next takes so much off a text that what follows is cut as if it still were there:
// it begins with a blank.
func (t *tokenizer) next(text string) (bit, rest string) {
	if !t.words {
		return text, ""
	}
	for at := chunk; at < len(text); at++ {
		if text[at] == ' ' && text[at-1] != ' ' {
			return text[:at], text[at:]
		}
	}
	return text, ""
}

// cut leaves so many of the ids of a text as the model takes, and its end.
func (t *tokenizer) cut(ids []int64) []int64 {
	if len(ids) <= t.most {
		return ids
	}
	return slices.Concat(ids[:max(0, t.most-len(t.after))], t.after)
}

// pieces is the library's work.
func (t *tokenizer) pieces(text string, ends bool) (ids []int64, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ids, ok = nil, false
		}
	}()
	e, err := t.inner.EncodeSingle(text, ends)
	if err != nil {
		return nil, false
	}
	ids = make([]int64, len(e.Ids))
	for i, id := range e.Ids {
		ids[i] = int64(id)
	}
	return ids, true
}

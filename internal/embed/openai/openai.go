// Package openai embeds with a server that speaks /v1/embeddings: OpenAI, vLLM,
// llama.cpp, LM Studio, text-embeddings-inference and others.
//
// Format: https://platform.openai.com/docs/api-reference/embeddings
package openai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"

	"github.com/thtbatch/thtbatch/internal/embed/server"
)

// Provider is the name of this embedder in an embed_space.
const Provider = "openai"

// Limits of one request that OpenAI sets. Others have lower ones, which they
// answer with 413 or 422: then the request is halved.
const (
	mostTexts  = 2048
	mostTokens = 300_000
)

// New makes an embedder; see server.New. An address with a path is that of the
// API, below which /embeddings is (https://host/v1, https://host/openai/v1); one
// without a path gets /v1.
func New(o server.Options) (*server.Embedder, error) {
	o.BatchCount, o.BatchTokens = min(o.BatchCount, mostTexts), min(o.BatchTokens, mostTokens)
	return server.New(Provider, wire{}, o)
}

type wire struct{}

func (wire) Endpoint(base *url.URL) *url.URL {
	if base.Path == "" || base.Path == "/" {
		return base.JoinPath("v1", "embeddings")
	}
	return base.JoinPath("embeddings")
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// Request has no word about cutting: the format knows none.
func (wire) Request(m server.Model, texts []string) any {
	return request{Model: m.Name, Input: texts, Dimensions: m.Dimensions}
}

type vector struct {
	Index     *int            `json:"index"`
	Embedding json.RawMessage `json:"embedding"`
}

// Decode puts the vectors in the order of their index, as numbers or as base64
// of little-endian float32. Where a server names no index they stand in order.
func (wire) Decode(reply []byte, texts int) ([][]float32, error) {
	var r struct {
		Data []vector `json:"data"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return nil, errors.New("not the JSON of /v1/embeddings")
	}
	if len(r.Data) != texts {
		return nil, fmt.Errorf("%d vectors for %d texts", len(r.Data), texts)
	}
	out, seen := make([][]float32, texts), make([]bool, texts)
	for place, v := range r.Data {
		at := place
		if v.Index != nil {
			at = *v.Index
		}
		if at < 0 || at >= texts || seen[at] {
			return nil, fmt.Errorf("index %d among %d vectors, or twice", at, texts)
		}
		seen[at] = true
		var err error
		if out[at], err = numbers(v.Embedding); err != nil {
			return nil, fmt.Errorf("vector %d: %w", at, err)
		}
	}
	return out, nil
}

func numbers(raw json.RawMessage) ([]float32, error) {
	if len(raw) == 0 || raw[0] != '"' {
		var v []float32
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, errors.New("not a list of numbers")
		}
		return v, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, errors.New("not a text")
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(packed)%4 != 0 {
		return nil, errors.New("not base64 of float32")
	}
	v := make([]float32, len(packed)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	return v, nil
}

func (wire) Fetch(string) string { return "" }

// Package openai embeds with a server that speaks /v1/embeddings: OpenAI, vLLM,
// llama.cpp, LM Studio, text-embeddings-inference and others.
//
// Format: https://platform.openai.com/docs/api-reference/embeddings
package openai

import (
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
	Encoding   string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// Request has no word about cutting: the format knows none.
func (wire) Request(m server.Model, texts []string) any {
	return request{Model: m.Name, Input: texts, Encoding: "float", Dimensions: m.Dimensions}
}

// Decode puts the vectors in the order of their index, as numbers or as base64
// of little-endian float32, which some servers send whatever they are asked for.
// Where a server names no index they stand in order.
func (wire) Decode(reply []byte, texts int) ([][]float32, error) {
	var r struct {
		Data *[]struct {
			Index     *int   `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
	}
	if err := server.ReadJSON(reply, &r); err != nil {
		return nil, err
	}
	if r.Data == nil {
		return nil, errors.New("no data in the reply")
	}
	data := *r.Data
	if len(data) != texts {
		return nil, &server.CountError{Held: len(data), Wanted: texts}
	}
	out, seen := make([][]float32, texts), make([]bool, texts)
	for place, v := range data {
		at := place
		if v.Index != nil {
			at = *v.Index
		}
		if at < 0 || at >= texts || seen[at] {
			return nil, fmt.Errorf("index %d among %d vectors, or twice", at, texts)
		}
		out[at], seen[at] = v.Embedding, true
	}
	return out, nil
}

// vector is numbers or base64.
type vector []float32

// UnmarshalJSON implements json.Unmarshaler.
func (v *vector) UnmarshalJSON(text []byte) error {
	if len(text) == 0 || text[0] != '"' {
		return (*server.Vector)(v).UnmarshalJSON(text)
	}
	var packed []byte // encoding/json keeps bytes as base64
	if err := json.Unmarshal(text, &packed); err != nil || len(packed)%4 != 0 {
		return errors.New("not base64 of float32")
	}
	out := make(vector, len(packed)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	*v = out
	return nil
}

func (wire) Fetch(string) string { return "" }

// Package ollama embeds with a server that speaks Ollama's /api/embed.
//
// Format: https://docs.ollama.com/api/embed
package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/thtbatch/thtbatch/internal/embed/server"
)

// Provider is the name of this embedder in an embed_space.
const Provider = "ollama"

// New makes an embedder; see server.New. The address is that of the server,
// below which /api/embed is.
func New(o server.Options) (*server.Embedder, error) { return server.New(Provider, wire{}, o) }

type wire struct{}

func (wire) Endpoint(base *url.URL) *url.URL { return base.JoinPath("api", "embed") }

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Truncate   bool     `json:"truncate"` // left out, it would be true
	Dimensions int      `json:"dimensions,omitempty"`
}

func (wire) Request(m server.Model, texts []string) any {
	return request{Model: m.Name, Input: texts, Truncate: m.Cut, Dimensions: m.Dimensions}
}

// Decode reads the vectors, which stand in the order of the texts.
func (wire) Decode(reply []byte, texts int) ([][]float32, error) {
	var r struct {
		Embeddings [][]float32 `json:"embeddings"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return nil, errors.New("not the JSON of /api/embed")
	}
	if len(r.Embeddings) != texts {
		return nil, fmt.Errorf("%d vectors for %d texts", len(r.Embeddings), texts)
	}
	return r.Embeddings, nil
}

func (wire) Fetch(model string) string { return "ollama pull " + model }

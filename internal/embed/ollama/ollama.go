// Package ollama embeds with a server that speaks Ollama's /api/embed.
//
// Format: https://docs.ollama.com/api/embed
package ollama

import (
	"errors"
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
		Embeddings *[]server.Vector `json:"embeddings"`
	}
	if err := server.ReadJSON(reply, &r); err != nil {
		return nil, err
	}
	if r.Embeddings == nil {
		return nil, errors.New("no embeddings in the reply")
	}
	vectors := *r.Embeddings
	if len(vectors) != texts {
		return nil, &server.CountError{Held: len(vectors), Wanted: texts}
	}
	out := make([][]float32, texts)
	for i, v := range vectors {
		out[i] = v
	}
	return out, nil
}

func (wire) Fetch(model string) string { return "ollama pull " + model }

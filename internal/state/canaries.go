package state

import (
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Canary is what the fixed texts gave in a vector space: by it a model that
// changed behind its name is noticed. Of several lines about one space the last
// counts.
type Canary struct {
	Space   string      `json:"embed_space"`
	Vectors [][]float32 `json:"vectors"`
	RunID   string      `json:"run_id"`
	At      time.Time   `json:"at"`
}

// Canary of a space; ok is false where none is kept. A line that cannot be read
// is damage: what it said is not known.
func (d *Dir) Canary(space string) (c Canary, ok bool, damage []*fault.Error, err error) {
	lines, damage, err := readLines(d.CanariesFile(), func(c *Canary) string {
		if c.Space == "" || len(c.Vectors) == 0 {
			return "no_vectors"
		}
		return ""
	})
	for _, line := range lines {
		if line.Space == space {
			c, ok = line, true
		}
	}
	return c, ok, damage, err
}

// AddCanary keeps what the fixed texts give from now on; on disk when it returns.
func (d *Dir) AddCanary(c Canary) error { return appendLines(d.CanariesFile(), c) }

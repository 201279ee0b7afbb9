package embed_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/embed"
)

func TestAgreement(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		before, now [][]float32
		want        float64
	}{
		"the same":           {[][]float32{{1, 2}, {3, 4}}, [][]float32{{1, 2}, {3, 4}}, 1},
		"another length":     {[][]float32{{1, 2}, {3, 4}}, [][]float32{{2, 4}, {30, 40}}, 1},
		"one turned":         {[][]float32{{1, 0}, {1, 0}}, [][]float32{{1, 0}, {0, 1}}, 0},
		"another dimension":  {[][]float32{{1, 0}}, [][]float32{{1, 0, 0}}, -1},
		"another number":     {[][]float32{{1, 0}}, nil, -1},
		"nothing":            {nil, nil, -1},
		"a zero vector":      {[][]float32{{0, 0}}, [][]float32{{1, 0}}, -1},
		"a NaN":              {[][]float32{{1, 0}}, [][]float32{{nan, 0}}, -1},
		"just below the bar": {[][]float32{{1, 0}}, [][]float32{{1, 0.0448}}, 0.998998},
		"just above the bar": {[][]float32{{1, 0}}, [][]float32{{1, 0.0447}}, 0.999002},
	} {
		if got := embed.Agreement(c.before, c.now); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// fixed answers every batch the same way.
type fixed struct {
	vectors [][]float32
	err     error
}

func (f fixed) Space() string   { return "test" }
func (f fixed) Dimensions() int { return 2 }

func (f fixed) Embed(context.Context, embed.Role, []string) ([][]float32, error) {
	return f.vectors, f.err
}

func TestCanaries(t *testing.T) {
	good := []float32{1, 2}
	down := errors.New("down")
	for name, c := range map[string]struct {
		answer fixed
		want   string
	}{
		"good":     {fixed{[][]float32{good, good, good}, nil}, ""},
		"down":     {fixed{nil, down}, "down"},
		"two":      {fixed{[][]float32{good, good}, nil}, "2 vectors"},
		"a zero":   {fixed{[][]float32{good, {0, 0}, good}, nil}, "text 2 of 3: " + embed.ReasonZero},
		"refused":  {fixed{[][]float32{good, nil, good}, &embed.BatchError{Items: []embed.ItemError{{Index: 1, Reason: "no"}}}}, "text 2 of 3: no"},
		"too long": {fixed{[][]float32{good, good, {1, 2, 3}}, nil}, "text 3 of 3: " + embed.ReasonDimension},
	} {
		vectors, err := embed.Canaries(t.Context(), c.answer)
		if c.want == "" && (err != nil || len(vectors) != 3) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d vectors, %v", name, len(vectors), err)
		}
	}
}

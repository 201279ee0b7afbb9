package embed

import (
	"context"
	"fmt"
	"math"
)

// LeastAgreement is the cosine below which a model is no longer the one that
// made the vectors of its space. Another processor, batch or quantisation of the
// arithmetic stays well above it.
const LeastAgreement = 0.999

// canaries are embedded at every run and compared with what they gave before. They
// never change: a change would look like one of the model.
func canaries() []string {
	return []string{
		"Ricovero ordinario: degenza con almeno un pernottamento, esclusi i ricoveri in day hospital.",
		"Il margine operativo è il ricavo netto meno i costi diretti, per linea di prodotto e trimestre 2024.",
		"Average length of stay of patients discharged alive from the cardiology ward, in days.",
	}
}

// Canaries embeds the fixed texts by which a model is recognised. Where one has
// no usable vector the error names the reason.
func Canaries(ctx context.Context, e Embedder) ([][]float32, error) {
	texts := canaries()
	vectors, err := e.Embed(ctx, Document, texts)
	refused := Refused(err)
	if err != nil && refused == nil {
		return nil, err
	}
	bad, err := Check(vectors, e.Dimensions(), len(texts))
	if err != nil {
		return nil, err
	}
	if refused = append(refused, bad...); len(refused) > 0 {
		return nil, fmt.Errorf("embed fixed text %d of %d: %s", refused[0].Index+1, len(texts), refused[0].Reason)
	}
	return vectors, nil
}

// Agreement is the lowest cosine between vectors of the same texts, made at two
// times; -1 where the number of vectors or their dimension differs, or where a
// vector has no direction.
func Agreement(before, now [][]float32) float64 {
	if len(before) != len(now) || len(now) == 0 {
		return -1
	}
	lowest := 1.0
	for i := range now {
		lowest = min(lowest, cosine(before[i], now[i]))
	}
	return lowest
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return -1
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	c := dot / math.Sqrt(aa*bb)
	if math.IsNaN(c) {
		return -1
	}
	return c
}

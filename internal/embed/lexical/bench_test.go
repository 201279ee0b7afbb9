package lexical_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/lexical"
)

// BenchmarkEmbed runs in one goroutine, so texts/s are those of one core. New
// words are stemmed and hashed; words met before are remembered.
func BenchmarkEmbed(b *testing.B) {
	b.Run("questions", func(b *testing.B) { benchmark(b, own(b).pool()) })
	b.Run(evalDir, func(b *testing.B) { benchmark(b, another(b).pool()) })
	b.Run("memories", func(b *testing.B) { benchmark(b, memories(1000)) })
	b.Run("all words new", func(b *testing.B) {
		n := 0
		texts := make([]string, 1000)
		var bytes int64
		for i := range texts {
			for range 10 {
				n++
				texts[i] += fmt.Sprintf("parol%sazione ", letters(n))
			}
			bytes += int64(len(texts[i]))
		}
		b.SetBytes(bytes)
		b.ReportAllocs()
		for b.Loop() {
			run(b, newEmbedder(b, lexical.DefaultDimensions), texts)
		}
		b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "texts/s")
	})
}

func benchmark(b *testing.B, texts []string) {
	e := newEmbedder(b, lexical.DefaultDimensions)
	var bytes int64
	for _, text := range texts {
		bytes += int64(len(text))
	}
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		run(b, e, texts)
	}
	b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "texts/s")
}

// run embeds in batches, as a job does.
func run(b *testing.B, e embed.Embedder, texts []string) {
	for len(texts) > 0 {
		n := min(64, len(texts))
		if _, err := e.Embed(context.Background(), embed.Document, texts[:n]); err != nil {
			b.Fatal(err)
		}
		texts = texts[n:]
	}
}

// memories are contents in the shape of the default template.
func memories(n int) []string {
	subjects := []string{"paziente in carico", "ricovero ripetuto", "degenza media", "fornitore attivo", "settled claim", "bed occupancy"}
	columns := []string{"flag_attivo", "data_chiusura", "dim_paziente.id_reparto", "fact_ricoveri.data_dimissione", "claimStatus", "paid_amount"}
	texts := make([]string, n)
	for i := range texts {
		subject, column, other := subjects[i%6], columns[i/6%6], columns[i/36%6]
		texts[i] = fmt.Sprintf(`concept_clarified: %[1]s
Si considera %[1]s la riga con %[2]s = %[4]d e %[3]s non nulla alla data di estrazione; le righe con %[3]s = '9999-12-31' restano fuori.
Confermato dal controllo di gestione: il filtro su %[2]s evita di contare due volte lo stesso episodio, come nel report del %[5]d.
Quanti casi di %[1]s per reparto e mese nel %[5]d, esclusi i dimessi in giornata?
concepts: %[1]s
tables: dim_paziente, fact_ricoveri`, subject, column, other, i%10, 2015+i%10)
	}
	return texts
}

func letters(n int) string {
	var s strings.Builder
	for ; n > 0; n /= 20 {
		s.WriteByte("bcdfghlmnpqrstvzaeio"[n%20])
	}
	return s.String()
}

package lexical_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/lexical"
)

// labelled is one text of a judged set. Kind is B for the base of its group, N
// a near-duplicate of it, P a paraphrase, H a hard negative, X the other
// language.
type labelled struct{ Group, Kind, Text string }

// relevant texts of a group ask for each other. Hard negatives, the other
// language, other groups and distractors are what must not come first.
func (l labelled) relevant() bool { return strings.Contains("BNP", l.Kind) }

type judged struct {
	texts       []labelled
	distractors []string
}

// quality of an embedder over a judged set: every B, N and P asks the pool of
// all other texts and distractors for the other B, N and P of its group.
type quality struct {
	MRR, NDCG       float64 // mean reciprocal rank of the first relevant; nDCG at 10
	NearFirst       float64 // share of N with a relevant text first
	ParaphraseFirst float64 // share of P with a relevant text first
}

func (q quality) String() string {
	return fmt.Sprintf("MRR %.3f, nDCG@10 %.3f, near-duplicate first %.3f, paraphrase first %.3f", q.MRR, q.NDCG, q.NearFirst, q.ParaphraseFirst)
}

func (j judged) pool() []string {
	var pool []string
	for _, l := range j.texts {
		pool = append(pool, l.Text)
	}
	return append(pool, j.distractors...)
}

func (j judged) evaluate(t testing.TB, e embed.Embedder) quality {
	t.Helper()
	vectors, err := e.Embed(context.Background(), embed.Query, j.pool())
	if err != nil {
		t.Fatal(err)
	}
	var q quality
	var asked, near, paraphrases float64
	for i, l := range j.texts {
		if !l.relevant() {
			continue
		}
		first, ndcg := j.rank(vectors, i)
		asked++
		q.MRR += 1 / float64(first)
		q.NDCG += ndcg
		hit := 0.0
		if first == 1 {
			hit = 1
		}
		switch l.Kind {
		case "N":
			near++
			q.NearFirst += hit
		case "P":
			paraphrases++
			q.ParaphraseFirst += hit
		}
	}
	q.MRR, q.NDCG = q.MRR/asked, q.NDCG/asked
	q.NearFirst, q.ParaphraseFirst = q.NearFirst/near, q.ParaphraseFirst/paraphrases
	return q
}

// rank is the place, from 1, of the first relevant answer to text i, and the
// nDCG at 10 of all of them.
func (j judged) rank(vectors [][]float32, i int) (first int, ndcg float64) {
	type answer struct {
		index      int
		similarity float64
	}
	answers := make([]answer, 0, len(vectors))
	for k, v := range vectors {
		if k != i {
			answers = append(answers, answer{k, dot(vectors[i], v)})
		}
	}
	slices.SortStableFunc(answers, func(a, b answer) int {
		switch {
		case a.similarity > b.similarity:
			return -1
		case a.similarity < b.similarity:
			return 1
		}
		return 0
	})
	var gained, ideal float64
	wanted := 0
	for place, a := range answers {
		if a.index >= len(j.texts) || !j.texts[a.index].relevant() || j.texts[a.index].Group != j.texts[i].Group {
			continue
		}
		if first == 0 {
			first = place + 1
		}
		if place < 10 {
			gained += 1 / math.Log2(float64(place)+2)
		}
		if wanted < 10 {
			ideal += 1 / math.Log2(float64(wanted)+2)
		}
		wanted++
	}
	return first, gained / ideal
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// own is the judged set of the project, with generated distractors.
func own(t testing.TB) judged {
	t.Helper()
	j := readJudged(t, "testdata/labelled.jsonl")
	// Frames of the judged texts with other contents, so that a distractor
	// shares the greater part of its words with some of them.
	j.distract([]string{
		"Qual è la %s media in giorni per reparto nel 2023?", "Quanti giorni di %s in media, reparto per reparto, nell'anno 2022",
		"Numero di persone arrivate per %s nell'ultimo mese", "Quanti casi di %s non sono stati seguiti da una visita?",
		"Elenca i tre medici con più casi di %s nel primo trimestre", "Chi sono i primi 3 reparti per numero di casi di %s tra luglio e settembre?",
		"Un caso di %s è il ritorno del paziente entro sessanta giorni per un'altra diagnosi", "Quali fornitori non hanno consegnato il materiale per %s?",
		"Tempo di attesa per %s, divisi per età", "Di quanto gli uffici hanno speso per %s oltre il previsto in agosto?",
	}, []string{
		"dialisi", "riabilitazione", "isolamento", "chirurgia vascolare", "terapia intensiva", "pediatria", "oncologia", "lungodegenza",
		"cardiologia", "ostetricia", "trasfusione", "fisioterapia", "formazione", "reperibilità", "malattia",
	})
	j.distract([]string{
		"How many %s were moved by the hospital in the last six months?", "Number of %s that patients asked for over the past year",
		"List the customers with more than two %s in ninety days", "Which clients have %s over 3 months past the start date?",
		"A %s is closed when close_status is 'C' and close_amount equals 0 in fact_visits", "Ratio of %s to available hours in a month, emergencies excluded",
		"Share of %s per department during the year", "Average number of %s divided by the headcount",
	}, []string{
		"outpatient visits", "bed days", "orders", "claims", "leavers", "sick days", "invoices", "theatre hours", "appointments",
		"staff contracts", "wards", "refunds", "complaints", "referrals", "deliveries",
	})
	return j
}

// distract adds every frame with every filling.
func (j *judged) distract(frames, fillings []string) {
	for _, frame := range frames {
		for _, filling := range fillings {
			j.distractors = append(j.distractors, fmt.Sprintf(frame, filling))
		}
	}
}

func readJudged(t testing.TB, path string) judged {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var j judged
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var l labelled
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return j
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		j.texts = append(j.texts, l)
	}
}

// evalDir names the environment variable of a directory with another judged
// set: labelled.jsonl in the form of testdata/labelled.jsonl, and distractors.txt
// with one text a line. Such a set need not be free to publish.
const evalDir = "THTBATCH_EVAL_DIR"

func another(t testing.TB) judged {
	t.Helper()
	dir := os.Getenv(evalDir)
	if dir == "" {
		// On standard error too: the reason of a skip shows only with -v.
		skipped := "SKIPPED " + t.Name() + ": " + evalDir + " is not set"
		fmt.Fprintln(os.Stderr, skipped)
		t.Skip(skipped)
	}
	j := readJudged(t, filepath.Join(dir, "labelled.jsonl"))
	text, err := os.ReadFile(filepath.Join(dir, "distractors.txt"))
	if err != nil {
		t.Fatal(err)
	}
	j.distractors = strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return j
}

// The floors lie a little below what the project's own set measured when they
// were written. They are no promise: the set is small, and its author knew how
// the embedder works.
func TestQualityDoesNotFall(t *testing.T) {
	t.Parallel()
	floor := map[int]quality{
		512:                       {MRR: 0.85, NDCG: 0.72, NearFirst: 0.98, ParaphraseFirst: 0.54},
		lexical.DefaultDimensions: {MRR: 0.86, NDCG: 0.74, NearFirst: 0.98, ParaphraseFirst: 0.58},
	}
	j := own(t)
	for dimensions, least := range floor {
		got := j.evaluate(t, newEmbedder(t, dimensions))
		t.Logf("%d dimensions: %v", dimensions, got)
		if got.MRR < least.MRR || got.NDCG < least.NDCG || got.NearFirst < least.NearFirst || got.ParaphraseFirst < least.ParaphraseFirst {
			t.Errorf("%d dimensions: %v; at least %v", dimensions, got, least)
		}
	}
}

func BenchmarkQuality(b *testing.B) {
	sets := map[string]func(testing.TB) judged{"own": own, evalDir: another}
	for _, name := range []string{"own", evalDir} {
		for _, dimensions := range []int{512, lexical.DefaultDimensions} {
			b.Run(fmt.Sprintf("%s/%d", name, dimensions), func(b *testing.B) {
				j := sets[name](b)
				e := newEmbedder(b, dimensions)
				var q quality
				for b.Loop() {
					q = j.evaluate(b, e)
				}
				b.ReportMetric(q.MRR, "MRR")
				b.ReportMetric(q.NDCG, "nDCG@10")
				b.ReportMetric(q.NearFirst, "near-first")
				b.ReportMetric(q.ParaphraseFirst, "paraphrase-first")
			})
		}
	}
}

func newEmbedder(t testing.TB, dimensions int) *lexical.Embedder {
	t.Helper()
	e, err := lexical.New(dimensions)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

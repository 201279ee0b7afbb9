package lexical_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/lexical"
)

func one(t testing.TB, e embed.Embedder, text string) []float32 {
	t.Helper()
	vectors, err := e.Embed(context.Background(), embed.Document, []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return vectors[0]
}

func TestSpace(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, 512)
	if e.Space() != "lexical/1;dim=512;norm=l2;trunc=none;prefix=" || e.Dimensions() != 512 {
		t.Errorf("%s, %d", e.Space(), e.Dimensions())
	}
	if embed.Costly(e.Space()) {
		t.Error("the built-in embedder costs nothing")
	}
	for _, dimensions := range []int{-1, 0, 63, 8193} {
		if _, err := lexical.New(dimensions); err == nil {
			t.Errorf("%d dimensions are accepted", dimensions)
		}
	}
}

// The bits are the contract: a change of any of them is another version of the
// space, because vectors written before would be compared with those.
func TestBitsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, 64)
	if got := bitsOf(one(t, e, "due letti")); got != golden {
		t.Errorf("%#v", got)
	}
	for text, want := range goldenHashes {
		h := fnv.New64a()
		for _, b := range bitsOf(one(t, e, text)) {
			h.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
		}
		if h.Sum64() != want {
			t.Errorf("%q: %#x", text, h.Sum64())
		}
	}
}

func bitsOf(v []float32) (bits [64]uint32) {
	for i, x := range v {
		bits[i] = math.Float32bits(x)
	}
	return bits
}

// golden is "due letti" in 64 dimensions, as IEEE 754 bits.
var golden = [64]uint32{
	0x0, 0x0, 0x0, 0x3e43eb93, 0x0, 0x0, 0x0, 0xbf4231ad,
	0x0, 0xbe817673, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
	0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
	0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
	0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
	0x3e43eb93, 0x0, 0x0, 0x3ed7c56b, 0x0, 0x0, 0x0, 0x0,
	0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0xbe43eb93, 0x0,
	0x0, 0x0, 0x0, 0x3e43eb93, 0x3e43eb93, 0x0, 0x0, 0x0,
}

var goldenHashes = map[string]uint64{
	"Quanti pazienti sono stati dimessi a settembre?": 0x70e448454a97718d,
	"Which wards are full, and since when?":           0xa417928a984d5e03,
	"è":                                               0x5cfca03eae01c9cb,
	"flag_attivo = 1 in dim_paziente":                 0x3e6d99126315fadc,
	"concept_clarified: paziente in carico\nflagAttivo vale 1,5 e non 2.000": 0x3cecd127a6cf4e3e,
	"病院 больница": 0xf0f3d40fc7dd50ef,
}

func TestOrderRolesAndRefusals(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, 256)
	texts := []string{"paziente dimesso", "", "e?", " \n—", "no", "the", "concept_clarified", "7"}
	documents, err := e.Embed(context.Background(), embed.Document, texts)
	refused := embed.Refused(err)
	if len(documents) != len(texts) || len(refused) != 2 {
		t.Fatalf("%d vectors, %v", len(documents), err)
	}
	for k, index := range []int{1, 3} {
		if refused[k] != (embed.ItemError{Index: index, Reason: embed.ReasonNothing, Permanent: true}) || documents[index] != nil {
			t.Errorf("%+v", refused[k])
		}
		documents[index] = one(t, e, "x")
	}
	if items, err := embed.Check(documents, 256, len(texts)); err != nil || items != nil {
		t.Errorf("%v %v", items, err)
	}
	queries, _ := e.Embed(context.Background(), embed.Query, texts)
	for i, text := range texts {
		if i == 1 || i == 3 {
			continue
		}
		if !slices.Equal(queries[i], documents[i]) || !slices.Equal(documents[i], one(t, e, text)) {
			t.Errorf("text %d has another vector in another role or batch", i)
		}
	}
	if vectors, err := e.Embed(context.Background(), embed.Document, nil); len(vectors) != 0 || err != nil {
		t.Errorf("%v %v", vectors, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := newEmbedder(t, 64).Embed(ctx, embed.Document, []string{"a"}); v != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", v, err)
	}
}

// What the embedder is for, text by text: the first pair must be nearer than
// the second.
func TestNearer(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, lexical.DefaultDimensions)
	for _, c := range []struct{ why, text, near, far string }{
		{"inflection", "paziente dimesso dal reparto", "pazienti dimessi dai reparti", "fornitori pagati dal magazzino"},
		{"typing errors", "tasso di occupazione dei letti", "taso di ocupazione dei letti", "tasso di assenza dei medici"},
		{"identifier by its parts", "paziente con flag_attivo", "flag del paziente attivo", "paziente con data nulla"},
		{"identifier in another case", "flag_attivo", "flagAttivo", "flag passivo"},
		{"identifier with its table", "flag_attivo", "dim_paziente.flag_attivo", "dim_paziente.data_attivo"},
		{"year", "ricoveri nel 2024", "nel 2024 i ricoveri", "ricoveri nel 2023"},
		{"number word", "primi dieci reparti", "primi 10 reparti", "primi 20 reparti"},
		{"grouped number", "soglia 1.200", "soglia 1200", "soglia 1,2"},
		{"negation", "ordini non spediti", "ordini mai spediti", "ordini spediti"},
		{"marks and case", "PERCHÉ la società è in perdita", "perche la societa e in perdita", "perché la città è in attesa"},
		{"single letters", "vaccino epatite A", "epatite A vaccino", "vaccino epatite B"},
		{"stop words alone", "chi?", "Chi", "dove"},
	} {
		v := one(t, e, c.text)
		near, far := dot(v, one(t, e, c.near)), dot(v, one(t, e, c.far))
		if near <= far+0.05 {
			t.Errorf("%s: near %.3f, far %.3f", c.why, near, far)
		}
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, 128)
	other := newEmbedder(t, 128)
	words := strings.Fields("reparto paziente ricovero dimesso ordine cliente fatturato letto visita esame ward patient order invoice revenue flag_attivo dim_paz.id 2024 1.200 non no the di il e A病")
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(),
			rapid.Map(rapid.SliceOfN(rapid.SampledFrom(words), 1, 40), func(w []string) string { return strings.Join(w, " ") }),
		).Draw(rt, "text")
		vectors, err := e.Embed(context.Background(), embed.Document, []string{text, text + " ", text})
		if err != nil {
			if len(embed.Refused(err)) != 3 {
				rt.Fatal(err)
			}
			return
		}
		if length := dot(vectors[0], vectors[0]); math.Abs(length-1) > 1e-6 {
			rt.Fatalf("length %v", length)
		}
		again, err := other.Embed(context.Background(), embed.Query, []string{text})
		if err != nil || !slices.Equal(vectors[0], vectors[2]) || !slices.Equal(vectors[0], again[0]) || !slices.Equal(vectors[0], vectors[1]) {
			rt.Fatal("equal texts have different vectors")
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, lexical.DefaultDimensions)
	pool := own(t).pool()
	want, err := e.Embed(context.Background(), embed.Document, pool)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			got, err := e.Embed(context.Background(), embed.Document, pool)
			if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
				t.Errorf("another vector, %v", err)
			}
		})
	}
	all.Wait()
}

func FuzzEmbed(f *testing.F) {
	for text := range goldenHashes {
		f.Add(text)
	}
	f.Add("a\xff\xfe__..1.,2'’A.b_C")
	e := newEmbedder(f, 64)
	f.Fuzz(func(t *testing.T, text string) {
		vectors, err := e.Embed(context.Background(), embed.Document, []string{text})
		if items := embed.Refused(err); items != nil {
			return
		}
		if err != nil || embed.CheckVector(vectors[0], 64) != "" {
			t.Fatal(err)
		}
	})
}

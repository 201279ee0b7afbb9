package lexical

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// shown is the tokens of text: numbers with #, wholes with =, stop words in
// brackets, words that negate with !.
func shown(s *scanner, text string) string {
	s.scan(text)
	var out []string
	for _, t := range s.tokens {
		w := string(s.lower[t.start:t.end])
		switch {
		case t.meaning.negation:
			w = "!" + w
		case t.stop:
			w = "[" + w + "]"
		case t.meaning.number != "":
			w = "#" + t.meaning.number
		case t.kind == kindNumber:
			w = "#" + w
		}
		if t.kind == kindWhole {
			w = "=" + w
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" ?! — ___ ", ""},
		{"Perché l’anno?", "[perche] [l] anno"},
		{norm.NFD.String("Perché è così"), "[perche] [e] cosi"},
		{"C'è il paziente dell'ospedale", "[c] [e] [il] paziente [dell] ospedale"},
		{"the patient's ward, they don't", "[the] patient [s] ward [they] !don [t]"},
		{"a epatite A o B, turno C", "[a] epatite a [o] b turno c"},
		{"A paziente", "[a] paziente"},
		{"nessuno, non, senza; without", "!nessuno !non !senza !without"},
		{"dieci ten 10 10,0 1.200 1,200 1200 1.200,5", "#10 #10 #10 #10.0 #1200 #1200 #1200 #1200.5"},
		{"10. Poi 2,", "#10 [poi] #2"},
		{"flag_attivo", "=flag_attivo flag attivo"},
		{"FLAG_ATTIVO flagAttivo FlagAttivo", "=flag_attivo flag attivo =flag_attivo flag attivo =flag_attivo flag attivo"},
		{"_flag__attivo_", "=flag_attivo flag attivo"},
		{"dm.flag_attivo = 1", "=dm.flag_attivo dm =flag_attivo flag attivo #1"},
		{"HTTPServer q1_2023 ICD10", "=http_server http server =q1_2023 q1 #2023 icd10"},
		{"data_in", "=data_in data [in]"},
		{"concept_clarified: reparto", "[=concept_clarified] reparto"},
		{"fine. Poi ... fine", "fine [poi] fine"},
		{"½ ² ﬁne Ⅷ", "#1 #2 #2 fine viii"},
		{"a\xffb \xc3", "[a] b"},
		{"٣٤ пациент 病院", "#٣٤ пациент 病院"},
	} {
		got := strings.ReplaceAll(shown(&scanner{vocabulary: newVocabulary()}, c.text), "=[concept_clarified]", "[=concept_clarified]")
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]language{
		"Quali sono i pazienti della tabella patients?":  italian,
		"Which are the patients of the tabella pazienti": english,
		"fatturato clienti Milano":                       italian,
		"recent customer orders":                         english,
		"":                                               italian,
	} {
		s := scanner{vocabulary: newVocabulary()}
		if s.scan(text); s.language() != want {
			t.Errorf("%q is taken for language %d", text, s.language())
		}
	}
}

// A vocabulary word that the scanner never produces would be dead.
func TestVocabularyIsWrittenAsScanned(t *testing.T) {
	t.Parallel()
	v := newVocabulary()
	for w := range v {
		s := scanner{vocabulary: v}
		s.scan(w)
		if len(s.tokens) != 1 || string(s.lower) != w {
			t.Errorf("%q is scanned as %q", w, shown(&s, w))
		}
	}
}

func TestPassages(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"short":  "uno due",
		"spaces": strings.Repeat("parola lunga\n", 40_000),
		"none":   strings.Repeat("è", longestPassage*2),
		"broken": strings.Repeat("\x80", longestPassage*2),
	} {
		var joined strings.Builder
		for rest := text; rest != ""; {
			var passage string
			passage, rest = cutPassage(rest)
			if len(passage) == 0 || len(passage) > longestPassage || utf8.ValidString(text) != utf8.ValidString(passage) {
				t.Fatalf("%s: a passage of %d bytes", name, len(passage))
			}
			joined.WriteString(passage)
		}
		if joined.String() != text {
			t.Errorf("%s: the passages are not the text", name)
		}
	}
}

func TestFeaturesOfRememberedWordsAreTheSame(t *testing.T) {
	t.Parallel()
	w := newWorker(256, newVocabulary())
	for _, text := range []string{"ospedale", strings.Repeat("x", longestWord+1), "病院", "a"} {
		for l := range languages {
			fresh := slices.Clone(w.wordFeatures(l, []byte(text)))
			if again := w.wordFeatures(l, []byte(text)); !slices.Equal(fresh, again) || len(fresh) == 0 {
				t.Errorf("%q: %v, then %v", text, fresh, again)
			}
		}
	}
	w.features = append(w.features, make([]feature, rememberedFeatures+1)...)
	w.wordFeatures(italian, []byte("reparto"))
	if len(w.known[italian]) != 1 || len(w.features) > 100 {
		t.Errorf("nothing was forgotten: %d words, %d features", len(w.known[italian]), len(w.features))
	}
}

func TestSumsThatCancelOutHaveAVector(t *testing.T) {
	t.Parallel()
	v := make([]float32, 64)
	if normalise(v, make([]int64, 64)); v[0] != 1 {
		t.Errorf("%v", v)
	}
}

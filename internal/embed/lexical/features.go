package lexical

import (
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	stemmerOfEnglish "github.com/blevesearch/snowballstem/english"
	stemmerOfItalian "github.com/blevesearch/snowballstem/italian"
)

// Weights of the features, in thousandths of a word's stem. Grams share theirs:
// the squares of the weights of a word's n grams add up to its square.
const (
	weightStem     = 1000
	weightPrefix   = 600
	weightGrams    = 1200
	weightNumber   = 1800
	weightNegation = 1000
	weightWhole    = 1000
)

const (
	shortestGram = 3
	longestGram  = 4
	prefixLength = 4
)

// seed keeps features of different sorts apart that have the same letters.
type seed uint64

const (
	seedStem seed = iota + 1
	seedPrefix
	seedGram
	seedNumber
	seedNegation
	seedWhole
)

type feature struct {
	dimension uint16
	weight    int16 // with the feature's sign
}

const (
	// longestWord in bytes of a word that is stemmed and remembered. Longer
	// ones are no words: keys, encoded data.
	longestWord = 64
	// rememberedFeatures bounds the memory of a worker to a few megabytes.
	rememberedFeatures = 1 << 18
	// longestPassage in bytes is embedded at once: texts of any length need
	// the same memory.
	longestPassage = 64 << 10
)

// worker is the memory of one call of Embed: buffers, and the features of the
// words met so far, because stemming is most of the work and words repeat.
type worker struct {
	scanner
	sums    []int64
	negated bool // the text has a word that negates
	stemmer *snowballstem.Env

	known    [languages]map[string]stretch // word -> its features
	features []feature
	unknown  []feature // of the last word that is too long to be remembered
}

// stretch of worker.features.
type stretch struct{ from, to int }

func newWorker(dimensions int, words vocabulary) *worker {
	w := &worker{
		scanner: scanner{vocabulary: words},
		sums:    make([]int64, dimensions),
		stemmer: snowballstem.NewEnv(""),
	}
	w.forget()
	return w
}

func (w *worker) forget() {
	for l := range w.known {
		w.known[l] = make(map[string]stretch)
	}
	w.features = w.features[:0]
}

// add leaves the summed features of text in sums. It returns false when text
// has no letter and no digit; sums are then all zero.
func (w *worker) add(text string) bool {
	clear(w.sums)
	w.negated = false
	tokens, counted := w.addPassages(text, false)
	if tokens > 0 && counted == 0 {
		w.addPassages(text, true)
	}
	if w.negated {
		w.sum(w.feature(seedNegation, nil, weightNegation))
	}
	return tokens > 0
}

// addPassages returns how many tokens text has, and how many of them counted.
func (w *worker) addPassages(text string, stopWords bool) (tokens, counted int) {
	for text != "" {
		var passage string
		passage, text = cutPassage(text)
		w.scan(passage)
		tokens += len(w.tokens)
		counted += w.addTokens(stopWords)
	}
	return tokens, counted
}

// cutPassage cuts after the last white space that leaves a passage of at most
// longestPassage bytes. Where there is none, it cuts at a code point.
func cutPassage(text string) (passage, rest string) {
	if len(text) <= longestPassage {
		return text, ""
	}
	if at := strings.LastIndexAny(text[:longestPassage], " \n\t\r"); at >= 0 {
		return text[:at+1], text[at+1:]
	}
	at := longestPassage
	for at > longestPassage-utf8.UTFMax && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at], text[at:]
}

// addTokens adds the features of the scanned tokens and returns how many
// tokens had one. Stop words have none unless stopWords is set.
func (w *worker) addTokens(stopWords bool) (counted int) {
	lang := w.language()
	for _, t := range w.tokens {
		text := w.lower[t.start:t.end]
		switch {
		case t.kind == kindNumber:
			w.sum(w.feature(seedNumber, text, weightNumber))
		case t.meaning.negation:
			w.negated = true
		case t.stop && !stopWords:
			continue
		case t.kind == kindWhole:
			w.sum(w.feature(seedWhole, text, weightWhole))
		case t.meaning.number != "":
			w.sum(hash(seedNumber, t.meaning.number, weightNumber, len(w.sums)))
		default:
			for _, f := range w.wordFeatures(lang, text) {
				w.sum(f)
			}
		}
		counted++
	}
	return counted
}

func (w *worker) sum(f feature) { w.sums[f.dimension] += int64(f.weight) }

// wordFeatures is valid until the next call.
func (w *worker) wordFeatures(l language, word []byte) []feature {
	if len(word) > longestWord {
		w.unknown = w.appendFeatures(w.unknown[:0], l, word)
		return w.unknown
	}
	if s, ok := w.known[l][string(word)]; ok {
		return w.features[s.from:s.to]
	}
	if len(w.features) > rememberedFeatures {
		w.forget()
	}
	from := len(w.features)
	w.features = w.appendFeatures(w.features, l, word)
	w.known[l][string(word)] = stretch{from, len(w.features)}
	return w.features[from:]
}

func (w *worker) appendFeatures(dst []feature, l language, word []byte) []feature {
	stem := w.stem(l, word)
	dst = append(dst, w.feature(seedStem, stem, weightStem))
	// The ends of the stem are marked so that its first and last letters make
	// other grams than the same letters inside a word.
	marked := append(append([]byte{'<'}, stem...), '>')
	var starts [longestWord + 3]int // of the code points of marked
	n := 0
	for n+1 < len(starts) && starts[n] < len(marked) {
		_, size := utf8.DecodeRune(marked[starts[n]:])
		starts[n+1] = starts[n] + size
		n++
	}
	if n >= prefixLength+2 {
		dst = append(dst, w.feature(seedPrefix, marked[1:starts[prefixLength+1]], weightPrefix))
	}
	grams := 0
	for size := shortestGram; size <= longestGram; size++ {
		grams += max(0, n-size+1)
	}
	weight := int(math.Round(weightGrams / math.Sqrt(float64(grams))))
	for i := range n {
		for size := shortestGram; size <= longestGram && i+size <= n; size++ {
			dst = append(dst, w.feature(seedGram, marked[starts[i]:starts[i+size]], weight))
		}
	}
	return dst
}

// stem of a word in lower case. Words in another script than the two stemmers
// know, and what is too long to be a word, are their own stems.
func (w *worker) stem(l language, word []byte) []byte {
	if len(word) > longestWord || !isASCII(word) {
		return word
	}
	w.stemmer.SetCurrent(string(word))
	if l == english {
		stemmerOfEnglish.Stem(w.stemmer)
	} else {
		stemmerOfItalian.Stem(w.stemmer)
	}
	if stem := w.stemmer.Current(); stem != "" {
		return []byte(stem)
	}
	return word
}

// hash places a feature: FNV-1a (64 bits, the constants of RFC 9923), and then
// the finaliser of MurmurHash3, so that the high bits, which choose the
// dimension, and the lowest, which is the sign, depend on every letter.
func hash[T string | []byte](s seed, text T, weight, dimensions int) feature {
	const (
		offset = 14695981039346656037
		prime  = 1099511628211
	)
	h := (offset ^ uint64(s)) * prime
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	dimension, _ := bits.Mul64(h, uint64(dimensions))
	if h&1 == 1 {
		weight = -weight
	}
	return feature{dimension: uint16(dimension), weight: int16(weight)}
}

func (w *worker) feature(s seed, text []byte, weight int) feature {
	return hash(s, text, weight, len(w.sums))
}

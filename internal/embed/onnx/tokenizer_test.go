package onnx

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The ids in testdata are those of the reference (the Python package tokenizers
// 0.23) for small vocabularies of our own.
func TestSameIDsAsTheReference(t *testing.T) {
	for _, name := range []string{"wordpiece_uncased", "wordpiece_cased", "unigram"} {
		t.Run(name, func(t *testing.T) {
			tok, err := newTokenizer(directory{tokenizer: filepath.Join("testdata", name+".json")})
			if err != nil {
				t.Fatal(err)
			}
			var want []struct {
				Text string
				IDs  []int64
			}
			text, err := os.ReadFile(filepath.Join("testdata", name+"_ids.json"))
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			if err != nil || len(want) < 10 {
				t.Fatalf("%d texts, %v", len(want), err)
			}
			for _, w := range want {
				if got, ok := tok.encode(w.Text); !ok || !slices.Equal(got, w.IDs) {
					t.Errorf("%.40q:\n got %v\nwant %v", w.Text, got, w.IDs)
				}
			}
		})
	}
}

// Whatever cannot be read is an error that names the file.
func TestTokenizersThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":            "tokenizer",
		"a list":             "[]",
		"empty":              "{}",
		"no model":           `{"version":"1.0","normalizer":null,"model":null}`,
		"unknown model":      `{"model":{"type":"Nothing"}}`,
		"unknown normaliser": `{"normalizer":{"type":"Upside"},"model":{"type":"WordPiece","vocab":{}}}`,
		"a map cut short":    `{"normalizer":{"type":"Precompiled","precompiled_charsmap":"/////w=="},"model":{}}`,
	} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := newTokenizer(directory{tokenizer: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the library cuts otherwise than the reference is refused, and not cut.
func TestTokenizersThatAreNotCutAsByTheReference(t *testing.T) {
	for name, text := range map[string]string{
		"BPE":              `{"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}`,
		"bytes":            `{"model":{"type":"Unigram","byte_fallback":true,"vocab":[["a",0]]}}`,
		"words by regex":   `{"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"WordPiece","vocab":{"a":0}}}`,
		"blanks too late":  `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Metaspace"},{"type":"WhitespaceSplit"}]},"model":{"type":"Unigram","vocab":[["a",0]]}}`,
		"a first of many":  `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","prepend_scheme":"first"}]},"model":{"type":"Unigram","vocab":[["a",0]]}}`,
		"unknown template": `{"post_processor":{"type":"ByteLevel"},"model":{"type":"WordPiece","vocab":{"a":0}}}`,
	} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := newTokenizer(directory{tokenizer: path})
		t.Log(name)
		wantFault(t, err, "onnx_unsupported")
	}
}

// A long text is cut bit by bit and not beyond what the model takes.
func TestLongTexts(t *testing.T) {
	seed := uint64(os.Getpid())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for _, name := range []string{"wordpiece_uncased", "wordpiece_cased", "unigram"} {
		tok, err := newTokenizer(directory{tokenizer: filepath.Join("testdata", name+".json"), most: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		words := []string{"perché", "età", "67,5", "margine", "日本語", "day-hospital", "\n", "\u00a0", "  ", "x"}
		for range 15 {
			var b strings.Builder
			for range 200 {
				b.WriteString(words[random.IntN(len(words))])
				b.WriteString([]string{" ", "  ", ""}[random.IntN(3)])
			}
			got, ok := tok.encode(b.String())
			want, okWhole := tok.pieces(tok.normalise(b.String()), true)
			if !ok || !okWhole || !slices.Equal(got, want) {
				t.Fatalf("%s: %d and %d tokens", name, len(got), len(want))
			}
		}
		tok.most = 100
		text := strings.Repeat("margine operativo ", 10_000)
		ids, ok := tok.encode(text)
		if !ok || len(ids) <= 100 || len(ids) > 100+chunk {
			t.Errorf("%s: %d tokens", name, len(ids))
		}
		short, _ := tok.pieces(tok.normalise(text[:2000]), true)
		if cut := tok.cut(ids); len(cut) != 100 || cut[99] != ids[len(ids)-1] || !slices.Equal(cut[:99], short[:99]) {
			t.Errorf("%s: %v", name, cut)
		}
	}
}

func TestNormalisers(t *testing.T) {
	for raw, want := range map[string]string{
		`null`: "  È L’ﬁne ",
		`{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]}`:   "  è l’fine ",
		`{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]}`: "  E L’ﬁne ",
		`{"type":"StripAccents"}`:                                                            "  È L’ﬁne ",
		`{"type":"Strip","strip_left":true,"strip_right":true}`:                              "È L’ﬁne",
		`{"type":"Prepend","prepend":"_"}`:                                                   "_  È L’ﬁne ",
		`{"type":"Replace","pattern":{"String":" "},"content":"▁"}`:                          "▁▁È▁L’ﬁne▁",
		`{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}`:                       " È L’ﬁne ",
		`{"type":"BertNormalizer","clean_text":true,"strip_accents":true,"lowercase":false}`: "  E L’ﬁne ",
		`{"type":"BertNormalizer","clean_text":true,"strip_accents":false,"lowercase":true}`: "  è l’ﬁne ",
		`{"type":"BertNormalizer","clean_text":true,"strip_accents":null,"lowercase":true}`:  "  e l’ﬁne ",
	} {
		n, err := normaliser(json.RawMessage(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := n("  È L’ﬁne "); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	// Of the characters that Unicode has, control characters go and unassigned ones stay.
	if got := bert(true, false, false, true)("İ\u0378\u00ad\ue000\x07\u3000"); got != "i\u0307\u0378 " {
		t.Errorf("%q", got)
	}
}

// The files are somebody's: whatever is in them, reading ends with an error or
// with a tokenizer.
func FuzzTokenizer(f *testing.F) {
	const bert = `{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"lowercase":true},` +
		`"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",` +
		`"max_input_chars_per_word":100,"vocab":{"[UNK]":0,"per":1,"##che":2}}}`
	const unigram = `{"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},` +
		`"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁per",-1],["ch",-2.5],["é",-3]]}}`
	f.Add([]byte(bert), "perché")
	f.Add([]byte(unigram), "perché 日本")
	f.Add([]byte(`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAA="}}`), "è")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if tok, err := newTokenizer(directory{tokenizer: path}); err == nil {
			tok.encode(text)
		}
	})
}

func BenchmarkTokenizer(b *testing.B) {
	tok, err := newTokenizer(directory{tokenizer: filepath.Join("testdata", "wordpiece_uncased.json")})
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("L'età media dei ricoverati in day hospital, per trimestre. ", 5)
	for b.Loop() {
		if _, ok := tok.encode(text); !ok {
			b.Fatal("no tokens")
		}
	}
}

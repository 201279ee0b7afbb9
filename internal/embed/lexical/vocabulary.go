package lexical

import "strings"

type language uint8

const (
	italian language = iota
	english
	languages
)

// meaning is what the vocabulary knows of a word.
type meaning struct {
	// stop words say nothing of the subject and are left out, unless a text
	// holds nothing else.
	stop bool
	// of tells, for each language, whether the word is a function word of it
	// and therefore a sign that a text is written in it.
	of [languages]bool
	// negation words all become one feature.
	negation bool
	// number is the digits of a number word.
	number string
}

// vocabulary maps a word, lower case and without marks, to its meaning. It is
// built once for an Embedder and read only after that.
type vocabulary map[string]*meaning

func newVocabulary() vocabulary {
	v := make(vocabulary, 700)
	change := func(words string, f func(*meaning)) {
		for _, w := range strings.Fields(words) {
			if v[w] == nil {
				v[w] = new(meaning)
			}
			f(v[w])
		}
	}
	for l, words := range functionWords {
		change(words, func(m *meaning) { m.stop, m.of[l] = true, true })
	}
	change(requestWords, func(m *meaning) { m.stop = true })
	change(negationWords, func(m *meaning) { m.stop, m.negation = true, true })
	for line := range strings.Lines(numberWords) {
		if f := strings.Fields(line); len(f) > 1 {
			change(strings.Join(f[1:], " "), func(m *meaning) { m.number, m.stop = f[0], false })
		}
	}
	return v
}

// functionWords are articles, prepositions, pronouns, conjunctions, auxiliary
// verbs and question words, written as they are left once marks are stripped
// and elisions split: "dell'anno" gives "dell" and "anno".
var functionWords = [languages]string{
	italian: `
il lo la i gli le l un uno una
di a da in con su per tra fra d ad
del dello della dei degli delle dell
al allo alla ai agli alle all
dal dallo dalla dai dagli dalle dall
nel nello nella nei negli nelle nell
sul sullo sulla sui sugli sulle sull
col coi e ed o od oppure ma anche pure se che chi cui quindi dunque cioe ovvero ossia perche poiche mentre
come dove quando quanto quanta quanti quante quant
quale quali qual cosa cos
questo questa questi queste quest quello quella quelli quelle quell quei quegli
io tu lui lei noi voi loro mi ti ci vi si ne me te se c s
mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre
sono e sia siano era erano essere stato stata stati state sara saranno fu furono
ho hai ha abbiamo hanno aveva avevano avere abbia abbiano
viene vengono venga venire
ogni ciascun ciascuno ciascuna alcun alcuni alcune qualche
piu meno molto gia ancora poi stesso stessa stessi stesse tale tali
`,
	english: `
the a an of in on at by for with from to into onto about between among per via
and or but also if that which who whom whose what when where how why while than then
is are was were be been being am do does did done has have had having will would shall should can could may might must
i you he she it we they me him her us them my your his its our their
this these those there here
as each every some any such same
many much more most still yet already just very so too
`,
}

// requestWords ask for an answer and say nothing of what it is about. The last
// line is the label with which the content of every Memory begins.
const requestWords = `
mostra mostrami mostrare dammi dimmi elenca elencami indica
show list give tell display
concept_clarified
`

const negationWords = `
non no nessun nessuno nessuna senza mai
not without never none nor cannot
don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn
`

// numberWords hold, on each line, digits and the words for them. "Uno", "una"
// and "one" are articles and pronouns more often than numbers.
const numberWords = `
2 due two
3 tre three
4 quattro four
5 cinque five
6 sei six
7 sette seven
8 otto eight
9 nove nine
10 dieci ten
11 undici eleven
12 dodici twelve
13 tredici thirteen
14 quattordici fourteen
15 quindici fifteen
16 sedici sixteen
17 diciassette seventeen
18 diciotto eighteen
19 diciannove nineteen
20 venti twenty
30 trenta thirty
40 quaranta forty
45 quarantacinque
50 cinquanta fifty
60 sessanta sixty
70 settanta seventy
80 ottanta eighty
90 novanta ninety
100 cento hundred
1000 mille mila thousand
`

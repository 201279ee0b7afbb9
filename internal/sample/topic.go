package sample

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// topic is what a session is about: its language, its question, its tables.
type topic struct {
	words    *vocabulary
	thing    string
	question string
	database string
	tables   []string
}

func newTopic(rng *rand.Rand) topic {
	t := topic{words: &english}
	if rng.IntN(2) == 0 {
		t.words = &italian
	}
	t.database = pick(rng, t.words.databases...)
	t.thing = t.thingOf(rng)
	t.question = t.fill(rng, pick(rng, t.words.questions...), t.thing)
	for range 1 + rng.IntN(3) {
		table := pick(rng, "fact_", "fact_", "dim_") + pick(rng, t.words.tables...)
		if !strings.Contains(strings.Join(t.tables, " ")+" ", table+" ") {
			t.tables = append(t.tables, table)
		}
	}
	return t
}

// say chooses between the two languages.
func (t topic) say(it, en string) string {
	if t.words == &italian {
		return it
	}
	return en
}

func (t topic) thingOf(rng *rand.Rand) string {
	return pick(rng, t.words.nouns...) + " " + pick(rng, t.words.qualifiers...)
}

// fill sets {thing}, {place}, {year}, {n} and {unit} in a template.
func (t topic) fill(rng *rand.Rand, template, thing string) string {
	return strings.NewReplacer(
		"{thing}", thing, "{place}", pick(rng, t.words.places...), "{unit}", pick(rng, t.words.units...),
		"{year}", fmt.Sprint(2016+rng.IntN(10)), "{n}", fmt.Sprint(2+rng.IntN(60)),
		"{flag}", pick(rng, t.words.tables...)+pick(rng, "_attivo", "_flag", "_code", "_status"),
	).Replace(template)
}

func (t topic) concept(rng *rand.Rand) (subject, detail string) {
	subject = t.thingOf(rng)
	detail = t.fill(rng, pick(rng, t.words.definitions...), subject)
	if rng.IntN(2) == 0 {
		detail += " " + t.fill(rng, pick(rng, t.words.remarks...), subject)
	}
	return subject, detail
}

func (t topic) reason(rng *rand.Rand) string { return pick(rng, t.words.reasons...) }

func (t topic) rewritten(rng *rand.Rand) string {
	return strings.TrimRight(t.question, "?") + t.fill(rng, pick(rng, t.words.additions...), t.thing) + "?"
}

func (t topic) sql(rng *rand.Rand) string {
	table := t.tables[0]
	column := strings.TrimPrefix(strings.TrimPrefix(table, "fact_"), "dim_")
	sql := fmt.Sprintf("SELECT t0.%s_code, COUNT(DISTINCT t0.id_%s) AS n\nFROM %s AS t0\n", column, column, table)
	for i, joined := range t.tables[1:] {
		sql += fmt.Sprintf("JOIN %s AS t%d ON t%d.id = t0.%s_id\n", joined, i+1, i+1, strings.TrimPrefix(strings.TrimPrefix(joined, "fact_"), "dim_"))
	}
	return sql + fmt.Sprintf("WHERE t0.year = %d AND t0.%s_status <> %d\nGROUP BY 1\nORDER BY n DESC", 2016+rng.IntN(10), column, rng.IntN(9))
}

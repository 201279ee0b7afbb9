package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// decision writes one good line. most is a little above the highest seq, so
// that references sometimes name nothing.
func (g *generator) decision(seq, most int) string {
	kind, subject, detail := g.content(most)
	fields := []string{`"seq": ` + g.spelled(seq), `"ts": ` + g.time(), `"type": ` + g.quote(kind)}
	for _, f := range [][2]string{{"subject", subject}, {"detail", detail}, {"rationale", g.rationale()}} {
		switch {
		case f[1] == "" && g.once(3):
		case f[1] == "" && g.once(3):
			fields = append(fields, `"`+f[0]+`": null`)
		default:
			fields = append(fields, `"`+f[0]+`": `+g.quote(f[1]))
		}
	}
	if g.once(3) {
		k := 1 + g.IntN(8)
		fields = append(fields, `"phase": `+g.pick(strconv.Itoa(k), fmt.Sprintf(`"F%d"`, k), fmt.Sprintf(`"%d"`, k), fmt.Sprintf("%d.0", k), "null"))
	}
	if g.once(12) {
		fields = append(fields, g.pick(`"author": {"tags": [1, {"k": null}]}`, `"Seq": 99`, `"TYPE": "x"`, `"": 0`, `"note": "\ud83d\ude00"`))
	}
	switch {
	case g.once(25): // of a repeated key the last counts
		fields = append([]string{g.pick(`"seq": "x"`, `"detail": 5`, `"type": "sql_approved"`, `"phase": 77`)}, fields...)
		fields = append(fields, `"detail": `+g.quote(detail), `"phase": 4`)
	case g.once(4):
		g.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
	}
	return "{" + strings.Join(fields, g.pick(", ", ",", " , ", ",\t")) + "}"
}

// content draws a type, and a subject and a detail that suit it, more or less.
func (g *generator) content(most int) (kind, subject, detail string) {
	switch g.IntN(20) {
	case 0, 1, 2:
		if g.wild {
			return withdrawalType, g.pick("", "", g.reference("seq:", most)), g.pick(g.reference("seq:", most), g.reference("seq:", most), "")
		}
		if len(g.seqs) == 0 {
			break
		}
		named := g.clear(fmt.Sprintf("seq:%d", g.seqs[g.IntN(len(g.seqs))]), g.reference("seq:", most))
		if g.once(4) {
			return withdrawalType, named, g.pick("", "_seq:1", "seq:x")
		}
		return withdrawalType, g.reference("seq:", most), named
	case 3, 4:
		if g.wild {
			return reopeningType, g.pick(g.reference("phase:", 9), g.reference("phase:", 7), ""), g.pick("", g.reference("phase:", 8))
		}
		named := g.clear(fmt.Sprintf("phase:%d", g.IntN(8)+1), g.reference("phase:", 12))
		if g.once(4) {
			return reopeningType, g.pick("", "PHASE:1", "phase:F2"), named
		}
		return reopeningType, named, g.reference("phase:", 12)
	case 5:
		return "question_rewritten", "domanda", g.pick("Quante?", "Quante volte?", "", "\u00a0\t", " Quante? ")
	case 6, 7, 8, 9:
		return g.pick(promotedType, declinedType), g.subject(), g.reference("seq:", most)
	case 10:
		return "table_promoted", g.table(), ""
	case 11:
		return g.pick("table_excluded", "table_promoted"), g.table(), ""
	case 12, 13:
		return "sql_approved", "phase:7", g.pick("", "", "seq:1")
	case 14:
		return g.pick("cte_approved", "memory_rejected", "column_promoted", "a_new_type", "Concept_Clarified", "datamart_declined"), g.subject(), g.reference("seq:", most)
	}
	return reusable, g.subject(), g.detail()
}

// clear wraps a reference so that it stays the first that counts.
func (g *generator) clear(right, other string) string {
	if !g.once(3) {
		return right
	}
	return g.pick("("+right+")", right+" "+other, "see "+right+", "+other, "-"+right+".", "\u00a0"+right, "x"+right+" "+right, right+"\n"+other, "è_"+right+" "+right)
}

// reference names a number from 1 to most in a text, or does not quite. Leading
// zeros are left out: the contract does not say what they are.
func (g *generator) reference(prefix string, most int) string {
	n := 1 + g.IntN(most)
	m := 1 + g.IntN(most)
	right := fmt.Sprintf("%s%d", prefix, n)
	if !g.once(3) {
		return right
	}
	other := fmt.Sprintf("%s%d", prefix, m)
	return g.pick("("+right+")", right+" "+other, "x"+right+" "+other, "_"+right, right+"_ "+other, "è"+right+" "+other, right+"è",
		"日"+right+" "+other, "٣"+right+" "+other, right+"٣", strings.ToUpper(right), prefix+" 3", prefix, right+other, right+"."+other,
		right+"-b", "-"+right, prefix+"99999999999999999999 "+right, prefix+"0", "see "+right+", then "+other, prefix+prefix+strconv.Itoa(n),
		"\u00a0"+right+"\u2003", "e\u0301 "+right, right+"\n"+other, "F"+right, prefix+"F3")
}

func (g *generator) rationale() string {
	if !g.once(4) {
		return g.pick("", "", "confermato")
	}
	a, b := fmt.Sprintf("mem-%04d", g.IntN(40)), fmt.Sprintf("mem-%04d", g.IntN(40))
	return g.pick(a, "come in "+a+" e "+b, "x"+a+" "+b, a+"_ "+b, strings.ToUpper(a)+" "+b, "mem-1", "pre-"+a, a+"-b", "mem- "+b,
		"("+a+")", "è"+a+", "+b, "mem-9999 "+b, a+"0 "+b)
}

// subject and detail are drawn from few wordings, so that they meet again.
func (g *generator) subject() string {
	return g.disguise(g.pick("paziente attivo", "città", "fact_ricovero", "DIM_tempo", "Ricovero", "ricovero", "οδός", "", " ", "dim_però", "fact_", "xfact_a", "naïve ﬁle"))
}

func (g *generator) detail() string {
	return g.disguise(g.pick("flag_attivo = TRUE", "flag_attivo = FALSE", "è così", "", "\u3000", "\u200b", "riga\nsotto", "a  b", "ab", "a\ufffdb", "a\x00è", "a\x00é"))
}

func (g *generator) table() string {
	return g.pick("fact_ricovero", "dim_tempo", "ricovero", "RICOVERO", "Città", " ricovero", "Zeta", "zeta", "è", "𝒵")
}

// disguise changes nothing that a wording counts.
func (g *generator) disguise(s string) string {
	switch g.IntN(9) {
	case 0:
		return strings.ToUpper(s)
	case 1:
		return norm.NFD.String(s)
	case 2:
		return strings.ReplaceAll(s, " ", g.pick("  ", "\u00a0", "\u2003\t", "\n", "\u0085", "\u3000 ", "\u2028", "\v", "\f"))
	case 3:
		return g.pick(" ", "\t", "\u00a0", "\u3000", "\u1680") + s
	case 4:
		return s + g.pick(" ", "\n", "\u00a0", "\u202f")
	}
	return s
}

func (g *generator) spelled(n int) string {
	s := strconv.Itoa(n)
	return g.pick(s, s, s, s, s, s+".0", `"`+s+`"`)
}

func (g *generator) time() string {
	return g.pick(`"2026-02-03T09:15:00+00:00"`, `"2026-02-03 09:15:00"`, `"2026-02-03T10:15:00+01:00"`, `"2026-02-03"`, `"2026-02-03T09:15Z"`,
		`1770110100`, `1770110100.5`, `"2026-02-03T09:15:00.1234567Z"`, `"2026-02-03T09:15:00.123456Z"`)
}

// quote is a JSON string, sometimes with every character escaped; U+FFFD then
// comes from half a surrogate pair.
func (g *generator) quote(s string) string {
	var b bytes.Buffer
	if g.once(12) {
		b.WriteByte('"')
		for _, unit := range utf16.Encode([]rune(s)) {
			if unit == utf8.RuneError {
				unit = 0xd800
			}
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		b.WriteByte('"')
		return b.String()
	}
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

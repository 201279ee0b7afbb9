package words

import (
	"strings"
)

// Reason says a reason in words. Reasons are English phrases or codes, public
// in the views and in JSON, and the same in every language there; the catalogue
// has them under "reason_" and their letters, a number being {{.n}}. What is
// built of parts ("line 3: …", "… (and 2 more)") is taken apart, and a phrase
// that ends in a name is found by its beginning, the name being {{.rest}}. A
// reason that the catalogue does not have is shown as it is.
func (p *Printer) Reason(reason string) string {
	id, n := reasonID(reason)
	if m, ok := p.messages[id]; ok && !m.ends() {
		return p.Say(id, map[string]any{"n": n})
	}
	if whole, ok := strings.CutSuffix(reason, " more)"); ok {
		if at := strings.LastIndex(whole, " (and "); at > 0 {
			return p.Reason(whole[:at]) + " " + p.Say("reason_and_n_more", map[string]any{"n": whole[at+len(" (and "):]})
		}
	}
	if first, rest, ok := strings.Cut(reason, ": "); ok {
		return p.Reason(first) + ": " + p.Reason(rest)
	}
	for at := strings.LastIndexByte(reason, ' '); at > 0; at = strings.LastIndexByte(reason[:at], ' ') {
		id, n := reasonID(reason[:at])
		if m, ok := p.messages[id]; ok && m.ends() {
			return p.Say(id, map[string]any{"n": n, "rest": reason[at+1:]})
		}
	}
	return Safe(reason)
}

// ends says whether the message is a phrase that ends in a name.
func (m message) ends() bool {
	_, ok := m.placeholders["rest"]
	return ok
}

// reasonID is the id of a phrase, with "n" for each number, and the last number
// in it.
func reasonID(phrase string) (id, n string) {
	const digits = "0123456789"
	var b strings.Builder
	b.WriteString("reason")
	apart := true
	for i := 0; i < len(phrase); {
		c := phrase[i] | 0x20 // lower case, for a letter
		switch {
		case strings.IndexByte(digits, phrase[i]) >= 0:
			end := i
			for end < len(phrase) && strings.IndexByte(digits, phrase[end]) >= 0 {
				end++
			}
			n, c = phrase[i:end], 'n'
			i = end
		case c >= 'a' && c <= 'z':
			i++
		default:
			apart = true
			i++
			continue
		}
		if apart {
			b.WriteByte('_')
			apart = false
		}
		b.WriteByte(c)
	}
	return b.String(), n
}

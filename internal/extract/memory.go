package extract

// The texts of a registry record, as indexes of memoryLine.texts; from the third
// on in the order of the schema.
const (
	memoryID = iota
	memorySessionID
	memoryType
	memorySubject
	memoryDetail
	memoryRationale
	memoryQuestionContext
	memoryTexts
)

func memoryTextNames() [memoryTexts]string {
	return [...]string{"id", "session_id", "type", "subject", "detail", "rationale", "question_context"}
}

// memoryLine is a readable line of the registry, valid until the next is read.
type memoryLine struct {
	texts            [memoryTexts][]byte
	hasTS            bool
	ts               int64
	decisionSeq      int64 // 0 when there is none
	tables, concepts [][]byte
	extra            []byte // nil when there is none
}

type memoryMembers struct {
	texts                             [memoryTexts]*member
	ts, decisionSeq, tables, concepts *member
}

// parse fills m, or says which rule the line breaks first.
func (r *registryReader) parse(l line, m *memoryLine) (reason string) {
	members, reason := r.record.object(l)
	if reason != "" {
		return reason
	}
	var own memoryMembers
	for i := range members {
		if !own.take(string(r.record.fields.key(&members[i])), &members[i]) {
			r.record.other = append(r.record.other, i)
		}
	}
	return r.values(&own, m)
}

// take keeps a member that has a rule.
func (own *memoryMembers) take(key string, m *member) bool {
	switch key {
	case "ts":
		own.ts = m
	case "decision_seq":
		own.decisionSeq = m
	case "tables":
		own.tables = m
	case "concepts":
		own.concepts = m
	default:
		for i, name := range memoryTextNames() {
			if key == name {
				own.texts[i] = m
				return true
			}
		}
		return false
	}
	return true
}

func (r *registryReader) values(own *memoryMembers, m *memoryLine) (reason string) {
	f := &r.record.fields
	var ok bool
	if absent(own.texts[memoryID]) {
		return "id: missing"
	}
	for i, name := range memoryTextNames() {
		if m.texts[i], ok = f.text(own.texts[i]); !ok {
			return name + ": not a string"
		}
	}
	m.ts, m.hasTS, m.decisionSeq = 0, !absent(own.ts), 0
	if m.hasTS {
		if m.ts, ok = f.ts(own.ts); !ok {
			return reasonTS
		}
	}
	if !absent(own.decisionSeq) {
		if m.decisionSeq, ok = f.seq(own.decisionSeq); !ok {
			return "decision_" + reasonSeq
		}
	}
	if m.tables, ok = r.texts(m.tables[:0], own.tables); !ok {
		return "tables: not a list of strings"
	}
	if m.concepts, ok = r.texts(m.concepts[:0], own.concepts); !ok {
		return "concepts: not a list of strings"
	}
	m.extra = r.record.extra()
	return ""
}

// texts reads an array of strings; a missing or null one is empty. The grammar of
// the line is known to be right.
func (r *registryReader) texts(dst [][]byte, m *member) ([][]byte, bool) {
	if absent(m) {
		return dst, true
	}
	if m.kind() != '[' {
		return dst, false
	}
	b := m.value
	for i := skipSpace(b, 1); b[i] != ']'; i = skipSpace(b, i) {
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
		if b[i] != '"' {
			return dst, false
		}
		start := i + 1
		end, escaped := skipString(b, start)
		dst = append(dst, r.record.fields.body(b[start:end-1], escaped))
		i = end
	}
	return dst, true
}

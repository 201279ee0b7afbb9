package record

import (
	"fmt"
	"regexp"
	"strings"
)

// Template is the shape of a Memory's content: one line each, with names in
// braces. A line that comes out empty is left out, and so is a line that names
// a list which is empty. It is a setting so that hashes can agree with those of
// another writer of the same index.
type Template struct{ lines []templateLine }

type templateLine struct {
	literals []string // one more than names
	names    []string
}

// DefaultTemplate is the contract's own.
func DefaultTemplate() []string {
	return []string{"{type}: {subject}", "{detail}", "{rationale}", "{question_context}", "concepts: {concepts}", "tables: {tables}"}
}

// ParseTemplate reads the lines of a template. An unknown name is an error.
func ParseTemplate(lines []string) (Template, error) {
	placeholder := regexp.MustCompile(`\{([a-z_]+)\}`)
	var t Template
	for n, line := range lines {
		var parsed templateLine
		at := 0
		for _, m := range placeholder.FindAllStringSubmatchIndex(line, -1) {
			name := line[m[2]:m[3]]
			if _, _, ok := field(Memory{}, name); !ok {
				return Template{}, fmt.Errorf("line %d of the content template: no field %q", n+1, name)
			}
			parsed.literals = append(parsed.literals, line[at:m[0]])
			parsed.names = append(parsed.names, name)
			at = m[1]
		}
		parsed.literals = append(parsed.literals, line[at:])
		t.lines = append(t.lines, parsed)
	}
	if len(t.lines) == 0 {
		return Template{}, fmt.Errorf("the content template has no line")
	}
	return t, nil
}

// Content renders m.
func (t Template) Content(m Memory) string {
	var out []string
	for _, line := range t.lines {
		if text, ok := line.render(m); ok && text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

func (l templateLine) render(m Memory) (string, bool) {
	var b strings.Builder
	for i, name := range l.names {
		value, isList, _ := field(m, name)
		if isList && value == "" && emptyList(m, name) {
			return "", false
		}
		b.WriteString(l.literals[i])
		b.WriteString(value)
	}
	b.WriteString(l.literals[len(l.names)])
	return b.String(), true
}

func emptyList(m Memory, name string) bool {
	if name == "tables" {
		return len(m.Tables) == 0
	}
	return len(m.Concepts) == 0
}

func field(m Memory, name string) (value string, isList, ok bool) {
	switch name {
	case "type":
		return m.Type, false, true
	case "subject":
		return m.Subject, false, true
	case "detail":
		return m.Detail, false, true
	case "rationale":
		return m.Rationale, false, true
	case "question_context":
		return m.QuestionContext, false, true
	case "concepts":
		return strings.Join(m.Concepts, ", "), true, true
	case "tables":
		return strings.Join(m.Tables, ", "), true, true
	}
	return "", false, false
}

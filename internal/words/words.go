// Package words is the catalogue of what the program says to people, in Italian
// and in English: one id, one sentence in each. What machines read (JSON, SQL,
// logs, exit codes) does not pass through here.
//
// Whatever is filled into a sentence may come from a file name or an id that
// somebody else chose, so it is made safe for a terminal first.
package words

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Lang is a language that the catalogue has.
type Lang string

// The languages of the catalogue.
const (
	English Lang = "en"
	Italian Lang = "it"
)

//go:embed en.yaml it.yaml
var files embed.FS

// Language chooses the language for a person: the setting where it names one,
// else the first of LC_ALL, LC_MESSAGES and LANG that is not empty; it… is
// Italian and everything else English. That a setting may be "it" or "en" only
// is checked where settings are read.
func Language(setting string, getenv func(string) string) Lang {
	switch lang := Lang(setting); lang {
	case English, Italian:
		return lang
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := getenv(name); value != "" {
			if strings.HasPrefix(strings.ToLower(value), string(Italian)) {
				return Italian
			}
			return English
		}
	}
	return English
}

// Printer says things in one language. It may be used by several goroutines.
type Printer struct {
	lang      Lang
	localizer *i18n.Localizer
	messages  map[string]message
}

// For loads the catalogue of a language; one that it does not have is English.
func For(lang Lang) *Printer {
	if lang != Italian {
		lang = English
	}
	name := string(lang) + ".yaml"
	bundle := i18n.NewBundle(language.Make(string(lang)))
	bundle.RegisterUnmarshalFunc("yaml", yaml.Unmarshal)
	_, err := bundle.LoadMessageFileFS(files, name)
	messages, err2 := load(lang)
	if err := errors.Join(err, err2); err != nil {
		// The files are part of the program and a test loads them.
		panic(fmt.Sprintf("catalogue %s: %v", name, err))
	}
	return &Printer{lang: lang, localizer: i18n.NewLocalizer(bundle, string(lang)), messages: messages}
}

// Lang is the language of the printer.
func (p *Printer) Lang() Lang { return p.lang }

// Has says whether the catalogue has this id.
func (p *Printer) Has(id string) bool {
	_, ok := p.messages[id]
	return ok
}

// Say is the sentence of an id with args filled in. The argument "count" also
// chooses between singular and plural. Arguments are shown as people read them:
// strings escaped (Safe), large numbers grouped, times in UTC, and what stands
// under "reason", "action", "kind", "status" or "stage" in words. An id that the
// catalogue does not have is returned as it is.
func (p *Printer) Say(id string, args map[string]any) string {
	m, ok := p.messages[id]
	if !ok {
		return Safe(id)
	}
	data := make(map[string]any, len(m.placeholders))
	for name, optional := range m.placeholders {
		value, given := args[name]
		switch {
		case given:
			data[name] = p.shown(name, value)
		case optional:
			data[name] = ""
		default:
			data[name] = "?" // better than a sentence that hides the gap
		}
	}
	config := &i18n.LocalizeConfig{MessageID: id, TemplateData: data}
	if count, given := args["count"]; given && m.plural {
		config.PluralCount = count
	}
	// Where the language has a form that the catalogue does not tell apart, the
	// text is there all the same, beside an error.
	text, err := p.localizer.Localize(config)
	if err != nil && text == "" {
		return Safe(id)
	}
	return strings.TrimSpace(text)
}

// Fault is what a person reads about an error: what happened, and what to do
// about it, which may be empty. The argument "cause" of both is what lay below,
// in the words of whoever said it.
func (p *Printer) Fault(err error) (message, hint string) {
	if err == nil {
		return "", ""
	}
	var f *fault.Error
	switch {
	case !errors.As(err, &f) && errors.Is(err, context.Canceled):
		f = fault.New(fault.Interrupted, "interrupted")
	case f == nil:
		f = fault.New(fault.Failed, "internal_error", "detail", err.Error())
	}
	if !p.Has(f.ID) {
		f = fault.New(f.Code, "internal_error", "detail", f.Error())
	}
	args := map[string]any{"path": f.Path}
	if f.Err != nil {
		args["cause"] = firstLine(cause(f.Err))
	}
	for name, value := range f.Args {
		args[name] = value
		if text, ok := value.(string); ok && (name == "reason" || name == "detail") {
			args[name] = firstLine(text)
			if name == "reason" { // the full stop is the message's
				args[name] = strings.TrimRight(firstLine(text), ".! ")
			}
		}
	}
	message = p.Say(f.ID, args)
	if p.Has(f.ID + hintSuffix) {
		hint = p.Say(f.ID+hintSuffix, args)
	}
	return message, hint
}

const hintSuffix = "_hint"

// cause is what lies at the bottom of err: what was done and to which path, the
// message says already. The full stop is the message's too.
func cause(err error) string {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return strings.TrimRight(err.Error(), ".! ")
}

// firstLine leaves out the drawings that some libraries put below their message.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}

package embed

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// BuiltIn is the provider whose vectors cost nothing but a little processor
// time.
const BuiltIn = "lexical"

// Space is everything that decides whether two vectors may be compared. Its
// text is stored beside every vector, so its form is public and stable:
//
//	provider/model;dim=N;norm=NAME;trunc=NAME;prefix=TEXT
//
// always with these fields in this order. Every value is escaped as a segment
// of a URL path, so that a prefix may hold spaces and semicolons; only slashes
// inside the model stay as they are. A field that a later version needs follows
// behind, and changes the space of those vectors alone that use it.
type Space struct {
	Provider      string // who computes: lexical, ollama, openai, …; without a slash
	Model         string // name and version as the provider calls it
	Dimensions    int
	Normalisation string // l2: unit length; none: as the model returned it
	Truncation    string // none: whole texts; otherwise who cuts, and where
	Prefix        string // put before a document, not before a question
}

// String is the embed_space.
func (s Space) String() string {
	return url.PathEscape(s.Provider) + "/" + escapeModel(s.Model) +
		";dim=" + strconv.Itoa(s.Dimensions) +
		";norm=" + url.PathEscape(s.Normalisation) +
		";trunc=" + url.PathEscape(s.Truncation) +
		";prefix=" + url.PathEscape(s.Prefix)
}

func escapeModel(model string) string {
	return strings.ReplaceAll(url.PathEscape(model), "%2F", "/")
}

// ParseSpace reads an embed_space. It accepts exactly what String writes, so
// that equal spaces have equal texts.
func ParseSpace(text string) (Space, error) {
	bad := func(err error) (Space, error) {
		return Space{}, fmt.Errorf("embed_space %q: %w", text, err)
	}
	fields := strings.Split(text, ";")
	names := []string{"", "dim=", "norm=", "trunc=", "prefix="}
	if len(fields) != len(names) {
		return bad(fmt.Errorf("%d fields instead of %d", len(fields), len(names)))
	}
	values := make([]string, len(names))
	for i, name := range names {
		escaped, ok := strings.CutPrefix(fields[i], name)
		if !ok {
			return bad(fmt.Errorf("field %d is not %s", i+1, name))
		}
		if i == 0 {
			values[0] = escaped
			continue
		}
		value, err := url.PathUnescape(escaped)
		if err != nil {
			return bad(err)
		}
		values[i] = value
	}
	provider, model, ok := strings.Cut(values[0], "/")
	if !ok {
		return bad(fmt.Errorf("no model"))
	}
	s := Space{Normalisation: values[2], Truncation: values[3], Prefix: values[4]}
	var err error
	if s.Dimensions, err = strconv.Atoi(values[1]); err != nil {
		return bad(err)
	}
	if s.Provider, err = url.PathUnescape(provider); err != nil {
		return bad(err)
	}
	if s.Model, err = url.PathUnescape(model); err != nil {
		return bad(err)
	}
	if s.String() != text {
		return bad(fmt.Errorf("not in the canonical form"))
	}
	return s, nil
}

// Costly says whether vectors of a space are worth a cache unless a setting
// says otherwise: all but those of the built-in embedder.
func Costly(space string) bool {
	provider, _, _ := strings.Cut(space, "/")
	return provider != BuiltIn
}

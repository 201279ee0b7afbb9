//go:build duckdb_arrow

package duck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// parsedJSON reads the JSON that DuckDB makes of a value. It may hold NaN and
// Infinity, which are no JSON and become text, and one key twice (the fields of
// a struct without names), of which none is lost: the later ones get a number.
// What is no JSON after all is returned as the text that it is.
func parsedJSON(text string) any {
	d := json.NewDecoder(strings.NewReader(quoteNumbersThatAreNone(text)))
	d.UseNumber()
	value, err := nextJSON(d)
	if err != nil {
		return text
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return text
	}
	return value
}

func nextJSON(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := nextJSON(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := fmt.Sprint(key)
			for n := 2; ; n++ {
				if _, taken := object[name]; !taken {
					break
				}
				name = fmt.Sprint(key) + "_" + strconv.Itoa(n)
			}
			if object[name], err = nextJSON(d); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return object, err
	}
	return token, nil
}

// quoteNumbersThatAreNone puts NaN, Infinity and -Infinity in quotes where they
// stand outside of a string.
func quoteNumbersThatAreNone(text string) string {
	if !strings.Contains(text, "NaN") && !strings.Contains(text, "Infinity") {
		return text
	}
	var b strings.Builder
	for inside, i := false, 0; i < len(text); {
		if !inside {
			if word := numberThatIsNone(text[i:]); word != "" {
				b.WriteString(strconv.Quote(word))
				i += len(word)
				continue
			}
		}
		switch text[i] {
		case '"':
			inside = !inside
		case '\\':
			b.WriteByte(text[i])
			i++
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

func numberThatIsNone(text string) string {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if strings.HasPrefix(text, word) {
			return word
		}
	}
	return ""
}

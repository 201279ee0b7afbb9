package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// CSVRows writes rows as comma-separated values: a header, one record a row, lines
// ended by LF, quoted where RFC 4180 asks for it. NULL is nothing between two
// commas, an empty text is "". Lists and structs are their JSON.
//
// A spreadsheet takes a text that begins with = + - @ or a control character
// for a formula and runs it when the file is opened. Such a text gets an
// apostrophe in front, unless it is a plain number; numbers stay numbers. What
// drives a terminal becomes \xNN. Who needs every byte as it is takes JSON.
type CSVRows struct {
	w    *bufio.Writer
	line []byte
}

// NewCSVRows writes to w; Close flushes, and leaves w open.
func NewCSVRows(w io.Writer) *CSVRows { return &CSVRows{w: bufio.NewWriterSize(w, 64<<10)} }

// Header writes the names of the columns.
func (c *CSVRows) Header(names []string) error {
	c.line = c.line[:0]
	for i, name := range names {
		c.field(i, harmless(name))
	}
	return c.end()
}

// Row writes one row of values as JSON has them: nil, bool, json.Number or
// another number, string, []any, map[string]any.
func (c *CSVRows) Row(values []any) error {
	c.line = c.line[:0]
	for i, value := range values {
		switch v := value.(type) {
		case nil:
			if i > 0 {
				c.line = append(c.line, ',')
			}
		case string:
			c.field(i, harmless(v))
		case []any, map[string]any, []string:
			text, err := compact(v)
			if err != nil {
				return fmt.Errorf("csv column %d: %w", i+1, err)
			}
			c.field(i, harmless(text))
		default: // a number or a boolean
			c.field(i, fmt.Sprint(v))
		}
	}
	return c.end()
}

// Close writes what is still held back.
func (c *CSVRows) Close() error { return c.w.Flush() }

func (c *CSVRows) end() error {
	c.line = append(c.line, '\n')
	_, err := c.w.Write(c.line)
	return err
}

func (c *CSVRows) field(at int, text string) {
	text = visible(text)
	if at > 0 {
		c.line = append(c.line, ',')
	}
	if text != "" && !strings.ContainsAny(text, ",\"\r\n") && text[0] != ' ' && text[len(text)-1] != ' ' {
		c.line = append(c.line, text...)
		return
	}
	c.line = append(c.line, '"')
	c.line = append(c.line, strings.ReplaceAll(text, `"`, `""`)...)
	c.line = append(c.line, '"')
}

func compact(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// harmless puts an apostrophe before what a spreadsheet would run. Wide forms
// count too, and so do blanks before the sign: some programs trim them.
func harmless(text string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(text, " \u00a0\u3000"))
	switch first {
	case '=', '+', '-', '@', '\t', '\r', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20':
		if !plainNumber(text) {
			return "'" + text
		}
	}
	return text
}

// plainNumber: an optional sign, digits, and perhaps a point with digits.
func plainNumber(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 {
		return false
	}
	whole, fraction, point := strings.Cut(digits, ".")
	return onlyDigits(whole) && (!point || onlyDigits(fraction))
}

func onlyDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

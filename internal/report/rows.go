package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// RowWriter writes the result of a query while it is read. Header is called
// once, before the rows. Values are those of JSON: nil, bool, json.Number,
// string, []any and map[string]any; they are not kept. Close writes what is
// still held back and leaves the writer below open.
type RowWriter interface {
	Header(names []string) error
	Row(values []any) error
	Close() error
}

// JSONRows writes rows as one array of objects, a line each, the names in the
// order of the columns. A name that comes twice is told apart by a number.
type JSONRows struct {
	w     *bufio.Writer
	names [][]byte // encoded, with the colon
	rows  int
	line  bytes.Buffer
}

// NewJSONRows writes to w.
func NewJSONRows(w io.Writer) *JSONRows { return &JSONRows{w: bufio.NewWriterSize(w, 64<<10)} }

// Header takes the names of the columns.
func (j *JSONRows) Header(names []string) error {
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		unique := name
		for n := 2; taken[unique]; n++ {
			unique = name + "_" + strconv.Itoa(n)
		}
		taken[unique] = true
		text, err := compact(unique)
		if err != nil {
			return fmt.Errorf("column %q: %w", unique, err)
		}
		j.names = append(j.names, visibleJSON([]byte(text+":")))
	}
	return nil
}

// Row writes one object.
func (j *JSONRows) Row(values []any) error {
	j.line.Reset()
	enc := json.NewEncoder(&j.line)
	enc.SetEscapeHTML(false)
	start := ",\n{"
	if j.rows == 0 {
		start = "[\n{"
	}
	j.line.WriteString(start)
	for i, value := range values {
		if i > 0 {
			j.line.WriteByte(',')
		}
		j.line.Write(j.names[i])
		if err := enc.Encode(value); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
		j.line.Truncate(j.line.Len() - 1) // the line end that Encode adds
	}
	j.line.WriteByte('}')
	j.rows++
	_, err := j.w.Write(visibleJSON(j.line.Bytes()))
	return err
}

// Close ends the array.
func (j *JSONRows) Close() error {
	end := "\n]\n"
	if j.rows == 0 {
		end = "[]\n"
	}
	if _, err := j.w.WriteString(end); err != nil {
		return err
	}
	return j.w.Flush()
}

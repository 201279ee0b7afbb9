package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// CountError is a reply with another number of vectors than there were texts:
// whose they are is not known.
type CountError struct{ Held, Wanted int }

func (e *CountError) Error() string {
	return fmt.Sprintf("%d vectors for %d texts", e.Held, e.Wanted)
}

// ReadJSON reads a reply into v. Errors never show what was read; one that is
// io.ErrUnexpectedEOF says that the reply ends too early.
func ReadJSON(reply []byte, v any) error {
	err := json.Unmarshal(reply, v)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(bytes.TrimSpace(reply))) {
		return fmt.Errorf("half a reply: %w", io.ErrUnexpectedEOF)
	}
	return errors.New("not the JSON of this kind of server")
}

// Vector is a list of numbers in JSON. A null among them is what some servers
// write where a value is not a number, and becomes NaN; beyond the range of
// float32 is an infinity. So both are refused for what they are, text by text.
type Vector []float32

// UnmarshalJSON implements json.Unmarshaler. null is a vector that is nil.
func (v *Vector) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	if string(text) == "null" {
		*v = nil
		return nil
	}
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return errors.New("not a list of numbers")
	}
	text = bytes.TrimSpace(text[1 : len(text)-1])
	if len(text) == 0 {
		*v = Vector{}
		return nil
	}
	out := make(Vector, 0, bytes.Count(text, []byte{','})+1)
	for more := true; more; {
		var number []byte
		number, text, more = bytes.Cut(text, []byte{','})
		x, err := numberOf(bytes.TrimSpace(number))
		if err != nil {
			return err
		}
		out = append(out, x)
	}
	*v = out
	return nil
}

func numberOf(text []byte) (float32, error) {
	if string(text) == "null" {
		return float32(math.NaN()), nil
	}
	x, err := strconv.ParseFloat(string(text), 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("not a list of numbers")
	}
	return float32(x), nil
}

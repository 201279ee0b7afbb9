package report

import (
	"errors"
	"io/fs"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/words"
)

// Error is what went wrong, for a program: the member "error" of the one
// document that a command writes when it fails. Its words are English whatever
// the language is.
type Error struct {
	Exit    fault.Code `json:"exit"`
	Message string     `json:"message"`
	Path    string     `json:"path"`
	Hint    string     `json:"hint"`
}

// NewError is nil for nil.
func NewError(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Exit: fault.CodeOf(err), Path: pathOf(err)}
	e.Message, e.Hint = words.For(words.English).Fault(err)
	return e
}

// pathOf is what the error is about, if that is a path.
func pathOf(err error) string {
	var classified *fault.Error
	if errors.As(err, &classified) && classified.Path != "" {
		return classified.Path
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Path
	}
	return ""
}

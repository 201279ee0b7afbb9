// Package fault classifies what went wrong, once, where it arises: which exit
// code it earns, which message of the catalogue a person reads, and which path
// it is about. Everything above wraps it with fmt.Errorf and %w.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Code is a process exit code: the whole table of them.
type Code int

// The exit codes of the command line.
const (
	Done        Code = 0
	Failed      Code = 1   // something broke that is not one of the below
	Usage       Code = 2   // wrong usage or configuration
	Input       Code = 3   // the named input cannot be indexed, or --strict found withheld input
	Credential  Code = 4   // no credential for what was asked
	Locked      Code = 5   // another run holds the lock
	Guard       Code = 6   // a guard refused: vanished input, another workspace, too many deletes
	Partial     Code = 7   // some items failed, the others are done
	Interrupted Code = 130 // stopped by a signal between two batches
)

// Error is a classified error. ID names its message, and ID + "_hint" its
// remedy, in the catalogue of package words. Args fill the placeholders of
// both; they carry keys, paths, counts and reasons, never a text of a session.
type Error struct {
	Code Code
	ID   string
	Path string
	Args map[string]any
	Err  error // what lay below, or nil
}

// New makes a classified error. args are alternating names and values for the
// message; the name "path" also sets Path.
func New(code Code, id string, args ...any) *Error {
	e := &Error{Code: code, ID: id, Args: make(map[string]any, len(args)/2)}
	for i := 0; i+1 < len(args); i += 2 {
		name, ok := args[i].(string)
		if !ok {
			panic(fmt.Sprintf("fault %s: argument %d is not a name", id, i))
		}
		e.Args[name] = args[i+1]
		if path, ok := args[i+1].(string); ok && name == "path" {
			e.Path = path
		}
	}
	return e
}

// Because attaches the cause.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// Error is the technical form, for logs; people read the catalogue's.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.ID)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the exit code that err earns: Done for nil, the outermost
// classification otherwise, Failed where there is none.
func CodeOf(err error) Code {
	if err == nil {
		return Done
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Failed
}

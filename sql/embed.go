// Package query holds the text of every SQL statement, one statement or one
// script a file. A file's first line is a comment that says what it is for: it
// is the name of the statement in errors.
package query

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed */*.sql
var files embed.FS

// Text is the statement of that name, for example "plan/actions". A name that
// does not exist is a programming error and panics; a test walks all callers.
func Text(name string) string {
	text, err := files.ReadFile(name + ".sql")
	if err != nil {
		panic("no SQL file " + name + ".sql")
	}
	return string(text)
}

// Names lists the statements below a directory, sorted.
func Names(dir string) []string {
	matches, err := fs.Glob(files, dir+"/*.sql")
	if err != nil {
		panic(err)
	}
	for i, m := range matches {
		matches[i] = strings.TrimSuffix(m, ".sql")
	}
	return matches
}

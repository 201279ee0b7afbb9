package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

// initJob writes a configuration to start from. It never writes over a file.
func (c *call) initJob() jobs.Job {
	return jobs.Job{
		Name: "init", Usage: "write a commented configuration", ArgsUsage: "[FILE]", Args: -1,
		Run: func(_ context.Context, e *jobs.Env, args []string) error {
			if len(args) > 1 {
				return fault.New(fault.Usage, "args_count", "command", "init", "expected", "0..1", "got", len(args))
			}
			path := configName
			if named, given := c.last("config"); given {
				path = named
			}
			if len(args) == 1 {
				path = args[0]
			}
			if err := createConfig(path, c.umask); err != nil {
				return err
			}
			if e.JSON {
				return json.NewEncoder(e.Stdout).Encode(map[string]string{"path": path})
			}
			if !e.Quiet {
				fmt.Fprintln(e.Stderr, e.Words.Say("init_written", map[string]any{"path": path}))
			}
			return nil
		},
	}
}

// createConfig makes a file for everybody to read, as far as the umask of whoever
// started the program allows: no secret is in it, and the user that runs the
// jobs may be another one.
func createConfig(path string, umask fs.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Usage, "init_exists", "path", path).Because(err)
	}
	if err != nil {
		return fault.New(fault.Usage, "init_impossible", "path", path, "reason", reason(err)).Because(err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path))
		}
	}()
	if err := f.Chmod(0o644 &^ umask); err != nil {
		return err
	}
	return writeConfig(f)
}

const configHead = `## Configuration of thtbatch. Lines that begin with two signs explain; the others
## are the defaults: take the sign and the blank away to change one.
##
## A key may also be written nested ("index:" and below it "batch: 64"). A key
## that is not known is an error. Each has a variable of the environment, named
## below it, which stands above this file; a flag stands above both. Lists in the
## environment are separated by commas, or written as here.
##
## Directories that are not absolute are taken from where this file is; in flags
## and in the environment, from the working directory.
##
## No secret belongs here: keys are read from the environment, or from a file
## that only its owner can read.
`

// writeConfig writes the table of settings as a configuration file in which
// everything is commented out.
func writeConfig(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(configHead) // a bufio.Writer keeps its first error for Flush
	values := defaults()
	for _, s := range settings() {
		var text bytes.Buffer
		enc := yaml.NewEncoder(&text)
		enc.SetIndent(2)
		if err := enc.Encode(map[string]any{s.key: s.at(&values).get()}); err != nil {
			return fmt.Errorf("write setting %s: %w", s.key, err)
		}
		_, _ = fmt.Fprintf(out, "\n## %s\n## %s\n", s.doc, s.variable())
		for line := range strings.Lines(text.String()) {
			_, _ = out.WriteString("# " + line)
		}
	}
	return out.Flush()
}

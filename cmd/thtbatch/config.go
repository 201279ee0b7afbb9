package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

// configName is the file that is read when no other is named and it exists.
const configName = "thtbatch.yaml"

// source says where a setting's value came from.
type source string

const (
	fromDefault source = "default"
	fromFile    source = "file"
	fromEnv     source = "environment"
	fromFlag    source = "flag"
)

// configuration is the resolved settings and where each came from.
type configuration struct {
	jobs.Settings
	file    string // "" when there is none
	sources map[string]source
}

// resolve reads the settings: flag over environment over file over default.
// flags are the settings that flags named, by key; file is the configuration
// file, or empty. The first thing that cannot be accepted is
// the error; what could be read is returned even so, because the error is told
// in the language that the configuration asks for.
func resolve(flags map[string]string, file string, getenv func(string) string) (configuration, error) {
	c := configuration{Settings: defaults(), file: file, sources: map[string]source{}}
	var errs []error
	if c.file != "" {
		errs = append(errs, c.readFile()...)
	}
	for _, s := range settings() {
		if s.dir && c.file != "" {
			c.fromWhereTheFileIs(s)
		}
		errs = append(errs, c.readVariable(s, getenv(s.variable())), c.readFlag(s, flags))
	}
	errs = append(errs, c.agree())
	if c.PublishDir == "" {
		c.PublishDir = filepath.Join(c.StateDir, "published")
	}
	for _, err := range errs {
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// configFile is the file to read: the one named by the flag, by the
// environment, or the one in the working directory if there is one.
func configFile(named string, getenv func(string) string) string {
	if named == "" {
		named = getenv("THTBATCH_CONFIG")
	}
	if named != "" {
		return named
	}
	if _, err := os.Lstat(configName); err == nil {
		return configName
	}
	return ""
}

// fromWhereTheFileIs joins a relative directory of the file, or a default, to
// the directory of the file, so that it means the same wherever the program is
// started and uncommenting a default changes nothing.
func (c *configuration) fromWhereTheFileIs(s setting) {
	v := s.at(&c.Settings)
	dir, ok := v.get().(string)
	if ok && dir != "" && !filepath.IsAbs(dir) {
		v.text(filepath.Join(filepath.Dir(c.file), dir))
	}
}

func (c *configuration) readVariable(s setting, text string) error {
	if text == "" {
		return nil
	}
	v := s.at(&c.Settings)
	if !v.text(text) {
		return fault.New(fault.Usage, "env_bad_value", "variable", s.variable(), "expected", v.accepts())
	}
	c.sources[s.key] = fromEnv
	return nil
}

func (c *configuration) readFlag(s setting, flags map[string]string) error {
	text, given := flags[s.key]
	if !given {
		return nil
	}
	v := s.at(&c.Settings)
	if !v.text(text) {
		return fault.New(fault.Usage, "flag_bad_value", "flag", dashes(settingFlags()[s.key]), "expected", v.accepts())
	}
	c.sources[s.key] = fromFlag
	return nil
}

// agree checks what no single setting can.
func (c *configuration) agree() error {
	if c.WithdrawalType == c.ReopeningType {
		return fault.New(fault.Usage, "config_same_type", "path", c.file,
			"key", "ledger.withdrawal_type", "other", "ledger.reopening_type")
	}
	return nil
}

// source of a setting's value.
func (c *configuration) source(key string) source {
	if s, ok := c.sources[key]; ok {
		return s
	}
	return fromDefault
}

func (c *configuration) readFile() []error {
	f, err := os.Open(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return []error{fault.New(fault.Usage, "config_missing", "path", c.file).Because(err)}
	}
	if err != nil {
		return []error{fault.New(fault.Usage, "config_unreadable", "path", c.file, "reason", reason(err)).Because(err)}
	}
	defer func() { _ = f.Close() }()
	root, err := document(f)
	if err != nil {
		return []error{fault.New(fault.Usage, "config_unreadable", "path", c.file, "reason", reason(err)).Because(err)}
	}
	if root == nil {
		return nil
	}
	r := fileReader{configuration: c, table: settings(), seen: map[string]int{}}
	r.mapping("", root)
	return r.errs
}

// document is the one mapping of a YAML file; nil when the file says nothing.
func document(r io.Reader) (*yaml.Node, error) {
	dec := yaml.NewDecoder(r)
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("more than one YAML document"), err)
	}
	root := resolved(doc.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: not a YAML mapping", root.Line)
	}
	return root, nil
}

// fileReader walks the file. A key may be written nested or with dots.
type fileReader struct {
	*configuration
	table []setting
	seen  map[string]int // key to line
	errs  []error
}

func (r *fileReader) mapping(prefix string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		r.entry(prefix+n.Content[i].Value, n.Content[i], resolved(n.Content[i+1]))
	}
}

func (r *fileReader) entry(key string, at, n *yaml.Node) {
	if looksSecret(key) {
		r.refuse("config_secret_key", key, at)
		return
	}
	i := slices.IndexFunc(r.table, func(s setting) bool { return s.key == key })
	switch {
	case i >= 0:
		r.value(r.table[i], at, n)
	case !slices.ContainsFunc(r.table, func(s setting) bool { return strings.HasPrefix(s.key, key+".") }):
		r.refuse("config_unknown_key", key, at, "nearest", nearestKey(key, r.table))
	case n.Kind == yaml.MappingNode:
		r.mapping(key+".", n)
	case !isNull(n):
		r.refuse("config_bad_value", key, at, "expected", "{…}")
	}
}

func (r *fileReader) value(s setting, at, n *yaml.Node) {
	if _, twice := r.seen[s.key]; twice {
		r.refuse("config_duplicate_key", s.key, at, "first", r.seen[s.key])
		return
	}
	r.seen[s.key] = at.Line
	if isNull(n) { // nothing was said
		return
	}
	v := s.at(&r.Settings)
	if !v.node(n) {
		r.refuse("config_bad_value", s.key, n, "expected", v.accepts())
		return
	}
	r.sources[s.key] = fromFile
}

func (r *fileReader) refuse(id, key string, at *yaml.Node, more ...any) {
	args := append([]any{"path", r.file, "line", at.Line, "key", key}, more...)
	r.errs = append(r.errs, fault.New(fault.Usage, id, args...))
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// looksSecret finds keys that would hold a secret. None is a setting: keys
// come from the environment or from a file that others cannot read, since
// configurations are committed, copied and pasted.
func looksSecret(key string) bool {
	key = strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
	for _, part := range []string{"key", "secret", "password", "token", "credential"} {
		if strings.HasSuffix(key, part) {
			return true
		}
	}
	return false
}

// reason is an error without the path that the message names already.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

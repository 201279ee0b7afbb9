package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/thtbatch/thtbatch/internal/jobs"
	"github.com/thtbatch/thtbatch/internal/record"
)

// A value is where a setting is kept and how it is read. What cannot be
// accepted changes nothing. No method repeats what it was given: it may be a
// key that was pasted in the wrong place.
type value interface {
	// accepts is the notation of what can be read, the same in every language.
	accepts() string
	// text reads an environment variable or a flag.
	text(string) bool
	// node reads a value of the configuration file.
	node(*yaml.Node) bool
	// get is the value as the file would hold it.
	get() any
}

// word is a text, whatever YAML would make of it: `workspace: 007` is "007".
type word struct {
	to    *string
	among []string          // the only accepted ones, when there are any
	check func(string) bool // nil: any text
	shape string            // what check accepts
}

func (w word) accepts() string {
	if len(w.among) > 0 {
		return strings.Join(slices.DeleteFunc(slices.Clone(w.among), func(s string) bool { return s == "" }), "|")
	}
	return cmp.Or(w.shape, "text")
}

func (w word) text(s string) bool {
	if len(w.among) > 0 && !slices.Contains(w.among, s) || w.check != nil && !w.check(s) {
		return false
	}
	*w.to = s
	return true
}

func (w word) node(n *yaml.Node) bool { return scalar(n, w.text) }
func (w word) get() any               { return *w.to }

// number is an integer between two bounds, both accepted.
type number struct {
	to        *int
	low, high int
}

func (v number) accepts() string { return fmt.Sprintf("%d..%d", v.low, v.high) }

func (v number) text(s string) bool {
	n, err := strconv.Atoi(s)
	if err != nil || n < v.low || n > v.high {
		return false
	}
	*v.to = n
	return true
}

func (v number) node(n *yaml.Node) bool { return scalar(n, v.text) }
func (v number) get() any               { return *v.to }

// truth is true or false, in the words that YAML 1.1 and shells use for them.
type truth struct{ to *bool }

func (v truth) accepts() string { return "true|false" }

func (v truth) text(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		*v.to = true
	case "false", "no", "off", "0":
		*v.to = false
	default:
		return false
	}
	return true
}

func (v truth) node(n *yaml.Node) bool { return scalar(n, v.text) }
func (v truth) get() any               { return *v.to }

// size is a number of bytes with a unit, decimal or binary as DuckDB has them.
// Nothing is 0, which leaves the choice to package duck.
type size struct{ to *int64 }

type sizeUnit struct {
	name  string
	bytes int64
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
	}
}

func (v size) accepts() string { return "640MB|2GiB|…" }

func (v size) text(s string) bool {
	if s == "" {
		*v.to = 0
		return true
	}
	for _, unit := range sizeUnits() {
		digits, ok := cutSuffixFold(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n <= 0 || n > (1<<62)/unit.bytes {
			return false
		}
		*v.to = n * unit.bytes
		return true
	}
	return false
}

func (v size) node(n *yaml.Node) bool { return scalar(n, v.text) }

func (v size) get() any {
	if *v.to == 0 {
		return ""
	}
	units := sizeUnits()
	at := slices.IndexFunc(units, func(u sizeUnit) bool { return *v.to%u.bytes == 0 })
	return strconv.FormatInt(*v.to/units[at].bytes, 10) + units[at].name
}

// duration is a time of at least a millisecond, with its unit.
type duration struct{ to *time.Duration }

func (v duration) accepts() string { return "500ms|30s|2m|…" }

func (v duration) text(s string) bool {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Millisecond || d > 24*time.Hour {
		return false
	}
	*v.to = d
	return true
}

func (v duration) node(n *yaml.Node) bool { return scalar(n, v.text) }
func (v duration) get() any               { return v.to.String() }

// list is a list of texts. In the environment it is separated by commas, or
// written as a YAML (or JSON) list when an item holds a comma.
type list struct {
	to    *[]string
	check func([]string) bool
	shape string
}

func (v list) accepts() string { return cmp.Or(v.shape, "[text, …]") }

func (v list) text(s string) bool {
	if strings.HasPrefix(strings.TrimSpace(s), "[") {
		return fromYAML(s, v.node)
	}
	items := []string{}
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return v.set(items)
}

func (v list) node(n *yaml.Node) bool {
	items, ok := texts(n)
	return ok && v.set(items)
}

func (v list) set(items []string) bool {
	if v.check != nil && !v.check(items) {
		return false
	}
	*v.to = items
	return true
}

func (v list) get() any { return *v.to }

// phases maps decision types to the phase of a line that names none. What is
// read is laid over what was there.
type phases struct{ to *map[string]int }

func (v phases) accepts() string { return "{type: 1..8, …}" }

func (v phases) text(s string) bool { return fromYAML(s, v.node) }

func (v phases) node(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	merged := maps.Clone(*v.to)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, phase := n.Content[i].Value, 0
		if name == "" || !(number{&phase, 1, 8}).node(n.Content[i+1]) {
			return false
		}
		merged[name] = phase
	}
	*v.to = merged
	return true
}

func (v phases) get() any { return *v.to }

// schedule is the list of what serve runs. Only its shape is checked here: the
// expressions and the arguments are checked when serve starts, so that a slip
// in one of them does not stop the other jobs.
type schedule struct{ to *[]jobs.ServeEntry }

func (v schedule) accepts() string { return "[{name: …, cron: …, args: [job, …]}, …]" }

func (v schedule) text(s string) bool { return fromYAML(s, v.node) }

func (v schedule) node(n *yaml.Node) bool {
	if n.Kind != yaml.SequenceNode {
		return false
	}
	entries := []jobs.ServeEntry{}
	for _, item := range n.Content {
		entry, ok := scheduleEntry(resolved(item))
		if !ok {
			return false
		}
		entries = append(entries, entry)
	}
	*v.to = entries
	return true
}

func (v schedule) get() any { return *v.to }

func scheduleEntry(n *yaml.Node) (e jobs.ServeEntry, ok bool) {
	if n.Kind != yaml.MappingNode {
		return e, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		v := n.Content[i+1]
		switch n.Content[i].Value {
		case "name":
			ok = word{to: &e.Name}.node(v)
		case "cron":
			ok = word{to: &e.Cron}.node(v)
		case "args":
			e.Args, ok = texts(v)
		default:
			ok = false
		}
		if !ok {
			return e, false
		}
	}
	return e, e.Name != "" && e.Cron != "" && len(e.Args) > 0
}

func scalar(n *yaml.Node, read func(string) bool) bool {
	n = resolved(n)
	return n.Kind == yaml.ScalarNode && read(n.Value)
}

func texts(n *yaml.Node) ([]string, bool) {
	if n = resolved(n); n.Kind != yaml.SequenceNode {
		return nil, false
	}
	items := make([]string, len(n.Content))
	for i, c := range n.Content {
		if !(word{to: &items[i]}).node(c) {
			return nil, false
		}
	}
	return items, true
}

// resolved follows an alias to what it stands for.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func fromYAML(s string, read func(*yaml.Node) bool) bool {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err != nil || len(doc.Content) != 1 {
		return false
	}
	return read(resolved(doc.Content[0]))
}

func cutSuffixFold(s, suffix string) (string, bool) {
	at := len(s) - len(suffix)
	if at < 0 || !strings.EqualFold(s[at:], suffix) {
		return s, false
	}
	return s[:at], true
}

// isURL accepts the address of a server, without a name and password in it, and
// without a query, where people put keys.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

func isFilled(s string) bool { return strings.TrimSpace(s) != "" }

// isBelow accepts a path that stays inside the directory it is joined to.
func isBelow(s string) bool {
	return filepath.IsLocal(s) && filepath.Clean(s) != "." && !strings.Contains(s, "\x00")
}

// isFileName accepts the name of a file, without a directory.
func isFileName(s string) bool { return isBelow(s) && filepath.Base(s) == s }

func isTemplate(lines []string) bool {
	_, err := record.ParseTemplate(lines)
	return err == nil
}

func isTimezone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != ""
}

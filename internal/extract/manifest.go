package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The keys of a manifest that are read, as indexes of manifest.values.
const (
	manifestID = iota
	manifestCreatedAt
	manifestQuestion
	manifestDatabase
	manifestSchema
	manifestStatus
	manifestUpdatedAt
	manifestUpdatedBy
	manifestKeys
)

func manifestKey(key string) (index int, ok bool) {
	switch key {
	case "id":
		return manifestID, true
	case "created_at":
		return manifestCreatedAt, true
	case "question":
		return manifestQuestion, true
	case "database":
		return manifestDatabase, true
	case "schema":
		return manifestSchema, true
	case "status":
		return manifestStatus, true
	case "updated_at":
		return manifestUpdatedAt, true
	case "updated_by":
		return manifestUpdatedBy, true
	}
	return 0, false
}

const reasonNoManifest = "no manifest"

// maxManifest bounds what the YAML parser may be asked to build: its nodes take
// a hundred times the bytes of a hostile text.
const maxManifest = 4 << 20

// manifest is what was read of one: values of keys it lacks are empty.
type manifest struct {
	values [manifestKeys]string
	read   bool   // it is a mapping, and values hold what could be read
	reason string // why the session is invalid, or ""
}

// readManifest reads a manifest's scalars as the text that they hold. It never
// quotes from it, unlike the parser's own errors.
func readManifest(content []byte) manifest {
	switch {
	case len(content) > maxManifest:
		return manifest{reason: "larger than 4 MiB"}
	case !utf8.Valid(content):
		return manifest{reason: "not UTF-8"}
	}
	content = bytes.TrimPrefix(content, []byte(byteOrderMark))
	if m, ok := flatManifest(content); ok {
		return m
	}
	return yamlManifest(content)
}

// check compares the id with the name of the session's directory.
func (m *manifest) check(directory string) {
	switch {
	case m.reason != "":
	case m.values[manifestID] == "":
		m.reason = "id: missing"
	case m.values[manifestID] != directory:
		m.reason = "id: not the name of the directory"
	}
}

// yamlManifest reads any YAML. Nodes are looked at as they stand, so that aliases
// are never expanded and nothing is converted.
func yamlManifest(content []byte) manifest {
	root, reason := oneDocument(content)
	if reason != "" {
		return manifest{reason: reason}
	}
	if root.Kind != yaml.MappingNode {
		return manifest{reason: "not a mapping"}
	}
	m := manifest{read: true}
	var given [manifestKeys]bool
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := behind(root.Content[i]), behind(root.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			continue
		}
		at, ok := manifestKey(key.Value)
		switch {
		case !ok:
			continue
		case given[at]:
			m.fault(key.Value + ": given twice")
		case value.Kind != yaml.ScalarNode:
			m.fault(key.Value + ": not a scalar")
		case !plainNull(value):
			m.values[at] = value.Value
		}
		given[at] = true
	}
	return m
}

func (m *manifest) fault(reason string) {
	if m.reason == "" {
		m.reason = reason
	}
}

// oneDocument is the root of the only document of content.
func oneDocument(content []byte) (root *yaml.Node, reason string) {
	// The parser turns its own panics into errors, but not the runtime's.
	defer func() {
		if recover() != nil {
			root, reason = nil, "not valid YAML"
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, "empty"
	}
	if err != nil {
		return nil, yamlReason(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, "more than one document"
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlReason(err)
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, "not a mapping"
	}
	return behind(document.Content[0]), ""
}

// yamlReason keeps of the parser's error the line alone: the rest quotes the
// text.
func yamlReason(err error) string {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf("not valid YAML: line %s", m[1])
	}
	return "not valid YAML"
}

var yamlLine = regexp.MustCompile(`^yaml: line ([0-9]+):`)

// behind is the node that an alias stands for.
func behind(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// plainNull says that a scalar is null, and not a text that looks like it: in
// quotes, in a block, or tagged as a string.
func plainNull(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&quoted != 0 || n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!null" {
		return false
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

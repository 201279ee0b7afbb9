package model

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// manifest holds the keys that the rules of sections 2 to 4 look at.
type manifest struct{ id, question, status string }

// readManifest says false for a manifest that makes its session invalid; that
// the id is the directory's name is for the caller to see.
func readManifest(path string) (manifest, bool) {
	var m manifest
	f, err := os.Open(path)
	if err != nil {
		return m, false
	}
	defer f.Close()
	var document, second yaml.Node
	decoder := yaml.NewDecoder(f)
	if decoder.Decode(&document) != nil || !errors.Is(decoder.Decode(&second), io.EOF) {
		return m, false
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return m, false
	}
	values := map[string]string{}
	pairs := document.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		switch key := pairs[i].Value; key {
		case "id", "created_at", "question", "database", "schema", "status", "updated_at", "updated_by":
			value, ok := scalar(pairs[i+1])
			if !ok {
				return m, false
			}
			values[key] = value
		}
	}
	return manifest{id: values["id"], question: values["question"], status: values["status"]}, true
}

// scalar is the text of a scalar; a plain null is empty.
func scalar(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	if n.Tag == "!!null" {
		return "", true
	}
	return n.Value, true
}

// sqlText is sql_final.sql: whether the name exists, and what is in it.
type sqlText struct {
	exists bool
	good   bool
	text   string
}

func readSQL(path string) (sqlText, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return sqlText{}, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return sqlText{exists: true}, nil
	}
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return sqlText{exists: true}, nil
	}
	s := strings.TrimPrefix(string(data), "\ufeff")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	s = strings.TrimSpace(s)
	return sqlText{exists: true, good: s != "" && utf8.ValidString(s), text: s}, nil
}

package words

import (
	"fmt"
	"text/template/parse"

	"go.yaml.in/yaml/v3"
)

// message is what the printer has to know of a message beside its text.
type message struct {
	// placeholders are the arguments that it names; true for one that the
	// text does without when it is not there.
	placeholders map[string]bool
	// plural says that it has more than one form.
	plural bool
}

// forms are the texts of a message by plural form; a message of one form has
// only "other".
func forms(node yaml.Node) (map[string]string, error) {
	if node.Kind == yaml.ScalarNode {
		return map[string]string{"other": node.Value}, nil
	}
	var texts map[string]string
	err := node.Decode(&texts)
	return texts, err
}

// load reads which messages a language has.
func load(lang Lang) (map[string]message, error) {
	content, err := files.ReadFile(string(lang) + ".yaml")
	if err != nil {
		return nil, err
	}
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(content, &nodes); err != nil {
		return nil, err
	}
	messages := make(map[string]message, len(nodes))
	for id, node := range nodes {
		texts, err := forms(node)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		m := message{placeholders: map[string]bool{}, plural: len(texts) > 1}
		for form, text := range texts {
			trees, err := parse.Parse(id, text, "", "")
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", id, form, err)
			}
			if tree := trees[id]; tree != nil && tree.Root != nil {
				note(tree.Root, m.placeholders, false)
			}
		}
		messages[id] = m
	}
	return messages, nil
}

// note collects the fields that a template names. Those that an if asks about
// are optional.
func note(node parse.Node, fields map[string]bool, asked bool) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			note(child, fields, asked)
		}
	case *parse.ActionNode:
		note(n.Pipe, fields, asked)
	case *parse.IfNode:
		note(n.Pipe, fields, true)
		note(n.List, fields, asked)
		note(n.ElseList, fields, asked)
	case *parse.PipeNode:
		for _, command := range n.Cmds {
			for _, arg := range command.Args {
				note(arg, fields, asked)
			}
		}
	case *parse.FieldNode:
		fields[n.Ident[0]] = fields[n.Ident[0]] || asked
	}
}

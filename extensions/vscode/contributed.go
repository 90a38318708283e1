package vscode

import (
	"encoding/json"
	"maps"
)

// maxNodes bounds the nesting of a contributed configuration.
const maxNodes = 8

// node is a contributed configuration, or a part of one.
type node struct {
	Properties map[string]json.RawMessage
	AllOf      json.RawMessage
}

// property has the relevant fields of a contributed setting.
type property struct {
	Type    json.RawMessage
	Default json.RawMessage
}

// contributed returns the defaults of the settings that extensions contribute, by their
// full names. Of two settings with the same name the first one wins, as in VS Code.
// Defaults that an extension has for the settings of others override these.
func contributed(descriptions []json.RawMessage) map[string]any {
	defaults := map[string]any{}
	var over []map[string]any
	for _, raw := range descriptions {
		var d struct {
			Contributes struct{ Configuration, ConfigurationDefaults json.RawMessage }
		}
		if json.Unmarshal(raw, &d) != nil { // contributes may be anything
			continue
		}
		collect(defaults, d.Contributes.Configuration, maxNodes)
		var values map[string]any
		if json.Unmarshal(d.Contributes.ConfigurationDefaults, &values) == nil && len(values) > 0 {
			over = append(over, values)
		}
	}
	for _, values := range over {
		for key, value := range values {
			defaults[key] = merged(defaults[key], value)
		}
	}
	return defaults
}

// collect adds the defaults of a node, or of a list of nodes.
func collect(defaults map[string]any, raw json.RawMessage, depth int) {
	if len(raw) == 0 || depth == 0 {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	for _, raw := range list {
		var n node
		if json.Unmarshal(raw, &n) != nil {
			continue
		}
		for key, raw := range n.Properties {
			if _, twice := defaults[key]; twice || key == "" {
				continue
			}
			var p property
			if json.Unmarshal(raw, &p) == nil {
				defaults[key] = p.value()
			}
		}
		collect(defaults, n.AllOf, depth-1)
	}
}

// value returns the default of a setting; without one, that of its type.
func (p property) value() any {
	var v any
	if len(p.Default) > 0 && json.Unmarshal(p.Default, &v) == nil {
		return v
	}
	var kinds []string
	if json.Unmarshal(p.Type, &kinds) != nil {
		var kind string
		_ = json.Unmarshal(p.Type, &kind) // "": it has no type, and null is its default
		kinds = []string{kind}
	}
	if len(kinds) == 0 {
		return nil
	}
	switch kinds[0] {
	case "boolean":
		return false
	case "integer", "number":
		return 0
	case "string":
		return ""
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	return nil
}

// merged returns above, with the fields of below added if both are objects.
func merged(below, above any) any {
	b, ok := below.(map[string]any)
	a, also := above.(map[string]any)
	if !ok || !also {
		return above
	}
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

package model

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
	Type       json.RawMessage
	Default    json.RawMessage
	Scope      json.RawMessage
	Restricted json.RawMessage
}

// Contributed has the settings that extensions contribute, by their full names.
type Contributed struct {
	Defaults   map[string]any
	Scopes     map[string]Scope           // of those that are registered
	Restricted map[string]bool            // those that a workspace which is not trusted cannot set
	Properties map[string]json.RawMessage // their JSON schemas
}

// Contributions returns the settings that extensions with these descriptions contribute. Of two
// settings with the same name the first one wins, as in VS Code. Defaults that an extension has
// for the settings of others override these.
func Contributions(descriptions []json.RawMessage) Contributed {
	c := Contributed{map[string]any{}, map[string]Scope{}, map[string]bool{}, map[string]json.RawMessage{}}
	defaults := c.Defaults
	var over []map[string]any
	for _, raw := range descriptions {
		var d struct {
			Contributes  struct{ Configuration, ConfigurationDefaults json.RawMessage }
			Capabilities struct{ UntrustedWorkspaces json.RawMessage }
		}
		if json.Unmarshal(raw, &d) != nil { // contributes may be anything
			continue
		}
		c.collect(d.Contributes.Configuration, maxNodes)
		var trust struct{ RestrictedConfigurations []string }
		_ = json.Unmarshal(d.Capabilities.UntrustedWorkspaces, &trust)
		for _, key := range trust.RestrictedConfigurations {
			c.Restricted[key] = true
		}
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
	return c
}

// collect adds the settings of a node, or of a list of nodes.
func (c Contributed) collect(raw json.RawMessage, depth int) {
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
			if _, twice := c.Defaults[key]; twice || key == "" {
				continue
			}
			var p property
			if json.Unmarshal(raw, &p) == nil {
				c.Defaults[key], c.Scopes[key], c.Properties[key] = p.value(), p.scope(), raw
				var restricted bool
				if json.Unmarshal(p.Restricted, &restricted) == nil && restricted {
					c.Restricted[key] = true
				}
			}
		}
		c.collect(n.AllOf, depth-1)
	}
}

// scope returns the scope; [Window] without one, or with one that is unknown.
func (p property) scope() Scope {
	var text Scope
	if json.Unmarshal(p.Scope, &text) != nil || !text.known() {
		return Window
	}
	return text
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
		return 0.0 // as package json decodes it
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

package model

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Model has settings in VS Code's form: a tree of the parts of their names, and the
// settings for languages once more by themselves.
type Model struct {
	Contents  map[string]any `json:"contents"`
	Keys      []string       `json:"keys"`
	Overrides []Overrides    `json:"overrides"`
}

// Overrides are settings for languages.
type Overrides struct {
	Contents    map[string]any `json:"contents"`
	Keys        []string       `json:"keys"`
	Identifiers []string       `json:"identifiers"`
}

// forLanguages matches the names of settings for languages, like "[markdown]" and
// "[c][cpp]".
var forLanguages = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\[[^\]]+\])+$`) })

// New returns a model of settings by their full names. It copies them.
func New(settings map[string]any) Model {
	m := Model{Overrides: []Overrides{}}
	m.Contents, m.Keys = tree(settings)
	for _, key := range m.Keys {
		values, ok := settings[key].(map[string]any)
		if !ok || !forLanguages().MatchString(key) {
			continue
		}
		o := Overrides{Identifiers: strings.Split(key[1:len(key)-1], "][")}
		o.Contents, o.Keys = tree(values)
		m.Overrides = append(m.Overrides, o)
	}
	return m
}

// tree arranges settings by the parts of their names. If the name of a setting is a prefix
// of another's and its value is no object, it wins.
func tree(settings map[string]any) (contents map[string]any, keys []string) {
	contents, keys = map[string]any{}, slices.AppendSeq([]string{}, maps.Keys(settings))
	slices.Sort(keys)
	for _, key := range keys {
		parts := strings.Split(key, ".")
		if forLanguages().MatchString(key) {
			parts = []string{key}
		}
		insertSetting(contents, parts, settings[key])
	}
	return contents, keys
}

// insertSetting sets the value of a setting in a tree.
func insertSetting(at map[string]any, parts []string, value any) {
	for _, part := range parts[:len(parts)-1] {
		below, taken := at[part]
		next, ok := below.(map[string]any)
		if taken && !ok {
			return
		}
		if !ok {
			next = map[string]any{}
			at[part] = next
		}
		at = next
	}
	at[parts[len(parts)-1]] = cloneObjects(value)
}

// cloneObjects returns a copy of a value with copies of its objects.
func cloneObjects(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := make(map[string]any, len(object))
	for k, v := range object {
		out[k] = cloneObjects(v)
	}
	return out
}

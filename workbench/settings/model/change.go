package model

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Change lists the changed settings of a configuration: all, and those of each language.
type Change struct {
	Keys      []string `json:"keys"`
	Overrides [][2]any `json:"overrides"`
}

// Differences compares models, whose values must have the types of package json, as [Plain]
// makes them.
func Differences(before, now Model) Change {
	languages := map[string][]string{}
	c := Change{Keys: differences(before, now, languages)}
	c.list(languages)
	return c
}

// differences returns the changed settings of a model and adds those of languages.
func differences(before, now Model, languages map[string][]string) []string {
	keys := differ(before.flat(), now.flat())
	for _, key := range keys {
		if !forLanguages().MatchString(key) {
			continue
		}
		was, _ := before.Contents[key].(map[string]any)
		is, _ := now.Contents[key].(map[string]any)
		for _, language := range strings.Split(key[1:len(key)-1], "][") {
			languages[language] = append(languages[language], differ(was, is)...)
		}
	}
	return keys
}

// list sets the overrides.
func (c *Change) list(languages map[string][]string) {
	c.Overrides = [][2]any{}
	for _, language := range slices.Sorted(maps.Keys(languages)) {
		keys := languages[language]
		slices.Sort(keys)
		c.Overrides = append(c.Overrides, [2]any{language, slices.Compact(keys)})
	}
}

// flat returns the settings of a model by their full names.
func (m Model) flat() map[string]any {
	out := make(map[string]any, len(m.Keys))
	for _, key := range m.Keys {
		parts := strings.Split(key, ".")
		if forLanguages().MatchString(key) {
			parts = []string{key}
		}
		var value any = m.Contents
		for _, part := range parts {
			object, _ := value.(map[string]any)
			value = object[part]
		}
		out[key] = value
	}
	return out
}

// differ returns the sorted names that are in one of two maps only or have different
// values.
func differ(a, b map[string]any) []string {
	keys := []string{}
	for key, value := range a {
		if other, ok := b[key]; !ok || !reflect.DeepEqual(value, other) {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

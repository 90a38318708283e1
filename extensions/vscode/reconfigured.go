package vscode

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
)

// MethodReconfigured notifies a host of a change of its configuration; see
// [Protocol.Reconfigured].
const MethodReconfigured = wire.MethodReconfigured

// change lists the changed settings of a configuration: all, and those of each language.
type change struct {
	Keys      []string `json:"keys"`
	Overrides [][2]any `json:"overrides"`
}

// Reconfigured returns the params of [MethodReconfigured] for a host whose extensions have
// changed to those of the descriptions, or nil if its configuration stays the same. last
// has the params that were sent last, with this method or $initializeConfiguration; the
// user's settings are taken from there, and no file is read. An error means that last has
// another form.
func (p *Protocol) Reconfigured(last codec.Raw, descriptions []json.RawMessage) (codec.Raw, error) {
	var args []map[string]json.RawMessage
	var before, now model
	if err := json.Unmarshal(last, &args); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(args) == 0 || args[0]["defaults"] == nil {
		return nil, fmt.Errorf("configuration without defaults: %.40q", last)
	}
	if err := json.Unmarshal(args[0]["defaults"], &before); err != nil {
		return nil, fmt.Errorf("configuration: defaults: %w", err)
	}
	raw, err := json.Marshal(p.opt.defaults(descriptions))
	if err != nil {
		return nil, fmt.Errorf("configuration: defaults: %w", err)
	}
	if err := json.Unmarshal(raw, &now); err != nil { // so that both have the types of JSON
		return nil, err
	}
	c := changed(before, now)
	if len(c.Keys) == 0 {
		return nil, nil
	}
	args[0]["defaults"] = raw
	return json.Marshal([]any{args[0], c})
}

// changed compares models that come from JSON.
func changed(before, now model) change {
	c := change{Keys: differ(before.flat(), now.flat()), Overrides: [][2]any{}}
	languages := map[string][]string{}
	for _, key := range c.Keys {
		if !forLanguages().MatchString(key) {
			continue
		}
		was, _ := before.Contents[key].(map[string]any)
		is, _ := now.Contents[key].(map[string]any)
		for _, language := range strings.Split(key[1:len(key)-1], "][") {
			languages[language] = append(languages[language], differ(was, is)...)
		}
	}
	for _, language := range slices.Sorted(maps.Keys(languages)) {
		keys := languages[language]
		slices.Sort(keys)
		c.Overrides = append(c.Overrides, [2]any{language, slices.Compact(keys)})
	}
	return c
}

// flat returns the settings of a model by their full names.
func (m model) flat() map[string]any {
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

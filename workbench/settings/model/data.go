package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Data has the settings of all scopes, as hosts get them.
type Data struct {
	Application Model  `json:"application"`
	Scopes      []any  `json:"configurationScopes"`
	Defaults    Model  `json:"defaults"`
	Folders     []Pair `json:"folders"`
	Policy      Model  `json:"policy"`
	UserLocal   Model  `json:"userLocal"`
	UserRemote  Model  `json:"userRemote"`
	Workspace   Model  `json:"workspace"`
}

// NewData returns data without any settings.
func NewData() *Data {
	none := New(nil)
	return &Data{
		Application: none, Scopes: []any{}, Defaults: none, Folders: []Pair{}, Policy: none,
		UserLocal: none, UserRemote: none, Workspace: none,
	}
}

// Pair has the settings of a workspace folder.
type Pair struct {
	Path  string // absolute, with slashes
	Model Model
}

// MarshalJSON implements [json.Marshaler].
func (p Pair) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{map[string]any{"$mid": 1, "scheme": "file", "path": p.Path}, p.Model})
}

// layers returns the settings that apply to a folder, the last one wins; folder is the Path of a
// [Pair] or "".
func (d *Data) layers(folder string) []Model {
	out := []Model{d.Defaults, d.UserLocal, d.Workspace}
	for _, p := range d.Folders {
		if folder != "" && p.Path == folder {
			out = append(out, p.Model)
		}
	}
	return out
}

// Value returns the value of a setting, or an object with all settings of a section, for a folder
// (the Path of a [Pair], "": none) and a language ("": none); nil without one. Objects of several scopes
// are merged. A value for the language wins over those for all languages.
func (d *Data) Value(name, folder, language string) any {
	var all, own any
	for _, m := range d.layers(folder) {
		all = deeper(all, lookup(m.Contents, name))
		for _, o := range m.Overrides {
			if language != "" && slices.Contains(o.Identifiers, language) {
				own = deeper(own, lookup(o.Contents, name))
			}
		}
	}
	return cloneObjects(deeper(all, own))
}

// lookup returns what is at a dotted name of a tree.
func lookup(tree map[string]any, name string) any {
	if forLanguages().MatchString(name) {
		return tree[name]
	}
	var at any = tree
	for part := range strings.SplitSeq(name, ".") {
		object, _ := at.(map[string]any)
		at = object[part]
	}
	return at
}

// deeper returns above over below; objects are merged with all that is in them. nil has no value.
func deeper(below, above any) any {
	if above == nil {
		return below
	}
	b, ok := below.(map[string]any)
	a, also := above.(map[string]any)
	if !ok || !also {
		return above
	}
	out := maps.Clone(b)
	for key, value := range a {
		out[key] = deeper(out[key], value)
	}
	return out
}

// Changes returns what differs between two states of all scopes.
func (d *Data) Changes(now *Data) Change {
	languages := map[string][]string{}
	keys := slices.Concat(differences(d.Defaults, now.Defaults, languages), differences(d.UserLocal, now.UserLocal, languages),
		differences(d.Workspace, now.Workspace, languages))
	before := map[string]Model{}
	for _, p := range d.Folders {
		before[p.Path] = p.Model
	}
	for _, p := range now.Folders {
		keys = append(keys, differences(before[p.Path], p.Model, languages)...)
		delete(before, p.Path)
	}
	for _, gone := range before {
		keys = append(keys, differences(gone, Model{}, languages)...)
	}
	slices.Sort(keys)
	c := Change{Keys: slices.Compact(keys)}
	if c.Keys == nil {
		c.Keys = []string{}
	}
	c.list(languages)
	return c
}

// Plain returns settings with the types that package json decodes.
func Plain(settings map[string]any) (map[string]any, error) {
	out := map[string]any{}
	if len(settings) == 0 {
		return out, nil
	}
	raw, err := json.Marshal(settings)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}

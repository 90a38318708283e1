package vscode

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"sync"
)

// maxSettings is the most that a file of settings may take, in bytes.
const maxSettings = 4 << 20

// model is a set of settings as VS Code has them: a tree of their names' parts,
// and what holds for some languages only once more by itself.
type model struct {
	Contents  map[string]any `json:"contents"`
	Keys      []string       `json:"keys"`
	Overrides []overrides    `json:"overrides"`
}

// overrides are settings for languages.
type overrides struct {
	Contents    map[string]any `json:"contents"`
	Keys        []string       `json:"keys"`
	Identifiers []string       `json:"identifiers"`
}

// forLanguages is the name of settings for some languages: "[markdown]",
// "[c][cpp]".
var forLanguages = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\[[^\]]+\])+$`) })

// newModel makes a model of settings by their full names. It keeps nothing of
// them.
func newModel(settings map[string]any) model {
	m := model{Overrides: []overrides{}}
	m.Contents, m.Keys = tree(settings)
	for _, key := range m.Keys {
		values, ok := settings[key].(map[string]any)
		if !ok || !forLanguages().MatchString(key) {
			continue
		}
		o := overrides{Identifiers: strings.Split(key[1:len(key)-1], "][")}
		o.Contents, o.Keys = tree(values)
		m.Overrides = append(m.Overrides, o)
	}
	return m
}

// tree puts settings where their names say. Where one is the beginning of
// another and no object, it counts and the other does not.
func tree(settings map[string]any) (contents map[string]any, keys []string) {
	contents, keys = map[string]any{}, slices.AppendSeq([]string{}, maps.Keys(settings))
	slices.Sort(keys)
	for _, key := range keys {
		parts := strings.Split(key, ".")
		if forLanguages().MatchString(key) {
			parts = []string{key}
		}
		plant(contents, parts, settings[key])
	}
	return contents, keys
}

func plant(at map[string]any, parts []string, value any) {
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
	at[parts[len(parts)-1]] = ours(value)
}

// ours is a value whose objects can be added to.
func ours(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := make(map[string]any, len(object))
	for k, v := range object {
		out[k] = ours(v)
	}
	return out
}

// Configuration is what ExtHostConfiguration.$initializeConfiguration is called
// with: the defaults that extensions contribute, given by their descriptions, with
// those of the options over them, and the user's settings. The error says what is
// wrong with [Options.SettingsFile]. What of it is told anew is for
// [Protocol.Reconfigured].
func (p *Protocol) Configuration(descriptions []json.RawMessage) (codec.Raw, error) {
	return p.opt.configuration(descriptions)
}

func (o *Options) configuration(descriptions []json.RawMessage) (codec.Raw, error) {
	settings := map[string]any{}
	if o.SettingsFile != "" {
		var err error
		if settings, err = ReadSettings(o.SettingsFile); err != nil {
			return nil, err
		}
	}
	maps.Copy(settings, o.Settings)
	none := newModel(nil)
	return json.Marshal([]any{map[string]any{
		"defaults": o.defaults(descriptions), "policy": none, "application": none, "userLocal": newModel(settings),
		"userRemote": none, "workspace": none, "folders": []any{}, "configurationScopes": []any{},
	}})
}

// defaults are those of a host with these extensions.
func (o *Options) defaults(descriptions []json.RawMessage) model {
	defaults := contributed(descriptions)
	maps.Copy(defaults, o.Defaults)
	return newModel(defaults)
}

// ReadSettings reads a file of settings: an object of JSON, in which there may be
// comments, and commas before what closes something.
func ReadSettings(path string) (map[string]any, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if info.Size() > maxSettings {
		return nil, fmt.Errorf("%s: %d bytes, limit %d", path, info.Size(), maxSettings)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	settings := map[string]any{}
	plain := withoutComments(text)
	if len(strings.TrimSpace(string(plain))) == 0 {
		return settings, nil // as an editor leaves it
	}
	if err := json.Unmarshal(plain, &settings); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, lineOf(text, err), err)
	}
	if settings == nil { // null
		return nil, fmt.Errorf("%s: an object of settings expected", path)
	}
	return settings, nil
}

// lineOf says in which line of a text an error of package json is.
func lineOf(text []byte, err error) int {
	at := int64(len(text))
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typed):
		at = typed.Offset
	}
	return 1 + strings.Count(string(text[:min(at, int64(len(text)))]), "\n")
}

// withoutComments is JSON in which there were comments and commas too many. What
// is taken out becomes spaces, so that everything else stays where it was.
func withoutComments(text []byte) []byte {
	out := slices.Clone(text)
	comma := -1 // with nothing behind it yet
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			end := i
			for end < len(text) && text[end] != '\n' {
				end++
			}
			blank(i, end)
			i = end - 1
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := len(text)
			if n := strings.Index(string(text[i+2:]), "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
			i = end - 1
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		default:
			comma = -1
		}
	}
	return out
}

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
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// maxSettings bounds the bytes of a settings file.
const maxSettings = 4 << 20

// model has settings in VS Code's form: a tree of the parts of their names, and the
// settings for languages once more by themselves.
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

// forLanguages matches the names of settings for languages, like "[markdown]" and
// "[c][cpp]".
var forLanguages = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\[[^\]]+\])+$`) })

// newModel makes a model of settings by their full names. It copies them.
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

// Configuration returns the params of ExtHostConfiguration.$initializeConfiguration: the
// defaults that the extensions with these descriptions contribute, overridden by those of
// the options, and the user's settings. An error is about [Options.SettingsFile]. Changes
// are sent with the params that [Protocol.Reconfigured] returns.
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

// defaults returns the default settings of a host with these extensions.
func (o *Options) defaults(descriptions []json.RawMessage) model {
	defaults := contributed(descriptions)
	maps.Copy(defaults, o.Defaults)
	return newModel(defaults)
}

// ReadSettings reads a settings file: a JSON object, which may have comments and trailing
// commas.
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
		return settings, nil // editors create such files
	}
	if err := json.Unmarshal(plain, &settings); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, lineOf(text, err), err)
	}
	if settings == nil { // null
		return nil, fmt.Errorf("%s: an object of settings expected", path)
	}
	return settings, nil
}

// lineOf returns the line of a text in which an error of package json is.
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

// withoutComments replaces comments and trailing commas by spaces, so that offsets stay
// the same.
func withoutComments(text []byte) []byte {
	out := slices.Clone(text)
	comma := -1 // offset of a comma with nothing after it yet
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

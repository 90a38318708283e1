package vscode

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench/settings/model"
)

// describes the extensions of a test.
func describes(texts ...string) (out []json.RawMessage) {
	for _, text := range texts {
		out = append(out, json.RawMessage(text))
	}
	return out
}

func configured(t *testing.T, o Options, descriptions ...string) (defaults, user model.Model) {
	t.Helper()
	raw, err := New(o).Configuration(describes(descriptions...))
	if err != nil {
		t.Fatal(err)
	}
	var args []struct{ Defaults, UserLocal model.Model }
	if err := json.Unmarshal(raw, &args); err != nil || len(args) != 1 {
		t.Fatal(string(raw), err)
	}
	return args[0].Defaults, args[0].UserLocal
}

func shows(t *testing.T, v any, want string) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestContributedDefaults(t *testing.T) {
	t.Parallel()
	defaults, _ := configured(t, Options{Defaults: map[string]any{"a.given": 2}},
		`{"contributes":{"configuration":{"properties":{
			"a.text":{"type":"string"},"a.flag":{"type":["boolean","null"]},"a.many":{"type":"array"},"a.map":{"type":"object","default":{"x":1}},
			"a.n":{"type":"integer"},"a.nothing":{},"a.null":{"type":"string","default":null},"a.given":{"default":1}}}}}`,
		`{"contributes":{"configuration":[{"properties":{"b.one":{"default":"1"},"a.text":{"default":"not its own"}}},
			{"allOf":[{"properties":{"b.two":{"default":[2]}}}]}, 7],
			"configurationDefaults":{"a.flag":true,"a.map":{"y":2},"[markdown]":{"editor.wordWrap":"on"}}}}`,
		`{"contributes":{"configurationDefaults":{"[markdown]":{"editor.tabSize":2}}}}`,
		`{"contributes":7}`, `{"contributes":{"configuration":"x","configurationDefaults":[]}}`, `{}`, `[]`)
	shows(t, defaults.Contents, `{"[markdown]":{"editor.tabSize":2,"editor.wordWrap":"on"},`+
		`"a":{"flag":true,"given":2,"many":[],"map":{"x":1,"y":2},"n":0,"nothing":null,"null":null,"text":""},"b":{"one":"1","two":[2]}}`)
	shows(t, defaults.Keys, `["[markdown]","a.flag","a.given","a.many","a.map","a.n","a.nothing","a.null","a.text","b.one","b.two"]`)
	shows(t, defaults.Overrides, `[{"contents":{"editor":{"tabSize":2,"wordWrap":"on"}},"keys":["editor.tabSize","editor.wordWrap"],"identifiers":["markdown"]}]`)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings.json")
	text := "// mine\n{\n  \"a.b\": \"//no comment, \\\" /*\", /* two\nlines */\n  \"a\": {\"c\": [1, 2,],},\n  \"x\": 1, // the last\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	given := map[string]any{"x": 2, "x.y": 3, "[c][cpp]": map[string]any{"k": true}}
	_, user := configured(t, Options{SettingsFile: file, Settings: given})
	shows(t, user.Contents, `{"[c][cpp]":{"k":true},"a":{"b":"//no comment, \" /*","c":[1,2]},"x":2}`)
	shows(t, user.Overrides, `[{"contents":{"k":true},"keys":["k"],"identifiers":["c","cpp"]}]`)
	shows(t, given, `{"[c][cpp]":{"k":true},"x":2,"x.y":3}`) // it stays the caller's

	for text, want := range map[string]string{
		"{\n\"a\": 1,\n\"b\" 2}": ":3: invalid character '2'",
		"[1]":                    ":1: json: cannot unmarshal array",
		"{\"a\": \"":             ":1: unexpected end",
		"null":                   ": an object of settings expected",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSettings(file); err == nil || !strings.Contains(err.Error(), file+want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, empty := range []string{"", " \n// nothing\n", "{}", "{,}"} {
		if err := os.WriteFile(file, []byte(empty), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := ReadSettings(file); err != nil || len(m) > 0 {
			t.Errorf("%q: %v, %v", empty, m, err)
		}
	}
	if _, err := New(Options{SettingsFile: file + "x"}).Configuration(nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := ReadSettings(filepath.Dir(file)); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Error(err)
	}
	if err := os.WriteFile(file, make([]byte, model.MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(file); err == nil || !strings.Contains(err.Error(), "limit 4194304") {
		t.Error(err)
	}
}

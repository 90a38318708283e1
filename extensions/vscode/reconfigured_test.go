package vscode

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench/settings/model"
)

// The configuration that a host has after its extensions have changed, step by
// step, and what it is told to be different.
func TestReconfigured(t *testing.T) {
	t.Parallel()
	p := New(Options{Defaults: map[string]any{"a.given": 2}, Settings: map[string]any{"a.text": "mine"}})
	const a = `{"contributes":{"configuration":{"properties":{"a.text":{"default":"x"},"a.given":{"default":1},"a.n":{"type":"integer"}}}}}`
	const languages = `{"contributes":{"configurationDefaults":{"[c][cpp]":{"a.n":1,"a.given":3},"[c]":{"a.given":4}}}}`
	told, err := p.Configuration(describes(a))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, defaults, change string // "": nothing is told
		has                    []string
	}{
		{"the same", "", "", []string{a}},
		{"without any setting", "", "", []string{a, `{}`, `{"contributes":{"commands":[{"command":"b"}]}}`, ``}},
		{"a setting that others have, and one of a fixed default", "", "",
			[]string{a, `{"contributes":{"configuration":{"properties":{"a.text":{"default":"y"},"a.given":{"default":5}}}}}`}},
		{"one comes", `{"a":{"given":2,"n":0,"text":"x"},"b":{"none":null,"words":[]}}`, `{"keys":["b.none","b.words"],"overrides":[]}`,
			[]string{a, `{"contributes":{"configuration":{"properties":{"b.words":{"type":"array"},"b.none":{}}}}}`}},
		{"and changes", `{"a":{"given":2,"n":7,"text":"x"},"b":{"words":["w"]}}`, `{"keys":["a.n","b.none","b.words"],"overrides":[]}`,
			[]string{a, `{"contributes":{"configuration":{"properties":{"b.words":{"default":["w"]}}},"configurationDefaults":{"a.n":7}}}`}},
		{"for languages", `{"[c]":{"a.given":4},"[c][cpp]":{"a.given":3,"a.n":1},"a":{"given":2,"n":0,"text":"x"}}`,
			`{"keys":["[c]","[c][cpp]","a.n","b.words"],"overrides":[["c",["a.given","a.n"]],["cpp",["a.given","a.n"]]]}`, []string{a, languages}},
		{"for one of them another", `{"[c]":{"a.given":4},"[c][cpp]":{"a.given":3,"a.n":2},"a":{"given":2,"n":0,"text":"x"}}`,
			`{"keys":["[c][cpp]"],"overrides":[["c",["a.n"]],["cpp",["a.n"]]]}`, []string{a, strings.Replace(languages, `"a.n":1`, `"a.n":2`, 1)}},
		{"all go", `{"a":{"given":2}}`, `{"keys":["[c]","[c][cpp]","a.n","a.text"],"overrides":[["c",["a.given","a.n"]],["cpp",["a.given","a.n"]]]}`, nil},
		{"one that is the beginning of another", `{"a":{"given":2,"text":"x"}}`, `{"keys":["a","a.text"],"overrides":[]}`,
			[]string{`{"contributes":{"configuration":{"properties":{"a":{"type":"object"},"a.text":{"default":"x"}}}}}`}},
	} {
		next, err := p.Reconfigured(told, describes(step.has...))
		if err != nil {
			t.Fatal(step.name, err)
		}
		if step.change == "" {
			if next != nil {
				t.Errorf("%s: %s was told", step.name, next)
			}
			continue
		}
		var data struct{ Defaults, UserLocal model.Model }
		var raw []json.RawMessage
		if err := json.Unmarshal(next, &raw); err != nil || len(raw) != 2 {
			t.Fatal(step.name, string(next), err)
		}
		if err := json.Unmarshal(raw[0], &data); err != nil {
			t.Fatal(step.name, err)
		}
		t.Log(step.name)
		shows(t, raw[1], step.change)
		shows(t, data.Defaults.Contents, step.defaults)
		shows(t, data.UserLocal, `{"contents":{"a":{"text":"mine"}},"keys":["a.text"],"overrides":[]}`)
		// It is all that a host with these extensions is told at its start.
		whole, err := p.Configuration(describes(step.has...))
		if err != nil || string(whole) != "["+string(raw[0])+"]" {
			t.Errorf("%s: %s, %v; at a start %s", step.name, raw[0], err, whole)
		}
		told = next
	}
	if !p.Incremental(MethodReconfigured, nil) {
		t.Error("a later one stands for it")
	}
	for _, bad := range []string{"", "{}", "[]", "[7]", "[{}]", `[{"defaults":7}]`} {
		if next, err := p.Reconfigured(codec.Raw(bad), nil); err == nil || !strings.Contains(err.Error(), "configuration") {
			t.Errorf("%q: %s, %v", bad, next, err)
		}
	}
}

package vscode

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestAnswer(t *testing.T) {
	p := Language{}
	for method, want := range map[string]string{
		"MainThreadWindow.$getInitialState":      `{"isFocused":true,"isActive":true}`,
		"MainThreadLanguageModelTools.$getTools": `[]`,
		"MainThreadCommands.$registerCommand":    ``,
		"MainThreadWorkspace.$resolveProxy":      ``,
	} {
		if got := p.Answer(method); got == nil || got.Err != nil || string(got.Result) != want {
			t.Errorf("%s: %+v", method, got)
		}
	}
	for method, api := range map[string]string{
		"MainThreadTextEditors.$tryApplyEdits": "TextEditor.edit", "MainThreadNew.$thing": "MainThreadNew.$thing",
	} {
		got := p.Answer(method)
		if got == nil || got.Err == nil || got.Err.Name != NameNotSupported || !strings.HasPrefix(got.Err.Message, api+" is not supported: ") {
			t.Errorf("%s: %+v", method, got)
		}
	}
	for _, method := range []string{"ExtHostCommands.$x", "MainThreadCommands.x", "MainThread", "$/ping", ""} {
		if got := p.Answer(method); got != nil {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

// The list is sorted and has one line for each method; values are JSON.
func TestMainThreadMethods(t *testing.T) {
	before, n := "", 0
	for m := range MainThreadMethods() {
		n++
		if m.Name <= before {
			t.Errorf("%s after %s", m.Name, before)
		}
		before = m.Name
		if !slices.Contains([]string{"both", "1.100.3", "1.139.1"}, m.Releases) {
			t.Errorf("%s: releases %q", m.Name, m.Releases)
		}
		switch m.Answer {
		case "told", "unseen", "undefined":
			if m.Detail != "" {
				t.Errorf("%s: %s %q", m.Name, m.Answer, m.Detail)
			}
		case "value":
			if !json.Valid([]byte(m.Detail)) {
				t.Errorf("%s: %s", m.Name, m.Detail)
			}
		case "refused":
			if m.Detail == "" {
				t.Errorf("%s: no API is named", m.Name)
			}
		default:
			t.Errorf("%s: answer %q", m.Name, m.Answer)
		}
	}
	if n < 500 {
		t.Errorf("%d methods", n)
	}
}

func TestShown(t *testing.T) {
	if got := shown(&Actors{}); got != nil {
		t.Errorf("%v: the build has no such actor", got)
	}
	got := shown(&Actors{numbers: map[string]uint8{"ExtHostEditorTabs": 7}})
	if len(got) != 1 || got[0].Kind != codec.Notification || got[0].Method != "ExtHostEditorTabs.$acceptEditorTabModel" || !json.Valid(got[0].Params) {
		t.Errorf("%+v", got)
	}
}

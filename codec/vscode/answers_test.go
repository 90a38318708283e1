package vscode

import (
	"encoding/json"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestAnswer(t *testing.T) {
	p := Language{}
	for method, want := range map[string]string{
		"MainThreadWindow.$getInitialState":      `{"isFocused":true,"isActive":true}`,
		"MainThreadLanguageModelTools.$getTools": `[]`,
		"MainThreadCommands.$registerCommand":    ``,
		"MainThreadTextEditors.$tryApplyEdits":   `false`,
	} {
		if got, ok := p.Answer(method); !ok || string(got) != want {
			t.Errorf("%s: %s, %v", method, got, ok)
		}
	}
	for _, method := range []string{"ExtHostCommands.$x", "MainThreadCommands.x", "MainThread", "$/ping", ""} {
		if got, ok := p.Answer(method); ok {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// What an answer is made of is JSON, or nothing.
func TestAnswersAreJSON(t *testing.T) {
	for method, text := range answers {
		if text != "" && !json.Valid([]byte(text)) {
			t.Errorf("%s: %s", method, text)
		}
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

package vscode

import (
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// Answer returns what a host's request is answered with that nobody else
// answers: what an editor without anything in it would say. Most calls of a host
// tell something, and get the empty result; of those that ask it is enough to
// know the ones whose result is taken apart without a look at it.
func (*Protocol) Answer(method string) (result codec.Raw, ok bool) {
	actor, name, _ := strings.Cut(method, ".")
	if !strings.HasPrefix(actor, "MainThread") || !strings.HasPrefix(name, "$") {
		return nil, false
	}
	return codec.Raw(answers[method]), true
}

var answers = map[string]string{
	"MainThreadWindow.$getInitialState":                   `{"isFocused":true,"isActive":true}`,
	"MainThreadLanguageModelTools.$getTools":              `[]`,
	"MainThreadWorkspace.$startFileSearch":                `[]`,
	"MainThreadWorkspace.$checkExists":                    `false`,
	"MainThreadCommands.$getCommands":                     `[]`,
	"MainThreadLanguages.$getLanguages":                   `["plaintext"]`,
	"MainThreadAuthentication.$getAccounts":               `[]`,
	"MainThreadDiagnostics.$getDiagnostics":               `[]`,
	"MainThreadTask.$fetchTasks":                          `[]`,
	"MainThreadSecretState.$getKeys":                      `[]`,
	"MainThreadLanguageModels.$selectChatModels":          `[]`,
	"MainThreadStorage.$setValue":                         ``,
	"MainThreadExtensionService.$onWillActivateExtension": ``,
}

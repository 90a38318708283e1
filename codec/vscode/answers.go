package vscode

import (
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// Answer returns what a host's request is answered with that nobody else
// answers: what an editor without anything in it would say. Most calls of a host
// tell something, and get the empty result; of those that ask it is enough to
// know the ones whose result is taken apart without a look at it.
func (Language) Answer(method string) (result codec.Raw, ok bool) {
	actor, name, _ := strings.Cut(method, ".")
	if !strings.HasPrefix(actor, "MainThread") || !strings.HasPrefix(name, "$") {
		return nil, false
	}
	return codec.Raw(answers[method]), true
}

// shown is what a host is told of an editor without anything in it, before its
// extensions may look: there is one group of editors, in which no tab is open.
// Without that a look at the active group is an error in the host.
func shown(b *Actors) []codec.Message {
	const actor, method = "ExtHostEditorTabs", "$acceptEditorTabModel"
	if _, known := b.Number(actor); !known {
		return nil
	}
	return []codec.Message{{
		Kind: codec.Notification, Method: actor + "." + method,
		Params: codec.Raw(`[[{"groupId":0,"isActive":true,"viewColumn":0,"tabs":[]}]]`),
	}}
}

// answers are by what is asked: nothing is there to be found, shown or changed,
// nobody is there to be asked, and text is UTF-8.
var answers = map[string]string{
	"MainThreadWindow.$getInitialState":                   `{"isFocused":true,"isActive":true}`,
	"MainThreadWindow.$openUri":                           `false`,
	"MainThreadLanguageModelTools.$getTools":              `[]`,
	"MainThreadLanguageModels.$selectChatModels":          `[]`,
	"MainThreadLanguageModels.$countTokens":               `0`,
	"MainThreadLanguageModels.$fileIsIgnored":             `false`,
	"MainThreadWorkspace.$startFileSearch":                `[]`,
	"MainThreadWorkspace.$checkExists":                    `false`,
	"MainThreadWorkspace.$saveAll":                        `false`,
	"MainThreadWorkspace.$loadCertificates":               `[]`,
	"MainThreadWorkspace.$resolveDecoding":                `{"preferredEncoding":"utf8","guessEncoding":false,"candidateGuessEncodings":[]}`,
	"MainThreadWorkspace.$validateDetectedEncoding":       `"utf8"`,
	"MainThreadWorkspace.$resolveEncoding":                `{"encoding":"utf8","addBOM":false}`,
	"MainThreadCommands.$getCommands":                     `[]`,
	"MainThreadClipboard.$readText":                       `""`,
	"MainThreadOutputService.$register":                   `"output"`,
	"MainThreadLanguages.$getLanguages":                   `["plaintext"]`,
	"MainThreadAuthentication.$getAccounts":               `[]`,
	"MainThreadDiagnostics.$getDiagnostics":               `[]`,
	"MainThreadDocuments.$trySaveDocument":                `false`,
	"MainThreadBulkEdits.$tryApplyWorkspaceEdit":          `false`,
	"MainThreadTextEditors.$tryApplyEdits":                `false`,
	"MainThreadTextEditors.$tryInsertSnippet":             `false`,
	"MainThreadTextEditors.$getDiffInformation":           `[]`,
	"MainThreadEditorTabs.$closeTab":                      `false`,
	"MainThreadEditorTabs.$closeGroup":                    `false`,
	"MainThreadEditorInsets.$postMessage":                 `false`,
	"MainThreadWebviews.$postMessage":                     `false`,
	"MainThreadNotebookDocuments.$trySaveNotebook":        `false`,
	"MainThreadNotebookKernels.$postMessage":              `false`,
	"MainThreadNotebookRenderers.$postMessage":            `false`,
	"MainThreadTask.$fetchTasks":                          `[]`,
	"MainThreadTask.$createTaskId":                        `""`,
	"MainThreadDebugService.$startDebugging":              `false`,
	"MainThreadTunnelService.$getTunnels":                 `[]`,
	"MainThreadLocalization.$fetchBundleContents":         `"{}"`,
	"MainThreadSecretState.$getKeys":                      `[]`,
	"MainThreadStorage.$setValue":                         ``,
	"MainThreadExtensionService.$onWillActivateExtension": ``,
}

package vscode

import "github.com/hostsup/hostsup/codec"

// MethodReconfigured tells a host that its configuration is another now: what it was
// opened with, and what of it has changed.
const MethodReconfigured = "ExtHostConfiguration.$acceptConfigurationChanged"

// Incremental is that of [codec.Features]: changes of texts and of what is
// open are told as differences, and with a configuration what of it is another.
func (Language) Incremental(method string, _ codec.Raw) bool {
	switch method {
	case "ExtHostDocuments.$acceptModelChanged", "ExtHostDocumentsAndEditors.$acceptDocumentsAndEditorsDelta",
		"ExtHostNotebookDocuments.$acceptModelChanged", "ExtHostNotebook.$acceptDocumentAndEditorsDelta",
		MethodReconfigured:
		return true
	}
	return false
}

package vscode

import "github.com/hostsup/hostsup/codec"

// Incremental implements [codec.Incremental]: changes of texts and of what is
// open are told as differences, and with a configuration what of it is another.
func (*Protocol) Incremental(method string, _ codec.Raw) bool {
	switch method {
	case "ExtHostDocuments.$acceptModelChanged", "ExtHostDocumentsAndEditors.$acceptDocumentsAndEditorsDelta",
		"ExtHostNotebookDocuments.$acceptModelChanged", "ExtHostNotebook.$acceptDocumentAndEditorsDelta",
		MethodReconfigured:
		return true
	}
	return false
}

var _ codec.Incremental = (*Protocol)(nil)

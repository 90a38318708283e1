package jsonrpc

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// incremental is that of [codec.Features]. A change of a document stands by
// itself when it begins with the whole text; one with a range in its place
// changes what the server has, and so do all changes of notebooks.
func (p protocol) incremental(method string, params codec.Raw) bool {
	switch {
	case p.lines:
		return false
	case method == "textDocument/didChange":
		change := jsonwalk.Find(params, "contentChanges.0")
		return change == nil && len(params) > 0 || jsonwalk.Member(change, "range") != nil
	}
	return method == "notebookDocument/didChange"
}

// Package console is the page of a supervisor: a person sees in a browser what lives, what
// died, why, and what it costs, and changes it.
//
// The page is static files that need no build step and load nothing from elsewhere. It
// knows what the control API tells it, and is served by [control.Access.Page], whose
// policy lets it run only its own scripts. What hosts and their names contain is shown as
// text, never as HTML.
//
// In the folder page, app.js shows the view of the URL; model.js keeps what is known of
// the tree, by one stream of events and a request for samples every few seconds; tree.js
// is the list of hosts, of which only the rows in sight are in the document. Every other
// file is a view, or what views share.
package console

import (
	"embed"
	"io/fs"
)

//go:embed page
var files embed.FS

// Page returns the files of the page. index.html is the page itself.
func Page() fs.FS {
	page, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // the name is valid
	}
	return page
}

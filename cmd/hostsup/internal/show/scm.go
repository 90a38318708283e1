package show

import (
	"io"
	"net/url"
	"strings"

	"github.com/hostsup/hostsup/workbench/scm"
)

var scmColumns = []column{{title: "HOST"}, {title: "ID"}, {title: "GROUP"}, {title: "STATE"}, {title: "FILE"}}

// SourceControls writes source controls as a table: a line for each changed file, and one for a source
// control without any.
func (s Screen) SourceControls(w io.Writer, list []scm.Control) error {
	var rows [][]cell
	for _, c := range list {
		row := func(group, state, file string) {
			rows = append(rows, []cell{{text: Clean(c.Host)}, {text: Clean(c.ID)}, {text: orNone(group)}, {text: orNone(state)}, {text: orNone(file)}})
		}
		before := len(rows)
		for _, g := range c.Groups {
			for _, r := range g.Resources {
				row(g.Label, r.State, filePath(r.URI))
			}
		}
		if len(rows) == before {
			row("", "", filePath(c.Root))
		}
	}
	return s.table(w, scmColumns, rows)
}

// filePath returns the path of a file: URI, others as they are.
func filePath(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" && u.Host == "" && !strings.Contains(u.Path, "\x00") {
		return u.Path
	}
	return uri
}

package show

import (
	"io"

	"github.com/hostsup/hostsup/workbench/fileinfo"
)

var decorationColumns = []column{{title: "FILE"}, {title: "BADGE"}, {title: "EXTENSION"}, {title: "SAYS"}}

// Decorations writes decorations of files as a table, one line each.
func (s Screen) Decorations(w io.Writer, list []fileinfo.Decoration) error {
	var rows [][]cell
	for _, d := range list {
		rows = append(rows, []cell{{text: Clean(filePath(d.URI))}, {text: orNone(d.Badge)}, {text: orNone(d.Extension)}, {text: orNone(d.Tooltip)}})
	}
	return s.table(w, decorationColumns, rows)
}

var timelineColumns = []column{{title: "TIME"}, {title: "SOURCE"}, {title: "WHAT"}, {title: "WHO"}}

// Timeline writes what timelines have of a file as a table, one line each.
func (s Screen) Timeline(w io.Writer, list []fileinfo.Moment) error {
	var rows [][]cell
	for _, m := range list {
		rows = append(rows, []cell{{text: s.stamp(m.Time)}, {text: orNone(m.Source)}, {text: orNone(m.Label)}, {text: orNone(m.Description)}})
	}
	return s.table(w, timelineColumns, rows)
}

package show

import (
	"fmt"
	"io"
	"strings"

	activity "github.com/hostsup/hostsup/workbench/status"
)

var activityColumns = []column{{title: "HOST"}, {title: "EXTENSION"}, {title: "KIND"}, {title: "ID"}, {title: "SHOWS"}}

// Activity writes what extensions show as a table, one line each: first the progress.
func (s Screen) Activity(w io.Writer, now activity.State) error {
	var rows [][]cell
	add := func(host, extension, kind, id, text string) {
		rows = append(rows, []cell{{text: Clean(host)}, {text: orNone(extension)}, {text: kind}, {text: orNone(id)}, {text: orNone(text)}})
	}
	for _, p := range now.Progress {
		id := ""
		if p.Cancelable {
			id = p.ID
		}
		add(p.Host, p.Extension, "progress", id, ProgressText(p))
	}
	for _, e := range now.Entries {
		text := e.Text
		if text == "" { // only an icon
			text = e.Name
		}
		if e.Severity != "" {
			text = e.Severity + ": " + text
		}
		if e.Busy {
			text += " (busy)"
		}
		add(e.Host, e.Extension, e.Kind, "", text)
	}
	return s.table(w, activityColumns, rows)
}

// ProgressText returns what a progress shows.
func ProgressText(p activity.Progress) string {
	var parts []string
	for _, part := range []string{p.Title, p.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ": ")
	if p.Percent != nil {
		text = strings.TrimSpace(fmt.Sprintf("%s %.0f %%", text, *p.Percent))
	}
	if p.Canceled {
		text += " (canceled)"
	}
	return text
}

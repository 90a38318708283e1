package show

import (
	"io"

	"github.com/hostsup/hostsup/extensions"
)

var channelColumns = []column{{title: "CHANNEL"}, {title: "EXTENSION"}}

// Channels writes output channels as a table, one line each.
func (s Screen) Channels(w io.Writer, list []extensions.Channel) error {
	rows := make([][]cell, len(list))
	for i, c := range list {
		rows[i] = []cell{{text: Clean(c.Name)}, {text: orNone(c.Extension)}}
	}
	return s.table(w, channelColumns, rows)
}

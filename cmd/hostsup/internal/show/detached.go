package show

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// Detached is a command that hostsup exec has left running.
type Detached struct {
	ID       string
	State    string
	PID      *int
	ExitCode *int32
	Started  time.Time
	URL      string
	Command  []string
}

// Detached writes them as a table.
func (s Screen) Detached(w io.Writer, list []Detached) error {
	rows := make([][]cell, len(list))
	for i, d := range list {
		pid, state := none, cell{d.State, Dim}
		if d.PID != nil {
			pid, state.style = strconv.Itoa(*d.PID), Green
		}
		if d.ExitCode != nil {
			state.text += fmt.Sprintf(" (%d)", *d.ExitCode)
		}
		rows[i] = []cell{{text: Clean(d.ID)}, state, {text: pid}, {text: Span(s.Now.Sub(d.Started))}, {text: Clean(d.URL)}, {text: Clean(commandText(d.Command))}}
	}
	return s.table(w, []column{
		{title: "ID"}, {title: "STATE"}, {title: "PID", right: true, spare: 2}, {title: "AGE", right: true, spare: 3}, {title: "URL", spare: 1}, {title: "COMMAND"},
	}, rows)
}

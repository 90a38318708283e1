package show

import (
	"io"
	"strings"

	"github.com/hostsup/hostsup/workbench/questions"
)

var questionColumns = []column{{title: "ID"}, {title: "HOST"}, {title: "EXTENSION"}, {title: "KIND"}, {title: "QUESTION"}, {title: "ANSWERS"}}

// Questions writes open questions as a table, one line each.
func (s Screen) Questions(w io.Writer, list []questions.Question) error {
	rows := make([][]cell, len(list))
	for i, q := range list {
		kind := q.Kind
		if q.Password {
			kind = "password"
		}
		rows[i] = []cell{{text: Clean(q.ID)}, {text: Clean(q.Host)}, {text: orNone(q.Extension)}, {text: Clean(kind)}, {text: orNone(q.Text)}, {text: orNone(strings.Join(q.Items, " | "))}}
	}
	return s.table(w, questionColumns, rows)
}

package documents

import (
	"encoding/json"
	"strings"

	"github.com/hostsup/hostsup/workbench/text"
)

// lines are the lines of a text on the wire. They are encoded one by one: a slice of them would take
// many times the bytes of a text with short lines.
type lines struct{ *text.Text }

// MarshalJSON implements [json.Marshaler].
func (l lines) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, l.Len()+2*l.Count()+2) // quotes for each, and a comma in the place of its end
	out = append(out, '[')
	for line := range l.All() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if !strings.ContainsFunc(line, escaped) {
			out = append(append(append(out, '"'), line...), '"')
			continue
		}
		quoted, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		out = append(out, quoted...)
	}
	return append(out, ']'), nil
}

// escaped reports whether a character has another form in JSON.
func escaped(r rune) bool { return r < ' ' || r == '"' || r == '\\' }

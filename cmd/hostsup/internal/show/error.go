package show

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/nearest"
)

// Error formats an error: the class in front if it adds to the message, the evidence
// of a host's own error below.
func (s Screen) Error(e *control.Error) string {
	switch e.Class {
	case control.NoSuchHost:
		return Clean(e.Message) + suggestion(e.Host, e.Hosts)
	case control.NoSuchExtension:
		return Clean(e.Message) + suggestion(e.Extension, e.Extensions)
	case control.NoSupervisor, control.Forbidden, control.Invalid, control.NoSuchCrash, control.NoExtensions, control.NoInspector:
		return Clean(e.Message)
	}
	text := string(e.Class) + ": " + Clean(e.Error()) + advised(e)
	var b strings.Builder
	b.WriteString(text)
	if e.Name == "" && e.Code == 0 && e.Stack == "" && e.Data == nil {
		return text
	}
	if e.Code != 0 {
		fmt.Fprintf(&b, "\n  code: %d", e.Code)
	}
	if data := besides(e); len(data) > 0 {
		b.WriteString("\n  data: " + Clean(string(data)))
	}
	for c := e.Cause; c != nil; c = c.Cause {
		b.WriteString("\n  caused by: " + Clean(strings.Trim(c.Name+": "+c.Message, ": ")))
	}
	if e.Stack != "" {
		b.WriteString("\n  stack:")
		for line := range strings.Lines(strings.TrimRight(e.Stack, "\r\n")) {
			line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
			b.WriteString("\n    " + Clean(line))
		}
	}
	return b.String()
}

// advised returns what a user can do about a host that is down.
func advised(e *control.Error) string {
	switch {
	case e.Host == "":
	case e.Class == control.Failed:
		return "; next: hostsup crashes " + Clean(e.Host) + ", " + Advice(e.Host, "")
	case e.Class == control.Stopped && !strings.Contains(e.Error(), "supervisor"):
		return "; next: " + Advice(e.Host, "")
	}
	return ""
}

// besides returns an error's data without the parts that are shown anyway: some
// hosts repeat the whole error.
func besides(e *control.Error) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(e.Data, &all) != nil || all == nil {
		return e.Data
	}
	rest := maps.Clone(all)
	for key, shown := range map[string]any{"name": e.Name, "message": e.Message, "stack": e.Stack, "$isError": true, "noTelemetry": false} {
		if text, err := json.Marshal(shown); err == nil && sameJSON(rest[key], text) {
			delete(rest, key)
		}
	}
	if len(rest) == len(all) {
		return e.Data // as the host has written it
	}
	if len(rest) == 0 {
		return nil
	}
	data, err := json.Marshal(rest)
	if err != nil { // it was valid JSON
		return e.Data
	}
	return data
}

// sameJSON compares two values that are strings or words.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// maxNames is how many names an error lists.
const maxNames = 12

// suggestion returns ` (there are: a, b; did you mean "a"?)`.
func suggestion(given string, names []string) string {
	if len(names) == 0 {
		return " (the list is empty)"
	}
	listed := make([]string, 0, maxNames)
	for _, n := range names[:min(len(names), maxNames)] {
		listed = append(listed, Clean(n))
	}
	text := " (there are: " + strings.Join(listed, ", ")
	if more := len(names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if near := nearest.Question(given, names); near != "" {
		text += "; " + near
	}
	return text + ")"
}

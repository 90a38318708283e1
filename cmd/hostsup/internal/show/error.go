package show

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/hostsup/hostsup/control"
)

// Error is what went wrong, for a person: the class in front where it adds to
// the message, the evidence of a host's own error below.
func (s Screen) Error(e *control.Error) string {
	switch e.Class {
	case control.NoSuchHost:
		return Clean(e.Message) + suggestion(e.Host, e.Hosts)
	case control.NoSuchExtension:
		return Clean(e.Message) + suggestion(e.Extension, e.Extensions)
	case control.NoSupervisor, control.Forbidden, control.Invalid, control.NoSuchCrash, control.NoExtensions, control.NoInspector:
		return Clean(e.Message)
	}
	text := string(e.Class) + ": " + Clean(e.Error())
	var b strings.Builder
	b.WriteString(text)
	if e.Name == "" && e.Code == 0 && e.Stack == "" && e.Data == nil {
		return text
	}
	if e.Code != 0 {
		fmt.Fprintf(&b, "\n  code: %d", e.Code)
	}
	if e.Data != nil {
		b.WriteString("\n  data: " + Clean(string(e.Data)))
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

// maxNames is how many names an error lists.
const maxNames = 12

// suggestion is ` (there are: a, b; did you mean "a"?)`.
func suggestion(given string, names []string) string {
	if len(names) == 0 {
		return " (there are none)"
	}
	listed := make([]string, 0, maxNames)
	for _, n := range names[:min(len(names), maxNames)] {
		listed = append(listed, Clean(n))
	}
	text := " (there are: " + strings.Join(listed, ", ")
	if more := len(names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if near := Nearest(given, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text + ")"
}

// Nearest returns the name that was probably meant, or "".
func Nearest(given string, names []string) string {
	best, least := "", min(2, len(given)/2)+1
	for _, n := range names {
		if strings.EqualFold(n, given) {
			return n
		}
		if d := levenshtein.Distance(given, n, nil); d < least {
			best, least = n, d
		}
	}
	return best
}

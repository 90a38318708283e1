// Package output keeps what extensions write to the console: in the log of their host, with
// what the host prints. Warnings and errors are with its standard error.
package output

import (
	"encoding/json"
	"strings"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/workbench"
)

// Service answers MainThreadConsole. It must be made with [New].
type Service struct{ queue queue }

// New returns the service.
func New() *Service { return &Service{queue{name: "console"}} }

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	return map[string]workbench.Method{"MainThreadConsole.$logExtensionHostMessage": {Now: s.console}}
}

// Close implements [workbench.Closer]: it waits until all is written.
func (s *Service) Close() error {
	s.queue.wait()
	return nil
}

// console answers $logExtensionHostMessage: how it was written, and the arguments as the text of a
// JSON list.
func (s *Service) console(c *workbench.Call) (any, error) {
	var m struct{ Severity, Arguments string }
	if err := c.Args(&m); err != nil {
		return nil, err
	}
	host, life, stream := c.Host, c.Life, capture.Stdout
	if m.Severity == "error" || m.Severity == "warn" {
		stream = capture.Stderr
	}
	s.queue.add(line(m.Severity, m.Arguments), func(text string) {
		for l := range strings.Lines(text) {
			host.Print(life, stream, strings.TrimRight(l, "\r\n"))
		}
	})
	return nil, nil
}

// line returns what is written for a call of console: a line, or several where an argument has
// several.
func line(severity, arguments string) string {
	if severity == "" {
		severity = "log"
	}
	var args []json.RawMessage
	if json.Unmarshal([]byte(arguments), &args) != nil {
		args = []json.RawMessage{json.RawMessage(arguments)}
	}
	words := make([]string, 0, len(args))
	for _, arg := range args {
		var text string
		var stack struct {
			Stack *string `json:"__$stack"`
		}
		switch {
		case json.Unmarshal(arg, &text) == nil:
			words = append(words, text)
		case json.Unmarshal(arg, &stack) == nil && stack.Stack != nil: // where it was called
		default:
			words = append(words, string(arg))
		}
	}
	text := "console." + severity + ": " + strings.Join(words, " ")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + " …"
	}
	return text
}

// Package output keeps what extensions write to the console: in the log of their host, with
// what the host prints. Warnings and errors are with its standard error.
package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/workbench"
)

// The bounds of what waits to be written.
const (
	maxLine  = 8 << 10 // bytes; what is longer is cut
	maxQueue = 1 << 20 // bytes; what comes while so much waits is counted and dropped
)

// Service answers MainThreadConsole. It must be made with [New].
type Service struct {
	mu      sync.Mutex
	queue   []func()
	size    int // bytes of the queue
	dropped int
	running bool
	work    sync.WaitGroup
}

// New returns the service.
func New() *Service { return &Service{} }

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	return map[string]workbench.Method{"MainThreadConsole.$logExtensionHostMessage": {Now: s.console}}
}

// Close implements [workbench.Closer]: it waits until all is written.
func (s *Service) Close() error {
	s.work.Wait()
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
	s.add(line(m.Severity, m.Arguments), func(text string) {
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

// add has a line written, after those before.
func (s *Service) add(text string, write func(text string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+len(text) > maxQueue {
		s.dropped++
		return
	}
	if s.dropped > 0 {
		n := s.dropped
		s.dropped = 0
		s.queue = append(s.queue, func() { write(fmt.Sprintf("console: %d lines came too fast and were dropped", n)) })
	}
	s.size += len(text)
	s.queue = append(s.queue, func() { write(text) })
	if !s.running {
		s.running = true
		s.work.Go(s.drain)
	}
}

// drain writes what is in the queue.
func (s *Service) drain() {
	for {
		s.mu.Lock()
		list := s.queue
		s.queue, s.size = nil, 0
		if len(list) == 0 {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		for _, write := range list {
			write()
		}
	}
}

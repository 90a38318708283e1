package output

import (
	"strings"

	"github.com/hostsup/hostsup/internal/capture"
)

// Write writes lines into a channel of the editor itself, which it makes if it is new. It does not block. A
// channel of an extension with the same name is another one.
func (s *Channels) Write(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	ch := s.channelOf(s.opt.Host, "", name)
	if ch == nil {
		return // tooMany has reported it
	}
	log := s.open(ch)
	for l := range strings.Lines(text) {
		ch.queue.add(strings.TrimRight(l, "\r\n"), func(text string) { log.Print(capture.Stderr, 0, []byte(s.opt.Redact(text))) })
	}
}

package server

import (
	"os"
	"slices"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// terminalDrain is how long the exit of a process with a terminal waits for the
// terminal's end, through which its last output comes a moment later.
const terminalDrain = 50 * time.Millisecond

// stream is one output of a process that is being read: to its end, to the
// process's, or until soon after a kill.
type stream struct {
	p    *process
	file *os.File
	name wire.Stream
	reading
	drained bool // what was put out before the exit is in; under the process's lock
}

// end is called when the stream is at its end.
func (s *stream) end() {
	p := s.p
	p.mu.Lock()
	defer p.mu.Unlock()
	s.release()
	if p.tty != nil && (p.held != nil || p.ended) {
		// Until then it stays open: its last user has let go of it, but may not
		// have ended yet, and would be hung up.
		p.tty.Close()
		p.tty = nil
	}
	p.streams = slices.DeleteFunc(p.streams, func(o *stream) bool { return o == s })
	p.settle()
}

func (s *stream) state() (killed, exited bool) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.p.killed && s.p.held != nil || s.p.ended, s.p.held != nil
}

func (s *stream) isDrained() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if !s.drained {
		s.drained = true
		s.p.settle()
	}
}

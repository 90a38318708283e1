//go:build !hostsup_posix

package survive

import (
	"errors"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// errGoing is the error of a start after Leave.
var errGoing = errors.New("the host goes over to another supervisor")

// runs makes s the starter of the process that runs.
func (h *host) runs(s *starter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = s
}

// letGo has the process that runs go on when the tree is stopped. It returns false if another
// supervisor cannot go on with it.
func (h *host) letGo() bool {
	state := h.ref.Peek().State
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.current
	if s == nil || !s.wire.kept.Load() || state != lifecycle.Running && state != lifecycle.Unresponsive {
		return false
	}
	select {
	case <-s.wire.conn.Exited():
		return false
	case <-s.wire.conn.Lost():
		return false
	default:
	}
	s.wire.going.Store(true)
	s.lasting.Leave()
	h.going = true
	return true
}

// leaving notes that a life that goes over is being stopped.
func (h *host) leaving() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.going && h.current != nil {
		h.current.wire.stopping.Store(true)
	}
}

// readWait bounds how long the read loop may work on the last messages.
const readWait = time.Second

// leave ends a life for this supervisor, and leaves the process to the next one. What the
// read loop has worked on is acknowledged before that.
func (s *starter) leave(child *sandbox.Outside) {
	s.wire.conn.Hangup()
	if s.wire.framing != nil {
		late := time.NewTimer(readWait)
		defer late.Stop()
		select {
		case <-s.wire.ended:
		case <-late.C: // its last messages come again
		}
	}
	if err := s.wire.conn.Close(); err != nil {
		s.host.ref.Log().Warn("the connection to the shim is not closed", "life", s.life.Life, "error", err)
	}
	child.End(sandbox.Exit{})
	child.Vanish()
	<-child.Released()
}

package server

import (
	"errors"
	"os"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// terminalDrain is how long the exit of a process with a terminal waits for the
// terminal's end, through which its last output comes a moment later.
const terminalDrain = 50 * time.Millisecond

// stream is one output of a process that is being read. Its goroutine ends
// with the stream, with the process's end, or soon after a kill.
type stream struct {
	p       *process
	file    *os.File
	name    wire.Stream
	drained bool // what was put out before the exit is in; under the process's lock
}

// poke makes the reader look at the process: it has exited, or was killed.
func (s *stream) poke() { _ = s.file.SetReadDeadline(time.Unix(1, 0)) }

// read reads the stream to its end.
func (s *stream) read() {
	raw, err := s.file.SyscallConn()
	if err == nil {
		s.run(raw)
	}
	p := s.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.name == wire.PTY && p.held == nil && !p.ended {
		// Its last user has let go of it, but may not have ended yet, and would be
		// hung up.
	} else {
		s.file.Close()
		p.tty = nil
	}
	for i, o := range p.streams {
		if o == s {
			p.streams = append(p.streams[:i], p.streams[i+1:]...)
			break
		}
	}
	p.settle()
}

type rawConn interface {
	Read(func(fd uintptr) bool) error
	Control(func(fd uintptr)) error
}

// run reads until the end. Memory is taken only when there is something to
// read: a silent stream has a waiting goroutine and nothing else.
func (s *stream) run(raw rawConn) {
	var pg *page
	var n int
	var again bool
	var rerr error
	defer func() {
		if pg != nil {
			putPage(pg)
		}
	}()
	look := func(fd uintptr) bool {
		if pg == nil {
			pg = getPage()
		}
		n, again, rerr = sys.ReadNow(fd, pg.b[:cap(pg.b)])
		if again { // it will wait
			putPage(pg)
			pg = nil
		}
		return !again
	}
	left := -1 // bytes until all that was there at the exit is in; -1: not known
	for {
		err := raw.Read(look)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// Something has happened to the process. From now on reading is by
			// looking, first without waiting.
			_ = s.file.SetReadDeadline(time.Time{})
			if left >= 0 {
				left = -1
			}
			killed, exited := s.state()
			if cerr := raw.Control(func(fd uintptr) {
				if exited && left < 0 && s.name != wire.PTY {
					if left, err = sys.Queued(fd); err != nil {
						left = 0
					}
				}
				if killed {
					look(fd)
				}
			}); cerr != nil {
				return
			}
			if killed {
				if again || rerr != nil || n == 0 {
					return
				}
				s.poke() // until nothing is left
			} else {
				if left == 0 {
					s.isDrained()
				}
				continue
			}
		} else if err != nil || rerr != nil || n == 0 {
			return
		}
		pg.b = pg.b[:n]
		if s.p.output(s.name, pg) {
			pg = nil
		} else {
			pg.b = pg.b[:0]
		}
		if left > 0 {
			if left -= n; left <= 0 {
				left = 0
				s.isDrained()
			}
		}
	}
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

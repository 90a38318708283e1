//go:build !linux || hostsup_posix

package server

import (
	"errors"
	"os"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// readsInOrder says that streams are read in the order in which they became
// ready. Here nothing tells that order.
const readsInOrder = false

// reading is nothing here: each stream has a goroutine of its own.
type reading struct{}

// reader is nothing either.
type reader struct{}

// inOrder does nothing: the streams are read by themselves.
func inOrder() {}

// poke makes the reader look at the process: it has exited, or was killed.
func (s *stream) poke() { _ = s.file.SetReadDeadline(time.Unix(1, 0)) }

// abort ends the reading.
func (s *stream) abort() { s.file.Close() }

// start reads from now on.
func (s *stream) start() {
	go func() {
		if raw, err := s.file.SyscallConn(); err == nil {
			s.run(raw)
		}
		s.end()
	}()
}

// release closes what the stream has open.
func (s *stream) release() {
	if s.name != wire.PTY { // else it is the process's
		s.file.Close()
	}
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

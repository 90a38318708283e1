//go:build !hostsup_posix

package server

import (
	"sync"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

const (
	// burst is how much a stream puts out in one go before it counts as busy.
	burst = 256 << 10
	// busyPipe is what the kernel is asked to buffer of a busy stream.
	busyPipe = 1 << 20
	// busyNap is how long a busy stream that has run dry is left alone before
	// the next look. Being woken for each of its writes costs more than the
	// reading.
	busyNap = 200 * time.Microsecond
	// busyNaps is how often in a row before it counts as silent again.
	busyNaps = 3
)

// reading is how a stream is read: by a goroutine that is there only while
// there is something to read, on a descriptor outside of the runtime's poller.
type reading struct {
	mu     sync.Mutex
	fd     int
	watch  sys.Watch
	parked bool // nobody reads; who finds it so has somebody do it
	poked  bool
	left   int // bytes until all that was there at the exit is in; -1: not known
	grown  bool
}

// start reads from now on.
func (s *stream) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = -1
	fd, err := sys.Dup(s.file)
	if s.name != wire.PTY {
		s.file.Close()
	}
	s.fd = fd
	if err == nil {
		s.parked = true
		s.watch, err = sys.NewWatch(fd, s)
	}
	if err != nil { // the system has no room for it
		s.p.s.srv.opt.Log.Error("the output of a process cannot be read", "process", s.p.id, "error", err)
		s.parked = false
		go s.end()
	}
}

// Ready implements sys.Waiter.
func (s *stream) Ready() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

func (s *stream) wake() {
	if s.parked {
		s.parked = false
		go s.pump()
	}
}

// poke makes the reader look at the process: it has exited, or was killed.
func (s *stream) poke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.poked = true
	s.wake()
}

// abort ends the reading.
func (s *stream) abort() { s.poke() }

// release closes what the stream has open.
func (s *stream) release() {
	s.watch.Close()
	if s.fd >= 0 {
		sys.Close(s.fd)
	}
}

// park leaves the stream to its watch, unless it was poked. After that the
// caller may not touch it any more.
func (s *stream) park() (parked bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poked {
		return false, nil
	}
	if err := s.watch.Arm(); err != nil {
		return false, err
	}
	s.parked = true
	return true, nil
}

// pump reads until there is nothing for now, or to the end.
func (s *stream) pump() {
	var pg *page
	killed := false
	total, naps := 0, 0
	for {
		s.mu.Lock()
		poked := s.poked
		s.poked = false
		s.mu.Unlock()
		if poked {
			var exited bool
			if killed, exited = s.state(); exited && s.left < 0 && s.name != wire.PTY {
				var err error
				if s.left, err = sys.Queued(uintptr(s.fd)); err != nil {
					s.left = 0
				}
				if s.left == 0 {
					s.isDrained()
				}
			}
		}
		if pg == nil {
			pg = getPage()
		}
		n, again, err := sys.ReadNow(uintptr(s.fd), pg.b[:cap(pg.b)])
		switch {
		case again && !killed && total >= burst && naps < busyNaps:
			naps++
			time.Sleep(busyNap)
			continue
		case again && !killed:
			putPage(pg)
			pg = nil
			var parked bool
			if parked, err = s.park(); parked {
				return
			}
			if err == nil {
				continue
			}
		}
		if again || err != nil || n == 0 {
			break
		}
		naps = 0
		total += n
		if total >= burst && !s.grown {
			s.grown = true
			sys.GrowPipe(s.fd, busyPipe)
		}
		pg.b = pg.b[:n]
		if s.p.output(s.name, pg) {
			pg = nil
		} else {
			pg.b = pg.b[:0]
		}
		if s.left > 0 {
			if s.left -= n; s.left <= 0 {
				s.left = 0
				s.isDrained()
			}
		}
	}
	if pg != nil {
		putPage(pg)
	}
	s.end()
}

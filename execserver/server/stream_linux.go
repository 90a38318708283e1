//go:build !hostsup_posix

package server

import (
	"sync"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// readsInOrder says that streams are read in the order in which they became
// ready.
const readsInOrder = true

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

// reader reads all streams of one process, on descriptors outside of the
// runtime's poller, by a goroutine that is there only while there is something
// to read. It takes the streams in the order in which they became ready, which
// the kernel knows, and in turns while several have more.
type reader struct {
	mu      sync.Mutex
	ready   []*stream
	running bool
}

// reading is what the reader knows of one stream.
type reading struct {
	fd    int
	watch sys.Watch

	// Below the reader's lock:
	queued bool // in its queue, being read, or at its end; else the watch is armed
	poked  bool

	// Of its goroutine:
	left        int // bytes until all that was there at the exit is in; -1: not known
	killed      bool
	grown       bool
	total, naps int // since the stream became ready
}

// start reads from now on. What becomes ready later is read later.
func (s *stream) start() {
	r := &s.p.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	s.left = -1
	fd, err := sys.Dup(s.file)
	if s.name != wire.PTY {
		s.file.Close()
	}
	s.fd = fd
	if err == nil {
		s.watch, err = sys.NewWatch(fd, s)
	}
	if err != nil { // the system has no room for it
		s.p.s.srv.opt.Log.Error("the output of a process cannot be read", "process", s.p.id, "error", err)
		s.queued = true
		go s.end()
	}
}

// Ready implements sys.Waiter.
func (s *stream) Ready() { s.p.reader.wake(s, false) }

// inOrder puts all streams that are ready now into their queues before any that is
// poked.
func inOrder() { sys.TellReady() }

// poke makes the reader look at the process: it has exited, or was killed.
func (s *stream) poke() { s.p.reader.wake(s, true) }

// abort ends the reading.
func (s *stream) abort() { s.poke() }

// release closes what the stream has open.
func (s *stream) release() {
	s.watch.Close()
	if s.fd >= 0 {
		sys.Close(s.fd)
	}
}

// wake puts a stream at the end of the queue, unless it is there.
func (r *reader) wake(s *stream, poke bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.poked = s.poked || poke
	if s.queued {
		return
	}
	s.queued, s.total, s.naps = true, 0, 0
	r.ready = append(r.ready, s)
	if !r.running {
		r.running = true
		go r.run()
	}
}

// next takes the first stream of the queue; nil ends the goroutine. before is
// the stream that was read last, if it has more to read.
func (r *reader) next(before *stream) (s *stream, poked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before != nil {
		r.ready = append(r.ready, before)
	}
	if len(r.ready) == 0 {
		r.ready, r.running = nil, false
		return nil, false
	}
	s = r.ready[0]
	r.ready = r.ready[:copy(r.ready, r.ready[1:])]
	poked, s.poked = s.poked, false
	return s, poked
}

// park leaves a stream to its watch, unless it was poked.
func (r *reader) park(s *stream) (parked bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.poked {
		return false, nil
	}
	if err := s.watch.Arm(); err != nil {
		return false, err
	}
	s.queued = false
	return true, nil
}

// alone reports whether no other stream waits to be read.
func (r *reader) alone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ready) == 0
}

// run reads until there is nothing for now.
func (r *reader) run() {
	var pg *page
	defer func() {
		if pg != nil {
			putPage(pg)
		}
	}()
	var more *stream
	for {
		s, poked := r.next(more)
		if s == nil {
			return
		}
		if poked {
			s.look()
		}
		if pg == nil {
			pg = getPage()
		}
		n, again, err := sys.ReadNow(uintptr(s.fd), pg.b[:cap(pg.b)])
		more = s
		switch {
		case again && !s.killed && s.total >= burst && s.naps < busyNaps:
			s.naps++
			if r.alone() {
				time.Sleep(busyNap)
			}
			continue
		case again && !s.killed:
			var parked bool
			if parked, err = r.park(s); parked {
				more = nil
			}
			if err == nil {
				continue
			}
		}
		if again || err != nil || n == 0 {
			more = nil
			s.end()
			continue
		}
		pg.b = pg.b[:n]
		if s.took(pg) {
			pg = nil
		} else {
			pg.b = pg.b[:0]
		}
	}
}

// look finds out what has happened to the process.
func (s *stream) look() {
	var exited bool
	if s.killed, exited = s.state(); !exited || s.left >= 0 || s.name == wire.PTY {
		return
	}
	var err error
	if s.left, err = sys.Queued(uintptr(s.fd)); err != nil {
		s.left = 0
	}
	if s.left == 0 {
		s.isDrained()
	}
}

// took hands what was read to the process, and reports whether that has kept
// the page.
func (s *stream) took(pg *page) (kept bool) {
	n := len(pg.b)
	s.naps = 0
	s.total += n
	if s.total >= burst && !s.grown {
		s.grown = true
		sys.GrowPipe(s.fd, busyPipe)
	}
	kept = s.p.output(s.name, pg)
	if s.left > 0 {
		if s.left -= n; s.left <= 0 {
			s.left = 0
			s.isDrained()
		}
	}
	return kept
}

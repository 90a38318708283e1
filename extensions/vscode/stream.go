package vscode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
	"github.com/hostsup/hostsup/internal/sys"
)

const (
	// keptLimit is how many bytes of unacknowledged messages are kept before
	// what is written waits. A host acknowledges while it works; one that does
	// not within two seconds has this much to read.
	keptLimit = 64 << 20
	// maxAsked is how many requests a host may make before it has acknowledged
	// the ack of the first of them: each is kept until then.
	maxAsked = 1 << 20
	// pullSize is how many bytes are written at once.
	pullSize = 256 << 10
)

// socket is the connection that a stream has at a time.
type socket interface {
	io.ReadWriteCloser
	CloseWrite() error
	SyscallConn() (syscall.RawConn, error)
}

// nextSocket makes the socket after one that was lost, unless stop is closed.
type nextSocket func(stop <-chan struct{}) (socket, error)

// readSize is how much is read at once.
const readSize = 64 << 10

// stream drives the persistent protocol over the sockets of one host. What is
// read and written are the regular frames, with ids and acks that mean nothing;
// everything else stays in here, and so does the ack that each request of the
// host is owed. It leaves with the next Write, which has the answer more often
// than not, or when Read is called again: whoever reads has then worked on all
// that it was given. Each write of its own would wake the host once more, and put
// off what the host is about to write by up to a millisecond.
//
// Its goroutines: a clock and a writer, for what nobody else writes. Close ends
// both.
type stream struct {
	single bool     // there is no socket after the first
	in     incoming // of Read
	part   []byte   // of Write: the beginning of a frame

	mu      sync.Mutex
	m       *persistent.Machine
	c       socket          // nil between two of them
	next    nextSocket      // nil: there is no other
	raw     syscall.RawConn // of c; nil where there is none
	grace   time.Duration
	lost    time.Time // when the last socket was on which something was heard; zero: it is there
	buf     []byte    // of flush
	rest    []byte    // of buf: what c is still to be given
	writing bool      // flush is
	unsent  bool      // an ack is in the machine that nobody has written
	err     error     // nothing more is written
	closed  bool
	asked   int           // requests of the host since the ack mark was sent
	mark    uint32        // the id of an ack that the host has not acknowledged
	armed   time.Time     // when the clock goes off
	moved   *sync.Cond    // an ack came, or the end
	kick    chan struct{} // capacity 1: there may be something to write
	sooner  chan struct{} // capacity 1: the clock has to go off earlier
	stop    chan struct{}
	wait    sync.WaitGroup
}

var _ codec.Stream = (*stream)(nil)

// newStream returns the stream over a socket and those after it. grace is how
// long nothing may be heard after one was lost.
func newStream(c socket, next nextSocket, grace time.Duration) *stream {
	s := &stream{
		single: next == nil, next: next, grace: grace, c: c, m: persistent.New(time.Now()),
		kick: make(chan struct{}, 1), sooner: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	s.moved = sync.NewCond(&s.mu)
	s.raw = rawOf(c)
	s.in.src = bufio.NewReaderSize(listener{s, c}, readSize)
	s.armed = s.m.Due()
	s.wait.Go(s.clock)
	s.wait.Go(s.writer)
	return s
}

// rawOf is for writing without waiting.
func rawOf(c socket) syscall.RawConn {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// listener tells the machine when somebody waits for the host.
type listener struct {
	s *stream
	c io.Reader
}

func (l listener) Read(p []byte) (int, error) {
	l.s.mu.Lock()
	l.s.m.Wait(time.Now())
	l.s.mu.Unlock()
	n, err := l.c.Read(p)
	l.s.mu.Lock()
	l.s.m.Heard()
	l.s.mu.Unlock()
	return n, err
}

// Write takes whole frames, or parts of them. It waits while the host leaves
// too much unacknowledged.
func (s *stream) Write(p []byte) (int, error) {
	if _, err := s.take(p, true); err != nil {
		return 0, err
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// TryWrite is Write without waiting, neither for the host nor for the kernel. It
// takes all or nothing; what the socket has no room for is written from here.
func (s *stream) TryWrite(p []byte) (int, error) {
	ok, err := s.take(p, false)
	if err != nil || !ok {
		return 0, err
	}
	s.dash()
	return len(p), nil
}

// take gives the machine the frames of p. Unless it may wait it takes nothing
// where it would have to.
func (s *stream) take(p []byte, wait bool) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !wait && s.err == nil && s.m.Kept() >= keptLimit {
		return false, nil
	}
	// The machine keeps what it is given, and p is not ours.
	rest := append(s.part[:len(s.part):len(s.part)], p...)
	for {
		for wait && s.m.Kept() >= keptLimit && s.err == nil {
			s.moved.Wait()
		}
		if s.err != nil {
			return false, s.err
		}
		if len(rest) < persistent.HeaderSize {
			break
		}
		h := persistent.ParseHeader(rest)
		if h.Type != persistent.Regular {
			return false, fmt.Errorf("%s frame, a regular one expected", h.Type)
		}
		end := persistent.HeaderSize + int(h.Length)
		if len(rest) < end {
			break
		}
		if err := s.m.Send(rest[persistent.HeaderSize:end:end]); err != nil {
			s.fail(err)
			continue
		}
		rest = rest[end:]
	}
	s.part = append([]byte(nil), rest...)
	return true, nil
}

// fail ends all writing. Under the lock.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.moved.Broadcast()
}

// flush writes what there is to write, unless somebody else does.
func (s *stream) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pull() {
		s.writing = true
		c, out := s.c, s.rest
		s.mu.Unlock()
		_, err := c.Write(out)
		s.mu.Lock()
		s.wrote(c, len(out), err)
	}
	return s.err
}

// dash writes what there is to write and the socket has room for, unless
// somebody else writes. The rest, and errors, are left to the writer.
func (s *stream) dash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pull() {
		if s.raw == nil {
			signal(s.kick)
			return
		}
		s.writing = true
		c, raw, out := s.c, s.raw, s.rest
		s.mu.Unlock()
		n, err := sys.TryWrite(raw, out)
		s.mu.Lock()
		s.wrote(c, n, err)
		if n < len(out) {
			signal(s.kick)
			return
		}
	}
}

// pull sees to it that there is something to write in rest; false: there is
// nothing, or nobody may write it now. Under the lock.
func (s *stream) pull() bool {
	if s.writing || s.err != nil || s.c == nil {
		return false
	}
	if len(s.rest) == 0 {
		s.unsent = false
		s.buf = s.m.Pull(time.Now(), s.buf[:0], pullSize)
		s.rest = s.buf
		s.rearm()
	}
	return len(s.rest) > 0
}

// wrote takes in what has become of a write of rest to c. Under the lock.
func (s *stream) wrote(c socket, n int, err error) {
	s.writing = false
	switch {
	case s.c != c: // what was not written is written to the next one
	case err == nil:
		if s.rest = s.rest[n:]; len(s.rest) == 0 && cap(s.buf) > 2*pullSize { // a large message has blown it up
			s.buf, s.rest = nil, nil
		}
	case s.next == nil:
		s.fail(err)
	default:
		// Read finds the same, and sees to the next one.
		s.detach()
		c.Close()
	}
}

// detach lets go of the socket. Under the lock.
func (s *stream) detach() {
	s.c, s.raw, s.rest = nil, nil, nil
	s.m.Detach()
}

// rearm wakes the clock when it would go off too late. Under the lock.
func (s *stream) rearm() {
	if due := s.due(); due.Before(s.armed) {
		s.armed = due
		signal(s.sooner)
	}
}

// due is when the clock has something to do. Under the lock.
func (s *stream) due() time.Time {
	due := s.m.Due()
	if end := s.lost.Add(s.grace); !s.lost.IsZero() && s.c != nil && end.Before(due) {
		return end
	}
	return due
}

// over says that the time is over in which the host is waited for. Under the
// lock.
func (s *stream) over(now time.Time) bool {
	return !s.lost.IsZero() && now.Sub(s.lost) >= s.grace
}

func (s *stream) writer() {
	for {
		select {
		case <-s.kick:
			_ = s.flush() // it stays, for Write to return
		case <-s.stop:
			return
		}
	}
}

func (s *stream) clock() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s.mu.Lock()
		s.armed = s.due()
		timer.Reset(time.Until(s.armed))
		s.mu.Unlock()
		select {
		case <-timer.C:
		case <-s.sooner:
			continue
		case <-s.stop:
			return
		}
		s.mu.Lock()
		now := time.Now()
		if (s.m.Tick(now) == persistent.TimedOut || s.over(now)) && s.next != nil && s.c != nil {
			s.c.Close() // Read finds its end
			s.c = nil
			s.m.Detach()
		}
		s.mu.Unlock()
		signal(s.kick)
	}
}

// CloseWrite ends our half of the socket behind what was written.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return nil
	}
	s.next = nil
	return s.c.CloseWrite()
}

// Close ends everything and waits for it.
func (s *stream) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
		if s.c != nil {
			_ = s.c.Close() // nothing of it matters any more
		}
		s.fail(net.ErrClosed)
	}
	s.mu.Unlock()
	s.wait.Wait()
	return nil
}

// errLost means that a socket broke and no other one took its place.
var errLost = errors.New("the connection was lost")

// reconnect sees to the next socket after one that has ended with err. The
// error that it returns ends the stream.
func (s *stream) reconnect(err error) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	next := s.next
	if next == nil {
		s.mu.Unlock()
		return err
	}
	if s.c != nil {
		_ = s.c.Close() // it has ended
		s.detach()
	}
	now := time.Now()
	if s.lost.IsZero() {
		s.lost = now
	}
	over := s.over(now)
	s.mu.Unlock()
	if over {
		return fmt.Errorf("%w: nothing was heard over another one in %s", errLost, s.grace)
	}
	c, err := next(s.stop)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return net.ErrClosed
	}
	s.c, s.raw = c, rawOf(c)
	s.m.Attach(time.Now())
	s.rearm()
	s.in.src = bufio.NewReaderSize(listener{s, c}, readSize)
	s.in.left, s.in.skip, s.in.deliver = 0, 0, false
	signal(s.kick)
	return nil
}

// frameError puts what the machine says of a frame in the words of package codec.
func frameError(err error, b []byte) error {
	kind := codec.ErrShape
	switch {
	case errors.Is(err, persistent.ErrType):
		kind = codec.ErrByte
	case errors.Is(err, persistent.ErrID):
		kind = codec.ErrID
	}
	return codec.Faultf(kind, -1, b, "%v", err)
}

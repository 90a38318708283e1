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
	// keptLimit bounds the bytes of unacknowledged messages; then Write waits. A host
	// acknowledges messages within two seconds, unless it has this much to read.
	keptLimit = 64 << 20
	// maxRequests bounds the requests of a host before it has acknowledged the ack of the
	// first of them: all acks are kept until then.
	maxRequests = 1 << 20
	// pullSize bounds the bytes of one write.
	pullSize = 256 << 10
)

// socket is one connection of a stream.
type socket interface {
	io.ReadWriteCloser
	CloseWrite() error
	SyscallConn() (syscall.RawConn, error)
}

// nextSocket makes the next socket after one was lost, unless stop is closed.
type nextSocket func(stop <-chan struct{}) (socket, error)

// readSize bounds the bytes of one read.
const readSize = 64 << 10

// stream runs the persistent protocol over the sockets of one host. Read and Write carry
// the regular frames, with ids and acks that have no meaning; the stream handles all other
// frames, and sends the ack of each request of the host. The ack is sent with the next
// Write, which mostly has the response, or when Read is called again: by then the reader
// has handled everything that it was given. A separate write would wake the host once
// more and could delay its own writes by up to a millisecond.
//
// The stream has two goroutines: a clock, and a writer for what Write and Read have left.
// Close ends both.
type stream struct {
	single bool     // there is only one socket
	in     incoming // of Read
	part   []byte   // of Write: an incomplete frame

	mu       sync.Mutex
	m        *persistent.Machine
	c        socket          // nil while the host is not connected
	next     nextSocket      // nil: no further socket
	raw      syscall.RawConn // of c; may be nil
	grace    time.Duration
	lost     time.Time // when the last working socket was lost; zero: a socket works
	buf      []byte    // of flush
	rest     []byte    // of buf: the bytes that are not yet written to c
	writing  bool      // a write to c is running
	unsent   bool      // the machine has an ack that was not written
	err      error     // the error of Write
	closed   bool
	requests int           // requests of the host since the ack with id mark was sent
	mark     uint32        // the id of an ack that the host has not acknowledged
	armed    time.Time     // when the clock fires
	moved    *sync.Cond    // signaled after an ack and at the end
	kick     chan struct{} // capacity 1: there may be something to write
	earlier  chan struct{} // capacity 1: the clock must fire earlier
	stop     chan struct{}
	wait     sync.WaitGroup
}

var _ codec.Stream = (*stream)(nil)

// newStream returns the stream over a socket and those that follow. The stream ends when
// nothing was received for grace after a socket was lost.
func newStream(c socket, next nextSocket, grace time.Duration) *stream {
	s := &stream{
		single: next == nil, next: next, grace: grace, c: c, m: persistent.New(time.Now()),
		kick: make(chan struct{}, 1), earlier: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	s.moved = sync.NewCond(&s.mu)
	s.raw = rawOf(c)
	s.in.src = bufio.NewReaderSize(waitingReader{s, c}, readSize)
	s.armed = s.m.Due()
	s.wait.Go(s.clock)
	s.wait.Go(s.writer)
	return s
}

// rawOf returns the raw connection of c for writes that do not block, or nil.
func rawOf(c socket) syscall.RawConn {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// signal sends to a channel of capacity 1 without waiting.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// waitingReader reports to the machine when a read waits for the host.
type waitingReader struct {
	s *stream
	c io.Reader
}

func (l waitingReader) Read(p []byte) (int, error) {
	l.s.mu.Lock()
	l.s.m.Wait(time.Now())
	l.s.mu.Unlock()
	n, err := l.c.Read(p)
	l.s.mu.Lock()
	l.s.m.Heard()
	l.s.mu.Unlock()
	return n, err
}

// Write takes complete frames or parts of them. It waits while too many bytes are
// unacknowledged.
func (s *stream) Write(p []byte) (int, error) {
	if _, err := s.enqueue(p, true); err != nil {
		return 0, err
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// TryWrite is like Write, but does not wait. It takes all of p or nothing; the writer
// writes what the socket has no room for.
func (s *stream) TryWrite(p []byte) (int, error) {
	ok, err := s.enqueue(p, false)
	if err != nil || !ok {
		return 0, err
	}
	s.tryFlush()
	return len(p), nil
}

// enqueue passes the frames of p to the machine. It returns false if it would have to wait
// and wait is false.
func (s *stream) enqueue(p []byte, wait bool) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !wait && s.err == nil && s.m.Kept() >= keptLimit {
		return false, nil
	}
	// The machine keeps the frames, and p belongs to the caller.
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

// fail makes all writes fail with err. The caller must hold mu.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.moved.Broadcast()
}

// flush writes everything, unless another goroutine is writing.
func (s *stream) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.fill() {
		s.writing = true
		c, out := s.c, s.rest
		s.mu.Unlock()
		_, err := c.Write(out)
		s.mu.Lock()
		s.written(c, len(out), err)
	}
	return s.err
}

// tryFlush writes what the socket has room for, unless another goroutine is writing. The
// rest, and errors, are left to the writer.
func (s *stream) tryFlush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.fill() {
		if s.raw == nil {
			signal(s.kick)
			return
		}
		s.writing = true
		c, raw, out := s.c, s.raw, s.rest
		s.mu.Unlock()
		n, err := sys.TryWrite(raw, out)
		s.mu.Lock()
		s.written(c, n, err)
		if n < len(out) {
			signal(s.kick)
			return
		}
	}
}

// fill fills rest with data to write. It returns false if there is none or it cannot be
// written now. The caller must hold mu.
func (s *stream) fill() bool {
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

// written handles the result of a write of rest to c. The caller must hold mu.
func (s *stream) written(c socket, n int, err error) {
	s.writing = false
	switch {
	case s.c != c: // the rest is written to the next socket
	case err == nil:
		if s.rest = s.rest[n:]; len(s.rest) == 0 && cap(s.buf) > 2*pullSize { // a large message has grown it
			s.buf, s.rest = nil, nil
		}
	case s.next == nil:
		s.fail(err)
	default:
		// Read fails too, and makes the next socket.
		s.detach()
		c.Close()
	}
}

// detach drops the socket. The caller must hold mu.
func (s *stream) detach() {
	s.c, s.raw, s.rest = nil, nil, nil
	s.m.Detach()
}

// rearm wakes the clock if it would fire too late. The caller must hold mu.
func (s *stream) rearm() {
	if due := s.due(); due.Before(s.armed) {
		s.armed = due
		signal(s.earlier)
	}
}

// due returns when the clock must fire. The caller must hold mu.
func (s *stream) due() time.Time {
	due := s.m.Due()
	if end := s.lost.Add(s.grace); !s.lost.IsZero() && s.c != nil && end.Before(due) {
		return end
	}
	return due
}

// graceOver reports whether the grace period after the loss of a socket is over. The
// caller must hold mu.
func (s *stream) graceOver(now time.Time) bool {
	return !s.lost.IsZero() && now.Sub(s.lost) >= s.grace
}

func (s *stream) writer() {
	for {
		select {
		case <-s.kick:
			_ = s.flush() // the error stays for Write
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
		case <-s.earlier:
			continue
		case <-s.stop:
			return
		}
		s.mu.Lock()
		now := time.Now()
		if (s.m.Tick(now) == persistent.TimedOut || s.graceOver(now)) && s.next != nil && s.c != nil {
			s.c.Close() // Read fails then
			s.c = nil
			s.m.Detach()
		}
		s.mu.Unlock()
		signal(s.kick)
	}
}

// CloseWrite closes our half of the socket after what was written.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return nil
	}
	s.next = nil
	return s.c.CloseWrite()
}

// Close closes the socket and waits for the goroutines.
func (s *stream) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
		if s.c != nil {
			_ = s.c.Close() // its data no longer matters
		}
		s.fail(net.ErrClosed)
	}
	s.mu.Unlock()
	s.wait.Wait()
	return nil
}

// errLost means that a socket broke and the grace period ended without another one.
var errLost = errors.New("the connection was lost")

// reconnect makes the next socket after one has ended with err. Its error ends the stream.
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
	over := s.graceOver(now)
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
	s.in.src = bufio.NewReaderSize(waitingReader{s, c}, readSize)
	s.in.left, s.in.skip, s.in.deliver = 0, 0, false
	signal(s.kick)
	return nil
}

// frameError converts an error of the machine to one of package codec.
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

package dscode

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"

	wire "github.com/hostsup/hostsup/codec/dscode"
)

// stream carries the frames of all connections of one life; see wire.LabelSize for its
// format. It has one goroutine that maintains the connection to the host, one that
// accepts the host's connections, and two for each connection. Close ends them all.
type stream struct {
	m    *rendezvous
	in   *inbox
	out  *outqueue     // of connection 0, also after it was made again
	big  chan struct{} // semaphore for large frames, see readFrames
	stop chan struct{} // closed by Close
	full chan struct{} // closed by CloseWrite and Close: no new connections
	wait sync.WaitGroup

	part []byte // of Write: an incomplete record

	mu       sync.Mutex
	closed   bool
	ending   bool          // CloseWrite was called
	main     *net.UnixConn // connection 0; nil while the host is not connected
	accepted map[uint32]*acceptedConn
	last     uint32 // number of the last accepted connection
}

var _ codec.Stream = (*stream)(nil)

// acceptedConn is a connection of the host to our socket.
type acceptedConn struct {
	c *net.UnixConn
	q *outqueue
}

func newStream(m *rendezvous, d dialed) *stream {
	s := &stream{
		m: m, in: newInbox(), out: newOutqueue(), main: d.c,
		big: make(chan struct{}, 1), stop: make(chan struct{}), full: make(chan struct{}),
		accepted: make(map[uint32]*acceptedConn),
	}
	s.wait.Go(func() { s.maintain(d) })
	s.wait.Go(s.accept)
	return s
}

// Read implements [codec.Stream]: it returns labelled frames.
func (s *stream) Read(p []byte) (int, error) { return s.in.read(p) }

// TryWrite implements [codec.Stream]. It writes nothing.
func (s *stream) TryWrite([]byte) (int, error) { return 0, nil }

// Write puts each labelled frame into the queue of its connection. It waits while the
// queue of connection 0 is full. Frames for a connection of the host that has ended are
// dropped. If the queue of a connection of the host is full, that connection is closed:
// the host makes requests and does not read the responses.
func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	rest := p
	if len(s.part) > 0 {
		rest = append(s.part, p...)
	}
	whole := rest
	defer signal(s.out.wake)
	for len(rest) >= wire.LabelSize+wire.Header {
		l, size := wire.ReadLabel(rest), binary.BigEndian.Uint32(rest[wire.LabelSize:])
		if l.What != wire.Frame || size == 0 || size > MaxFrame {
			return 0, fmt.Errorf("label %q with a frame of %d bytes", l.What, size)
		}
		end := wire.LabelSize + wire.Header + int(size)
		if len(rest) < end {
			break
		}
		if err := s.send(l, rest[wire.LabelSize:end]); err != nil {
			return 0, err
		}
		rest = rest[end:]
	}
	switch {
	case len(rest) == 0:
		s.part = nil
	case len(s.part) > 0 && len(rest) == len(whole):
		s.part = rest // reuse our own memory
	default:
		s.part = append([]byte(nil), rest...)
	}
	return n, nil
}

// send puts a frame into the queue of its connection.
func (s *stream) send(l wire.Label, frame []byte) error {
	if l.Conn == 0 {
		for {
			err := s.out.put(frame, l.Number)
			if !errors.Is(err, errNoRoom) {
				return err
			}
			signal(s.out.wake)
			select {
			case <-s.out.space:
			case <-s.stop:
				return net.ErrClosed
			}
		}
	}
	s.mu.Lock()
	g := s.accepted[l.Conn]
	s.mu.Unlock()
	if g == nil {
		return nil
	}
	if err := g.q.put(frame, 0); errors.Is(err, errNoRoom) {
		g.c.Close()
	}
	signal(g.q.wake)
	return nil
}

// CloseWrite closes our half of every connection after the queued frames were written.
// No connection is accepted or made again: the stream ends with the connection to the
// host.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending || s.closed {
		return nil
	}
	s.ending = true
	close(s.full)
	s.out.end()
	for _, g := range s.accepted {
		g.q.end()
	}
	return s.m.ln.Close()
}

// Close closes all connections and waits for the goroutines.
func (s *stream) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
		if !s.ending {
			close(s.full)
		}
		if s.main != nil {
			s.main.Close()
		}
		for _, g := range s.accepted {
			g.c.Close()
		}
		_ = s.m.ln.Close() // closed already by CloseWrite
		s.in.close()
		s.out.fail(net.ErrClosed)
	}
	s.mu.Unlock()
	s.wait.Wait()
	return nil
}

// settleTime is how long a new connection must last before it counts. The sockets of a
// killed host are closed one by one, so that one that still accepts does not prove that
// the host lives.
const settleTime = 250 * time.Millisecond

// maintain serves the connection to the host. While the host lives, it connects again
// when the connection ends. If that is not possible, it ends the stream.
func (s *stream) maintain(d dialed) {
	var lost uint64 // number of the last frame written to a connection that has ended
	again := false
	for {
		written, lasted, err := s.exchange(d.c, again, lost)
		if err != nil {
			s.finish(err)
			return
		}
		again, lost = true, max(lost, written)
		tried := d.attempt
		if lasted {
			tried = 0
		}
		d, err = s.m.dial(context.Background(), s.full, d.pid, tried)
		switch {
		case errors.Is(err, net.ErrClosed), errors.Is(err, errHostGone):
			s.finish(io.EOF)
			return
		case err != nil:
			s.finish(fmt.Errorf("the connection to the host has ended and cannot be made again: %w", err))
			return
		}
		if !s.replace(d.c) {
			d.c.Close()
			s.finish(io.EOF)
			return
		}
	}
}

// replace sets a new connection to the host. It returns false if the stream ends.
func (s *stream) replace(c *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ending {
		return false
	}
	s.main = c
	return true
}

// exchange reads and writes on connection 0 until it has ended. If it was made again, it
// reports the frames that were lost with the previous connections once it has lasted for
// settleTime. After an error the connection must not be made again.
func (s *stream) exchange(c *net.UnixConn, again bool, lost uint64) (written uint64, lasted bool, err error) {
	done := make(chan struct{})
	var parts sync.WaitGroup
	parts.Go(func() { written = writeFrames(c, s.out, done) })
	lasted = !again
	if again {
		parts.Go(func() {
			select {
			case <-time.After(settleTime):
				lasted = true
				s.in.addEnd(0, lost)
			case <-done:
			}
		})
	}
	err = readFrames(c, 0, s.in, nil, s.stop)
	if errors.Is(err, errNoFrame) {
		// The reader of the inbox reports the malformed frame and closes the stream.
		<-s.stop
	}
	s.mu.Lock()
	s.main = nil
	ending := s.ending
	s.mu.Unlock()
	close(done)
	c.Close()
	parts.Wait()
	switch {
	case errors.Is(err, errNoFrame), errors.Is(err, net.ErrClosed):
		return written, lasted, net.ErrClosed
	case ending:
		return written, lasted, io.EOF
	case !isEnd(err):
		return written, lasted, err
	}
	return written, lasted, nil
}

// finish ends the stream with err.
func (s *stream) finish(err error) {
	s.out.fail(net.ErrClosed)
	s.in.finish(err)
}

// accept accepts the host's connections.
func (s *stream) accept() {
	for {
		c, err := s.m.ln.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // most often temporary: no descriptors are free
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-s.stop:
				return
			}
		}
		if _, err := checkPeer(c); err != nil || !s.add(c) {
			c.Close()
		}
	}
}

// add gives a connection of the host a number and serves it. It returns false if the
// connection is refused.
func (s *stream) add(c *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ending || len(s.accepted) >= MaxConnections || s.last+1 == 0 {
		return false
	}
	s.last++
	n, g := s.last, &acceptedConn{c, newOutqueue()}
	s.accepted[n] = g
	s.wait.Go(func() { s.serve(n, g) })
	return true
}

// serve reads and writes on a connection of the host until it has ended.
func (s *stream) serve(n uint32, g *acceptedConn) {
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { writeFrames(g.c, g.q, done) })
	if err := readFrames(g.c, n, s.in, s.big, s.stop); errors.Is(err, errNoFrame) {
		<-s.stop
	}
	close(done)
	g.c.Close()
	g.q.fail(net.ErrClosed)
	writer.Wait()
	// The connection counts until its end is in the inbox, which bounds the number of
	// queued ends.
	s.in.addEnd(n, 0)
	s.mu.Lock()
	delete(s.accepted, n)
	s.mu.Unlock()
}

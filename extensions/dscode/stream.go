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

// stream carries the frames of all sockets of one life; see wire.LabelSize for its
// bytes. Its goroutines: one that keeps the connection to the host, one that
// lets the host's in, and two for each connection. Close ends them all.
type stream struct {
	m    *meeting
	in   *inbox
	out  *outqueue     // of connection 0, in every generation
	big  chan struct{} // capacity 1: held while a large frame is gathered
	stop chan struct{} // closed by Close
	full chan struct{} // closed by CloseWrite and Close: no new connections
	wait sync.WaitGroup

	part []byte // of Write: the beginning of a record

	mu     sync.Mutex
	closed bool
	ending bool          // our half is closed
	main   *net.UnixConn // connection 0; nil between two generations
	guests map[uint32]*guest
	last   uint32 // number of the last guest
}

var _ codec.Stream = (*stream)(nil)

// guest is a connection of the host to our socket.
type guest struct {
	c *net.UnixConn
	q *outqueue
}

func newStream(m *meeting, d dialed) *stream {
	s := &stream{
		m: m, in: newInbox(), out: newOutqueue(), main: d.c,
		big: make(chan struct{}, 1), stop: make(chan struct{}), full: make(chan struct{}),
		guests: make(map[uint32]*guest),
	}
	s.wait.Go(func() { s.keep(d) })
	s.wait.Go(s.accept)
	return s
}

// Read returns labelled frames.
func (s *stream) Read(p []byte) (int, error) { return s.in.read(p) }

// TryWrite leaves everything to Write.
func (s *stream) TryWrite([]byte) (int, error) { return 0, nil }

// Write takes labelled frames and hands each to its connection. It waits while
// too much waits for the connection that we opened. A frame for a connection of
// the host that has ended is dropped, and one that finds too much waiting ends
// its connection: that host asks and does not read.
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
		s.part = rest // memory of our own that grows
	default:
		s.part = append([]byte(nil), rest...)
	}
	return n, nil
}

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
	g := s.guests[l.Conn]
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

// CloseWrite lets what was written go out and then ends our half of every
// connection. Nobody is let in any more and nothing is connected again: the
// stream ends with the connection to the host.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending || s.closed {
		return nil
	}
	s.ending = true
	close(s.full)
	s.out.end()
	for _, g := range s.guests {
		g.q.end()
	}
	return s.m.ln.Close()
}

// Close ends everything and waits for it.
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
		for _, g := range s.guests {
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

// settle is how long a connection that was made again has to last before it
// counts. A host that is killed loses its sockets one by one, and one that still
// listens is no sign of life.
const settle = 250 * time.Millisecond

// keep keeps the connection to the host: while the host lives, one that ends
// is made again. The stream ends when that is not possible.
func (s *stream) keep(d dialed) {
	var lost uint64 // number of the last frame written to a connection that has ended
	again := false
	for {
		written, lasted, err := s.converse(d.c, again, lost)
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
		case errors.Is(err, net.ErrClosed), errors.Is(err, errGone):
			s.finish(io.EOF)
			return
		case err != nil:
			s.finish(fmt.Errorf("the connection to the host has ended and cannot be made again: %w", err))
			return
		}
		if !s.again(d.c) {
			d.c.Close()
			s.finish(io.EOF)
			return
		}
	}
}

// again takes a new connection to the host.
func (s *stream) again(c *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ending {
		return false
	}
	s.main = c
	return true
}

// converse reads and writes on connection 0 until it has ended. One that was
// made again tells of the frames that were lost with the ones before, once it
// has lasted. err: it is not to be made again.
func (s *stream) converse(c *net.UnixConn, again bool, lost uint64) (written uint64, lasted bool, err error) {
	over := make(chan struct{})
	var parts sync.WaitGroup
	parts.Go(func() { written = writing(c, s.out, over) })
	lasted = !again
	if again {
		parts.Go(func() {
			select {
			case <-time.After(settle):
				lasted = true
				s.in.end(0, lost)
			case <-over:
			}
		})
	}
	err = reading(c, 0, s.in, nil, s.stop)
	if errors.Is(err, errNoFrame) {
		// What it said is in the inbox, and ends the stream there.
		<-s.stop
	}
	s.mu.Lock()
	s.main = nil
	ending := s.ending
	s.mu.Unlock()
	close(over)
	c.Close()
	parts.Wait()
	switch {
	case errors.Is(err, errNoFrame), errors.Is(err, net.ErrClosed):
		return written, lasted, net.ErrClosed
	case ending:
		return written, lasted, io.EOF
	case !ended(err):
		return written, lasted, err
	}
	return written, lasted, nil
}

// finish ends the stream.
func (s *stream) finish(err error) {
	s.out.fail(net.ErrClosed)
	s.in.finish(err)
}

// accept lets the host's connections in.
func (s *stream) accept() {
	for {
		c, err := s.m.ln.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most often: it may pass
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-s.stop:
				return
			}
		}
		if _, err := known(c); err != nil || !s.enter(c) {
			c.Close()
		}
	}
}

// enter gives a connection of the host its number.
func (s *stream) enter(c *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ending || len(s.guests) >= MaxConnections || s.last+1 == 0 {
		return false
	}
	s.last++
	n, g := s.last, &guest{c, newOutqueue()}
	s.guests[n] = g
	s.wait.Go(func() { s.serve(n, g) })
	return true
}

// serve reads and writes on a connection of the host until it has ended.
func (s *stream) serve(n uint32, g *guest) {
	over := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { writing(g.c, g.q, over) })
	if err := reading(g.c, n, s.in, s.big, s.stop); errors.Is(err, errNoFrame) {
		<-s.stop
	}
	close(over)
	g.c.Close()
	g.q.fail(net.ErrClosed)
	writer.Wait()
	// It counts until its end is told, so that not more ends than connections
	// wait.
	s.in.end(n, 0)
	s.mu.Lock()
	delete(s.guests, n)
	s.mu.Unlock()
}

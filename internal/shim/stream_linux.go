//go:build !hostsup_posix

package shim

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/hostsup/hostsup/internal/sys"
)

// Stream is what a command writes to its standard output or error output.
type Stream struct {
	conn   *Conn
	number byte
	from   uint64 // of the first byte
	window uint64 // bytes that the shim holds in any case

	// Guarded by conn.mu.
	buf    []byte // what was received and not read: bytes from read on
	read   uint64
	acked  uint64
	end    uint64
	room   uint64 // bytes that the shim holds at least
	closed bool   // end is the end
}

// From returns the offset of the first byte that Read returns: the first one that no
// client before has acknowledged.
func (s *Stream) From() uint64 { return s.from }

// Read returns the next bytes. It waits until there are some, and returns io.EOF after the
// last one. The error wraps [ErrTooLong] if Options.Most bytes were read and not
// acknowledged, and [ErrLost] after the last byte that has come.
func (s *Stream) Read(p []byte) (int, error) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(s.buf) == 0 && !s.closed && s.ended() == nil {
		if s.end-s.acked < s.room {
			c.changed.Wait()
			continue
		}
		// The shim reads no further, and what there is is no whole message.
		if s.room >= c.state.Most {
			return 0, fmt.Errorf("%d bytes were not acknowledged, limit %d: %w", s.end-s.acked, c.state.Most, ErrTooLong)
		}
		s.room = min(2*s.room, c.state.Most)
		room := s.room
		c.mu.Unlock()
		err := c.order(sys.RelayRoom, s.number, room, nil)
		c.mu.Lock()
		if err != nil {
			return 0, err
		}
	}
	switch {
	case c.hungUp && s.number == 0:
		return 0, os.ErrClosed
	case len(p) == 0:
		return 0, nil
	case len(s.buf) > 0:
	case s.closed:
		return 0, io.EOF
	default:
		return 0, c.err
	}
	n := copy(p, s.buf)
	s.read += uint64(n)
	if s.buf = s.buf[n:]; len(s.buf) == 0 {
		s.buf = nil
	}
	return n, nil
}

// ended returns why Read need not wait any longer. The caller must hold conn.mu.
func (s *Stream) ended() error {
	if s.number == 0 {
		return s.conn.ended()
	}
	return s.conn.err
}

// Ack tells the shim that the bytes before offset are not needed any more, by this client or
// the next one. Offsets beyond what was read count as that, and earlier ones than those
// acknowledged have no effect.
func (s *Stream) Ack(offset uint64) error {
	c := s.conn
	c.writing.Lock() // acknowledgements leave in their order
	c.mu.Lock()
	offset = min(offset, s.read)
	if offset <= s.acked {
		c.mu.Unlock()
		c.writing.Unlock()
		return nil
	}
	s.acked = offset
	s.room = s.window // the shim may go back to it
	c.changed.Broadcast()
	c.mu.Unlock()
	defer c.writing.Unlock()
	return c.write(sys.RelayAck, s.number, offset, nil)
}

// loop reads from the shim until the connection ends.
func (c *Conn) loop() {
	err := c.receive()
	c.mu.Lock()
	c.err = fmt.Errorf("%w: %w", ErrLost, err)
	c.changed.Broadcast()
	c.mu.Unlock()
	close(c.done)
}

func (c *Conn) receive() error {
	head := make([]byte, sys.RelayReportSize)
	for {
		if _, err := io.ReadFull(c.in, head); err != nil {
			return err
		}
		le := binary.LittleEndian
		kind, stream, n, offset, taken := head[0], head[1], le.Uint32(head[4:]), le.Uint64(head[8:]), le.Uint64(head[16:])
		if stream > 1 || uint64(n) > c.state.Most {
			return fmt.Errorf("an invalid message %q of stream %d with %d bytes", kind, stream, n)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(c.in, body); err != nil {
			return err
		}
		if err := c.take(kind, c.out[stream], offset, taken, body); err != nil {
			return err
		}
	}
}

// take handles a message.
func (c *Conn) take(kind byte, s *Stream, offset, taken uint64, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = taken
	switch kind {
	case sys.RelayData:
		if offset != s.end {
			return fmt.Errorf("bytes of stream %d from %d on, expected %d", s.number, offset, s.end)
		}
		s.buf = append(s.buf, body...)
		s.end += uint64(len(body))
	case sys.RelayEOF:
		s.closed = true
	case sys.RelayExit:
		if len(body) != len(sys.ExitRecord{}) {
			return fmt.Errorf("an exit of %d bytes", len(body))
		}
		record := sys.ExitRecord(body)
		_, _, c.exit = record.Exit()
		close(c.exited)
	case sys.RelayGone:
		close(c.gone)
	case sys.RelayTaken:
		c.asked = false
	default:
		return fmt.Errorf("an unknown message %q", kind)
	}
	c.changed.Broadcast()
	return nil
}

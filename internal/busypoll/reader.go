package busypoll

import (
	"io"
	"net"
	"syscall"
)

// Source is what a [Reader] reads from: a file or connection that the runtime's
// poller knows.
type Source interface {
	io.Reader
	syscall.Conn
}

// Reader busy-polls for a short time before it blocks, as [State.Read] does. A
// Reader must be used by one goroutine at a time. Closing the source ends Read, and
// the source's deadlines hold.
type Reader struct {
	src   Source
	raw   syscall.RawConn // nil: never polls
	state State
}

// NewReader returns a reader of src.
func NewReader(src Source) *Reader {
	raw, err := src.SyscallConn()
	if err != nil {
		raw = nil // src is closed: Read returns its error
	}
	return &Reader{src: src, raw: raw}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.raw == nil || len(p) == 0 || !canPoll {
		return r.src.Read(p)
	}
	return r.state.Read(
		func() (n int, ok bool) {
			err := r.raw.Read(func(fd uintptr) bool {
				n = readNow(fd, p)
				return true
			})
			return n, err == nil && n > 0
		},
		func() (int, error) { return r.src.Read(p) })
}

type conn struct {
	net.Conn
	r *Reader
}

func (c *conn) Read(p []byte) (int, error) { return c.r.Read(p) }

// Conn returns c with its Read done by a [Reader], or c itself where the runtime's
// poller does not know the connection.
func Conn(c net.Conn) net.Conn {
	src, ok := c.(Source)
	if !ok {
		return c
	}
	return &conn{c, NewReader(src)}
}

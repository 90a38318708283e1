package native

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/blocks"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

// reader takes frames off a stream.
type reader struct {
	in   blocks.Reader
	s    *Session
	c    mpack.Cursor
	err  error // what ended the reader
	caps codec.Caps
	open bool // the handshake's message that fixes caps was seen

	names *envelope.Names
}

func newReader(s *Session, src io.Reader) *reader {
	caps := s.Caps() // 0, unless the handshake was made before
	return &reader{in: blocks.New(src), s: s, c: mpack.NewCursor(nil, s.lim), caps: caps, open: caps != 0}
}

// Next fills m with the next message.
func (r *reader) Next(m *codec.Message) error {
	if r.err != nil {
		return r.err
	}
	body, err := r.frame()
	if err == nil {
		err = r.message(body, m)
	}
	r.err = err
	return err
}

// Buffered says whether Next can return without waiting for the stream.
func (r *reader) Buffered() bool {
	if r.err != nil {
		return true
	}
	rest := r.in.Rest()
	if len(rest) < header {
		return false
	}
	n := binary.BigEndian.Uint32(rest)
	return n == 0 || uint64(n) > uint64(r.s.lim.Frame) || uint64(len(rest)-header) >= uint64(n)
}

// frame returns the body of the next frame.
func (r *reader) frame() ([]byte, error) {
	for {
		rest := r.in.Rest()
		missing := header - len(rest)
		if missing <= 0 {
			n := binary.BigEndian.Uint32(rest)
			if n == 0 || uint64(n) > uint64(r.s.lim.Frame) {
				return nil, r.refused(n, rest)
			}
			size := header + int(n)
			if size <= len(rest) {
				return r.in.Take(size)[header:], nil
			}
			missing = size - len(rest)
		}
		if err := r.in.More(missing); err != nil {
			return nil, ended(err, r.in.Rest())
		}
	}
}

// refused returns the error of a frame that begins with b.
func (r *reader) refused(n uint32, b []byte) error {
	if n == 0 {
		return codec.Faultf(codec.ErrEmpty, -1, b, "length 0")
	}
	return codec.Faultf(codec.ErrTooLarge, -1, b, "%d bytes, limit %d%s", n, r.s.lim.Frame, envelope.Noise(b))
}

// ended turns the end of the stream into what it means behind rest.
func ended(err error, rest []byte) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case len(rest) == 0:
		return io.EOF
	case len(rest) < header:
		return codec.Faultf(codec.ErrTruncated, -1, rest, "the stream ended after %d of the 4 bytes of a frame's length%s", len(rest), envelope.Noise(rest))
	}
	n := binary.BigEndian.Uint32(rest)
	return codec.Faultf(codec.ErrTruncated, -1, rest, "the stream ended after %d of a frame's %d bytes", len(rest)-header, n)
}

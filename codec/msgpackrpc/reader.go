package msgpackrpc

import (
	"errors"
	"io"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/blocks"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

// reader takes messages off a stream.
type reader struct {
	in    blocks.Reader
	s     *Session
	scan  mpack.Scanner // over the message that the rest begins with
	c     mpack.Cursor
	err   error // what ended the reader
	names *envelope.Names
}

func newReader(s *Session, src io.Reader) *reader {
	r := &reader{in: blocks.New(src), s: s, scan: mpack.NewScanner(s.lim), c: mpack.NewCursor(nil, s.lim)}
	r.in.Vague = true
	return r
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
	n, err := r.look(r.in.Rest())
	return n > 0 || err != nil
}

// look returns the size of the message that b begins with, or 0 when it is not
// all there.
func (r *reader) look(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if !isArray(b[0]) {
		return 0, codec.Faultf(codec.ErrShape, 0, b, "an array expected, the byte %#02x found%s", b[0], envelope.Noise(b))
	}
	return r.scan.Scan(b)
}

// frame returns the bytes of the next message.
func (r *reader) frame() ([]byte, error) {
	for {
		have := r.in.Rest()
		n, err := r.look(have)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			r.scan.Reset()
			body := r.in.Take(n)
			r.in.Settle()
			return body, nil
		}
		missing := 1
		if len(have) > 0 {
			missing = r.scan.Need()
		}
		if err := r.in.More(missing); err != nil {
			return nil, ended(err, r.in.Rest())
		}
	}
}

// ended turns the end of the stream into what it means behind rest.
func ended(err error, rest []byte) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case len(rest) == 0:
		return io.EOF
	}
	return codec.Faultf(codec.ErrTruncated, -1, rest, "the stream ended within a message, after %d bytes of it", len(rest))
}

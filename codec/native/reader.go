package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

const (
	minBlock = 4 << 10  // a connection that says little
	maxBlock = 64 << 10 // a connection that says much
	minRead  = 512      // with less room than this a new block is taken
	maxEmpty = 100      // reads in a row that return nothing
)

// reader takes frames off a stream. It reads into blocks; a frame is a part
// of its block, and a block of which something was handed out is never
// written again where that lies. A frame larger than a block gets memory of
// its own, which grows only as its bytes arrive.
type reader struct {
	src  io.Reader
	s    *Session
	c    mpack.Cursor
	err  error // what ended the reader
	caps codec.Caps
	open bool // the handshake's message that fixes caps was seen

	block      []byte
	from, to   int  // the bytes of block that were read and not yet taken
	lent       bool // something in front of from belongs to a receiver
	size       int  // of the next block
	full, idle bool // how the reads into this block went

	names *names
}

func newReader(s *Session, src io.Reader) *reader {
	return &reader{src: src, s: s, c: mpack.NewCursor(nil, s.lim), size: minBlock}
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
	have := r.to - r.from
	if have < header {
		return false
	}
	n := binary.BigEndian.Uint32(r.block[r.from:])
	return n == 0 || uint64(n) > uint64(r.s.lim.Frame) || uint64(have-header) >= uint64(n)
}

// frame returns the body of the next frame.
func (r *reader) frame() ([]byte, error) {
	for {
		if have := r.to - r.from; have >= header {
			rest := r.block[r.from:r.to]
			length := binary.BigEndian.Uint32(rest)
			if length == 0 {
				return nil, &codec.FrameError{Err: codec.ErrEmpty, Offset: -1, Detail: "length 0", Bytes: mpack.Evidence(rest)}
			}
			if uint64(length) > uint64(r.s.lim.Frame) {
				return nil, &codec.FrameError{
					Err: codec.ErrTooLarge, Offset: -1, Bytes: mpack.Evidence(rest),
					Detail: fmt.Sprintf("%d bytes, limit %d%s", length, r.s.lim.Frame, noise(rest)),
				}
			}
			n := int(length)
			if have-header >= n {
				from := r.from + header
				r.from = from + n
				return r.block[from:r.from:r.from], nil
			}
			if header+n > len(r.block) {
				return r.large(n)
			}
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once into the block, or into a new one when there is no room.
func (r *reader) fill() error {
	if r.from == r.to && !r.lent {
		r.from, r.to = 0, 0
	}
	need := minRead
	if r.to-r.from >= header {
		need = header + int(binary.BigEndian.Uint32(r.block[r.from:])) - (r.to - r.from)
	}
	if free := len(r.block) - r.to; free < need || free < minRead {
		r.turn()
	}
	room := r.block[r.to:]
	n, err := r.read(room)
	r.to += n
	switch {
	case n == len(room) && n >= len(r.block)/2:
		r.full = true
	case n > len(r.block)/8:
		r.idle = false
	}
	if err != nil {
		return r.end(err, r.block[r.from:r.to])
	}
	return nil
}

// turn makes room: in this block when nothing of it was handed out, else in
// a new one, sized by how the last one filled.
func (r *reader) turn() {
	rest := r.block[r.from:r.to]
	switch {
	case r.full:
		r.size = min(2*r.size, maxBlock)
	case r.idle:
		r.size = max(r.size/2, minBlock)
	}
	block := r.block
	if r.lent || len(block) < r.size {
		// A frame that is larger than the new block is taken over by large.
		block = make([]byte, max(r.size, len(rest)+minRead))
	}
	r.to = copy(block, rest)
	r.from, r.block = 0, block
	r.lent, r.full, r.idle = false, false, true
}

// large reads the rest of a frame of n bytes into memory of its own, at most
// four times as much as has arrived.
func (r *reader) large(n int) ([]byte, error) {
	rest := r.block[r.from+header : r.to]
	body := make([]byte, len(rest), min(n, max(4*len(rest), minBlock)))
	copy(body, rest)
	r.from, r.to = 0, 0
	if r.lent {
		r.block, r.lent = nil, false
	}
	r.full = true
	for len(body) < n {
		if len(body) == cap(body) {
			grown := make([]byte, len(body), min(n, 4*cap(body)))
			copy(grown, body)
			body = grown
		}
		got, err := r.read(body[len(body):cap(body)])
		body = body[:len(body)+got]
		if err != nil && len(body) < n {
			if errors.Is(err, io.EOF) {
				err = truncated(fmt.Sprintf("the stream ended after %d of a frame's %d bytes", len(body), n), body)
			}
			return nil, err
		}
	}
	return body, nil
}

// read reads at least one byte, or returns why not.
func (r *reader) read(p []byte) (int, error) {
	for range maxEmpty {
		n, err := r.src.Read(p)
		if n > 0 {
			// An error beside bytes comes again with the next read.
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// end turns the end of the stream into what it means here.
func (r *reader) end(err error, rest []byte) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case len(rest) == 0:
		return io.EOF
	case len(rest) < header:
		return truncated(fmt.Sprintf("the stream ended after %d of the 4 bytes of a frame's length%s", len(rest), noise(rest)), rest)
	}
	n := binary.BigEndian.Uint32(rest)
	return truncated(fmt.Sprintf("the stream ended after %d of a frame's %d bytes", len(rest)-header, n), rest)
}

func truncated(detail string, rest []byte) error {
	return &codec.FrameError{Err: codec.ErrTruncated, Offset: -1, Detail: detail, Bytes: mpack.Evidence(rest)}
}

// noise shows bytes that are text: most often something other than the
// protocol was printed to the stream.
func noise(b []byte) string {
	b = b[:min(len(b), 64)]
	for len(b) > 0 { // do not let a rune cut in two look like binary
		if r, size := utf8.DecodeLastRune(b); r != utf8.RuneError || size > 1 {
			break
		}
		b = b[:len(b)-1]
	}
	for _, r := range string(b) {
		if r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r) && r != 0x1b {
			return ""
		}
	}
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("; these bytes are text: %q", b)
}

package msgpackrpc

import (
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

// reader takes messages off a stream. It reads into blocks; a message is a part
// of its block, and a block of which something was handed out is never written
// again where that lies. A message larger than a block gets memory of its own,
// which grows only as its bytes arrive.
type reader struct {
	src  io.Reader
	s    *Session
	scan mpack.Scanner // over the message that begins at from
	c    mpack.Cursor
	err  error // what ended the reader

	block      []byte
	from, to   int  // the bytes of block that were read and not yet taken
	lent       bool // something in front of from belongs to a receiver
	size       int  // of the next block
	full, idle bool // how the reads into this block went
}

func newReader(s *Session, src io.Reader) *reader {
	return &reader{src: src, s: s, scan: mpack.NewScanner(s.lim), c: mpack.NewCursor(nil, s.lim), size: minBlock}
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
	n, err := r.look(r.block[r.from:r.to])
	return n > 0 || err != nil
}

// look returns the size of the message that b begins with, or 0 when it is not
// all there.
func (r *reader) look(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if !isArray(b[0]) {
		return 0, &codec.FrameError{
			Err: codec.ErrShape, Offset: 0, Bytes: mpack.Evidence(b),
			Detail: fmt.Sprintf("an array expected, the byte %#02x found%s", b[0], noise(b)),
		}
	}
	return r.scan.Scan(b)
}

// frame returns the bytes of the next message.
func (r *reader) frame() ([]byte, error) {
	for {
		have := r.block[r.from:r.to]
		n, err := r.look(have)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			r.scan.Reset()
			r.from += n
			return have[:n:n], nil
		}
		if len(have) > 0 && len(have)+r.scan.Need() > max(len(r.block), minBlock) {
			return r.large()
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
	if r.from < r.to {
		need = r.scan.Need()
	}
	// A message that begins its block has all the room that it can have there.
	if free := len(r.block) - r.to; free < need || free < minRead && r.from > 0 {
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
		return ended(err, r.block[r.from:r.to])
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
	if want := max(r.size, len(rest)+minRead); r.lent || len(block) < want {
		block = make([]byte, want)
	}
	r.to = copy(block, rest)
	r.from, r.block = 0, block
	r.lent, r.full, r.idle = false, false, true
}

// large reads the rest of a message into memory of its own. Each time that
// grows it does by half at least, so that what has come is not copied again and
// again, and to four times as much at most, whatever the message claims.
func (r *reader) large() ([]byte, error) {
	body := grown(r.block[r.from:r.to], r.scan.Need())
	r.from, r.to = 0, 0
	if r.lent {
		r.block, r.lent = nil, false
	}
	r.full = true
	for {
		if len(body) == cap(body) {
			body = grown(body, r.scan.Need())
		}
		// Little more is read than the message has, where that is known.
		room := min(cap(body)-len(body), max(r.scan.Need(), maxBlock))
		got, err := r.read(body[len(body) : len(body)+room])
		body = body[:len(body)+got]
		if err != nil {
			return nil, ended(err, body)
		}
		n, err := r.look(body)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			r.scan.Reset()
			if rest := body[n:]; len(rest) > 0 {
				r.block = make([]byte, max(r.size, len(rest)+minRead))
				r.to = copy(r.block, rest)
			}
			return body[:n:n], nil
		}
	}
}

// grown copies b to where need more bytes have room, within bounds.
func grown(b []byte, need int) []byte {
	more := max(min(need, 3*len(b)), len(b)/2, minBlock)
	out := make([]byte, len(b), len(b)+more)
	copy(out, b)
	return out
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

// ended turns the end of the stream into what it means behind rest.
func ended(err error, rest []byte) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case len(rest) == 0:
		return io.EOF
	}
	return &codec.FrameError{
		Err: codec.ErrTruncated, Offset: -1, Bytes: mpack.Evidence(rest),
		Detail: fmt.Sprintf("the stream ended within a message, after %d bytes of it", len(rest)),
	}
}

// noise shows bytes that are text: most often something other than the
// protocol was printed to the stream.
func noise(b []byte) string {
	b = mpack.Evidence(b)
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

package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

const (
	minBlock = 4 << 10
	maxBlock = 64 << 10 // what is longer gets memory of its own
	maxEmpty = 100      // reads in a row that return nothing
)

// reader is what the two framings share: a block that bytes are read into, and
// the frame that messages are taken from. Payloads are copied out of the block
// once; those of a frame with memory of its own are parts of it.
type reader struct {
	src io.Reader
	s   *Session
	err error // what ended the reader

	block    []byte
	from, to int // the bytes of block that were read and not yet taken

	body    scanner // the frame that is taken apart
	open    bool    // it has a message to come
	batch   bool    // it is an array of messages
	owned   bool    // it has memory of its own
	ended   bool    // the stream ended with it, before its line did
	counted int     // bytes of it that were told in a Size
	frame   int     // bytes of the framing not told yet
	tail    int     // of these, behind the frame
}

func newReader(s *Session, src io.Reader) reader {
	return reader{src: src, s: s, block: make([]byte, minBlock)}
}

// next takes messages out of what frame returns.
func (r *reader) next(m *codec.Message, frame func() error) error {
	for r.err == nil {
		if !r.open {
			if r.err = frame(); r.err != nil {
				break
			}
		}
		skip, err := r.message(m)
		if err != nil {
			r.err = err
		} else if !skip {
			return nil
		}
	}
	return r.err
}

// begin makes body the frame that messages are taken from. head and tail are
// the bytes of the framing before and behind it.
func (r *reader) begin(body []byte, owned bool, head, tail int) error {
	r.body = newScanner(body, r.s.lim)
	r.open, r.batch, r.owned, r.counted, r.frame, r.tail = true, false, owned, 0, head, tail
	r.body.Space()
	if r.body.At() != '[' {
		return nil
	}
	r.batch = true
	r.body.Pos++
	r.body.Space()
	if r.body.At() == ']' {
		return r.body.shape(0, "a batch of no messages")
	}
	return nil
}

// message takes the next message out of the frame.
func (r *reader) message(m *codec.Message) (skip bool, err error) {
	s, base := &r.body, 0
	if r.batch {
		if base = 1; s.Left == 0 {
			return false, s.err(jsonwalk.TooMany)
		}
		s.Left--
	}
	e, err := readEnvelope(s, base)
	if err == nil {
		err = r.separator()
	}
	if err != nil {
		return false, r.cut(err)
	}
	if r.s.lines && !r.batch && e.empty() {
		return true, r.object()
	}
	if skip, err = r.s.message(&e, m, r.own); err != nil || skip {
		return skip, err
	}
	m.Size, r.frame = r.frame+s.Pos-r.counted, 0
	r.counted = s.Pos
	if !r.open {
		m.Size += r.tail
	}
	return false, nil
}

// separator moves behind what follows a message in its frame.
func (r *reader) separator() error {
	s := &r.body
	if r.batch {
		s.Space()
		switch c := s.At(); {
		case s.Pos >= len(s.B):
			return s.err(jsonwalk.Truncated)
		case c == ',':
			s.Pos++
			s.Space()
			return nil
		case c != ']':
			return s.err(jsonwalk.BadByte)
		}
		s.Pos++
	}
	r.open = false
	return s.end()
}

// own makes a payload the receiver's.
func (r *reader) own(payload []byte) codec.Raw {
	if r.owned && len(payload) >= len(r.body.B)/2 {
		return payload
	}
	return bytes.Clone(payload)
}

// object is a line that is JSON and no message, such as those of loggers.
func (r *reader) object() error {
	if r.s.opt.FailOnNoise {
		return noise(r.body.B)
	}
	r.s.hear(r.body.B)
	return nil
}

// cut words the end of the bytes for a frame that the stream's end cut short.
func (r *reader) cut(err error) error {
	var frame *codec.FrameError
	if r.ended && errors.As(err, &frame) && errors.Is(err, codec.ErrTruncated) {
		frame.Detail = fmt.Sprintf("the stream ended within a message, after %d bytes of it", len(r.body.B))
	}
	return err
}

// hear hands over noise in pieces.
func (s *Session) hear(line []byte) {
	if s.noise == nil {
		return
	}
	for len(line) > maxBlock {
		s.noise(line[:maxBlock:maxBlock])
		line = line[maxBlock:]
	}
	s.noise(line)
}

func noise(line []byte) error {
	return &codec.FrameError{
		Err: codec.ErrShape, Offset: -1, Bytes: evidence(line),
		Detail: "a line that is no message: " + quote(line, 64),
	}
}

// fill reads once into the block, which grows up to maxBlock when it is full;
// there has to be room.
func (r *reader) fill() error {
	if r.from == r.to {
		r.from, r.to = 0, 0
	}
	if r.to == len(r.block) {
		block := r.block
		if r.from < len(block)/2 && len(block) < maxBlock {
			block = make([]byte, min(4*len(block), maxBlock))
		}
		r.to = copy(block, r.block[r.from:r.to])
		r.from, r.block = 0, block
	}
	n, err := r.read(r.block[r.to:])
	r.to += n
	return err
}

// read reads at least one byte, or returns why not.
func (r *reader) read(p []byte) (int, error) {
	for range maxEmpty {
		n, err := r.src.Read(p)
		if n > 0 {
			return n, nil // an error beside bytes comes again
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// grown returns b with room for more: at most as much again as it holds, and
// at most limit in all.
func grown(b []byte, limit int) []byte {
	if len(b) < cap(b) {
		return b
	}
	more := make([]byte, len(b), min(max(2*cap(b), maxBlock), limit))
	copy(more, b)
	return more
}

func cutShort(detail string, seen []byte) error {
	return &codec.FrameError{Err: codec.ErrTruncated, Offset: -1, Detail: detail, Bytes: evidence(seen), InMessage: true}
}

package mpack

import (
	"errors"
	"io"
)

var errExtension = errors.New("an extension stands where another type was expected")

// source feeds checked bytes to the library.
//
// Where the library expects a map and finds an extension, it skips the
// extension's header and takes the payload for a map's header, whose count no
// check has seen. The guard refuses that: the payload of an extension is read
// as a block, never byte by byte as headers are.
type source struct {
	b     []byte
	pos   int
	guard bool

	next     int // first header not yet looked at by the guard
	from, to int // payload of the last extension before next
}

func (s *source) Read(p []byte) (int, error) {
	if s.pos >= len(s.b) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, s.b[s.pos:])
	s.pos += n
	return n, nil
}

func (s *source) ReadByte() (byte, error) {
	if s.pos >= len(s.b) {
		return 0, io.EOF
	}
	if s.guard {
		s.look()
		if s.pos >= s.from && s.pos < s.to {
			return 0, errExtension
		}
	}
	c := s.b[s.pos]
	s.pos++
	return c, nil
}

func (s *source) UnreadByte() error {
	if s.pos == 0 {
		return io.ErrNoProgress
	}
	s.pos--
	return nil
}

// look walks over headers, flat, until it has passed the byte to be read. The
// bytes are well-formed, which the caller has checked.
func (s *source) look() {
	for s.next <= s.pos {
		t := s.b[s.next]
		if n := int(whole[t]); n != 0 {
			s.next += n
			continue
		}
		n, head, container := sized(s.b[s.next:])
		if container {
			s.next += head
			continue
		}
		from := s.next + head
		s.next = from + int(n)
		if kinds[t] == kindExt {
			s.from, s.to = from, s.next
		}
	}
}

package mpack

import "github.com/hostsup/hostsup/codec"

// Scanner finds where a value ends whose bytes come piece by piece, for
// streams that have no lengths in front of their messages. It checks what
// [Check] checks, at each header and before the bytes that the header claims
// have come, and looks at no header twice. Its memory is bounded by the nesting
// allowed. Make one with [NewScanner]; it is not for concurrent use.
type Scanner struct {
	frame, depth, elements, str int // the limits
	sizes                       *[256]uint8

	at    int      // of the next header; may lie behind what has come
	left  int      // elements that may still come
	due   uint32   // values still due in the innermost container
	stack []uint32 // the same of those around it
	need  int
	err   *codec.FrameError
}

// NewScanner is ready for a first value. Limits that are zero get their
// defaults; [codec.Limits.Frame] is the size of the largest value.
func NewScanner(lim codec.Limits) Scanner {
	lim = lim.WithDefaults()
	s := Scanner{frame: lim.Frame, depth: min(lim.Depth, MaxDepth), elements: lim.Elements, str: lim.String, sizes: &whole}
	if s.str < 31 {
		s.sizes = &strict
	}
	s.Reset()
	return s
}

// Reset makes the scanner ready for the next value.
func (s *Scanner) Reset() {
	s.at, s.left, s.due, s.stack, s.need, s.err = 0, s.elements, 1, s.stack[:0], 1, nil
}

// Scan goes on with the value that begins with b: the bytes of the call before
// and those that have come since. It returns the length of the value once all
// of it is there, and again for each call until the next Reset, else 0. Bytes
// behind the value are not looked at.
//
// The error is a *[codec.FrameError], as of Check, or [codec.ErrTooLarge] as
// soon as the value is known to be over the limit; the scanner is finished then.
func (s *Scanner) Scan(b []byte) (size int, err error) {
	if s.err == nil {
		if f := s.scan(b); f != ok && f != truncated {
			c := Cursor{b: b, pos: s.at, fault: f, str: s.str, limitDepth: s.depth, limitElements: s.elements}
			s.err = c.Err("")
		} else if least := s.least(b); least > s.frame {
			s.err = codec.Faultf(codec.ErrTooLarge, -1, b, "a value of at least %d bytes, limit %d", least, s.frame)
		} else if f == ok && s.at <= len(b) {
			s.need = 0
			return s.at, nil
		} else {
			s.need = max(least-len(b), 1)
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	return 0, nil
}

// Need is how many more bytes have to come at least before the value can be
// whole. Valid after a Scan that returned 0.
func (s *Scanner) Need() int { return s.need }

// least is the fewest bytes that the value can take: up to the next header,
// a byte for each value due, and what that header still lacks.
func (s *Scanner) least(b []byte) int {
	n := s.at + int(s.due)
	for _, due := range s.stack {
		n += int(due)
	}
	if s.at < len(b) && s.due > 0 {
		if _, head, _ := sized(b[s.at:]); head > 1 {
			n += head - 1
		}
	}
	return n
}

// scan moves on as far as headers have come: truncated when one has not, ok
// when there is none left, though the last one's payload may not be all there.
func (s *Scanner) scan(b []byte) (f fault) {
	at, due, left := s.at, s.due, s.left
	for {
		if due == 0 {
			n := len(s.stack)
			if n == 0 {
				break
			}
			due = s.stack[n-1]
			s.stack = s.stack[:n-1]
			continue
		}
		if at >= len(b) {
			f = truncated
			break
		}
		t := b[at]
		if n := int(s.sizes[t]); n != 0 {
			at += n
			due--
			continue
		}
		n, head, container := sized(b[at:])
		values := uint64(n)
		if container && (t <= 0x8f || t >= 0xde) {
			values *= 2
		}
		switch {
		case head == 0:
			f = badByte
		case head > len(b)-at:
			f = truncated
		case !container && uint64(n) > uint64(s.str):
			f = tooLong
		case !container:
			at += head + int(n)
			due--
			continue
		case values > uint64(left):
			f = tooMany
		case len(s.stack) == s.depth:
			f = tooDeep
		default:
			left -= int(values)
			at += head
			s.stack = append(s.stack, due-1)
			due = uint32(values)
			continue
		}
		break
	}
	s.at, s.due, s.left = at, due, left
	return f
}

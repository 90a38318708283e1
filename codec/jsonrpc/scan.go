package jsonrpc

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
)

// MaxDepth is the deepest nesting that can be asked for: a larger
// [codec.Limits.Depth] is cut to it.
const MaxDepth = 1024

// Check validates b, which must be one JSON value of RFC 8259 with nothing but
// white space around it: one pass, without recursion, without setting memory
// aside. Limits that are zero get their defaults; a string's length is that of
// its bytes between the quotes, escapes as they are written, and
// [codec.Limits.Frame] is not looked at. The error is a *[codec.FrameError].
//
// Strings have to be UTF-8. Keys need not be distinct, and an escaped surrogate
// need not have a partner: both are left to whoever decodes.
func Check(b []byte, lim codec.Limits) error {
	s := newScanner(b, lim)
	s.space()
	if f := s.value(0); f != ok {
		return s.err(f)
	}
	return s.end()
}

// fault says what a scan ran into, at the scanner's position.
type fault uint8

const (
	ok fault = iota
	truncated
	tooDeep
	tooMany
	tooLong
	badByte    // starts no value, or has no place here
	badString  // a control character or an escape that is none
	badUTF8    // within a string
	badNumber  // a number that JSON does not write so
	badLiteral // neither true nor false nor null
	trailing
)

// scanner walks over JSON, each byte once.
type scanner struct {
	b      []byte
	pos    int
	left   int // elements that may still come
	depth  int // nesting allowed
	str    int // longest string
	max    int // elements allowed, for words
	blanks int // bytes of white space seen
	maps   int // objects seen
}

func newScanner(b []byte, lim codec.Limits) scanner {
	lim = lim.WithDefaults()
	return scanner{b: b, left: lim.Elements, max: lim.Elements, depth: min(lim.Depth, MaxDepth), str: lim.String}
}

// space moves over white space.
func (s *scanner) space() {
	from := s.pos
	for s.pos < len(s.b) {
		switch s.b[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
			continue
		}
		break
	}
	s.blanks += s.pos - from
}

// at is the byte at the position, 0 at the end.
func (s *scanner) at() byte {
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

// end returns an error for anything but white space up to the end.
func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.b) {
		return s.err(trailing)
	}
	return nil
}

// value moves over the value at the position, which stands within base arrays
// and objects.
func (s *scanner) value(base int) fault {
	// Bit n of the stack says whether the nth open container is an object.
	var stack [MaxDepth / 64]uint64
	depth := base
	for {
		if s.pos >= len(s.b) {
			return truncated
		}
		var f fault
		switch c := s.b[s.pos]; c {
		case '{', '[':
			if depth >= s.depth {
				return tooDeep
			}
			object := c == '{'
			if object {
				s.maps++
			}
			s.pos++
			s.space()
			if c+2 == s.at() { // '}' is '{'+2, ']' is '['+2
				s.pos++
				break
			}
			bit := uint64(1) << (depth & 63)
			if object {
				stack[depth>>6] |= bit
			} else {
				stack[depth>>6] &^= bit
			}
			depth++
			if f = s.element(object); f != ok {
				return f
			}
			continue
		case '"':
			f = s.text()
		case 't':
			f = s.literal("true")
		case 'f':
			f = s.literal("false")
		case 'n':
			f = s.literal("null")
		default:
			if c != '-' && (c < '0' || c > '9') {
				return badByte
			}
			f = s.number()
		}
		if f != ok {
			return f
		}
		// A value is complete; and with it, perhaps, what it stands in.
		for {
			if depth == base {
				return ok
			}
			s.space()
			if s.pos >= len(s.b) {
				return truncated
			}
			object := stack[(depth-1)>>6]>>((depth-1)&63)&1 == 1
			c := s.b[s.pos]
			if c == ',' {
				s.pos++
				s.space()
				if f := s.element(object); f != ok {
					return f
				}
				break
			}
			if object && c != '}' || !object && c != ']' {
				return badByte
			}
			s.pos++
			depth--
		}
	}
}

// element moves to where the next value of a container begins: over its key,
// when the container is an object.
func (s *scanner) element(object bool) fault {
	n := 1
	if object {
		n = 2
	}
	if s.left < n {
		return tooMany
	}
	s.left -= n
	if !object {
		return ok
	}
	if s.pos >= len(s.b) {
		return truncated
	}
	if s.b[s.pos] != '"' {
		return badByte
	}
	if f := s.text(); f != ok {
		return f
	}
	s.space()
	if s.pos >= len(s.b) {
		return truncated
	}
	if s.b[s.pos] != ':' {
		return badByte
	}
	s.pos++
	s.space()
	return ok
}

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// text moves over the string whose quote is at the position.
func (s *scanner) text() fault {
	b, i := s.b, s.pos+1
	first := i
	for {
		// Eight plain characters at once: none below 0x20, none above 0x7f,
		// no quote, no backslash. A false alarm above a real find is harmless.
		for i+8 <= len(b) {
			v := binary.LittleEndian.Uint64(b[i:])
			quote, slash := v^(ones*'"'), v^(ones*'\\')
			odd := (v | (v - ones*0x20) | (quote - ones) | (slash - ones)) & high
			if odd != 0 {
				i += bits.TrailingZeros64(odd) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			s.pos = i
			if i-first > s.str {
				s.pos = first - 1
				return tooLong
			}
			return truncated
		}
		switch c := b[i]; {
		case c == '"':
			if i-first > s.str {
				s.pos = first - 1
				return tooLong
			}
			s.pos = i + 1
			return ok
		case c == '\\':
			n, f := escape(b[i:])
			if f != ok {
				s.pos = i
				return f
			}
			i += n
		case c < 0x20:
			s.pos = i
			return badString
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				s.pos = i
				return badUTF8
			}
			i += n
		}
	}
}

// escape returns how long the escape at the front of b is.
func escape(b []byte) (int, fault) {
	if len(b) < 2 {
		return 0, truncated
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, ok
	case 'u':
		for i := 2; i < 6; i++ {
			if i >= len(b) {
				return 0, truncated
			}
			if c := b[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0, badString
			}
		}
		return 6, ok
	}
	return 0, badString
}

func (s *scanner) literal(word string) fault {
	rest := s.b[s.pos:]
	n := min(len(word), len(rest))
	if string(rest[:n]) != word[:n] {
		return badLiteral
	}
	if n < len(word) {
		return truncated
	}
	s.pos += n
	return ok
}

// number moves over a number. On a fault the position is the number's first byte.
func (s *scanner) number() fault {
	b, i := s.b, s.pos
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return badNumber
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return badNumber
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return badNumber
		}
	}
	s.pos = i
	return ok
}

// err words a fault at the position.
func (s *scanner) err(f fault) error {
	e := &codec.FrameError{Offset: s.pos, Bytes: evidence(s.b)}
	what := "the text ends"
	if s.pos < len(s.b) {
		what = quote(s.b[s.pos:], 24)
	}
	switch f {
	case truncated:
		e.Err, e.Detail = codec.ErrTruncated, "the JSON text ends within a value"
	case tooDeep:
		e.Err, e.Detail = codec.ErrDepth, fmt.Sprintf("limit %d", s.depth)
	case tooMany:
		e.Err, e.Detail = codec.ErrElements, fmt.Sprintf("limit %d in all", s.max)
	case tooLong:
		e.Err, e.Detail = codec.ErrString, fmt.Sprintf("limit %d bytes", s.str)
	case badUTF8:
		e.Err, e.Detail = codec.ErrByte, fmt.Sprintf("%#02x within a string is not UTF-8", s.b[s.pos])
	case badString:
		e.Err, e.Detail = codec.ErrByte, fmt.Sprintf("%s within a string", what)
	case badNumber:
		e.Err, e.Detail = codec.ErrByte, fmt.Sprintf("a number expected, %s", what)
	case trailing:
		e.Err, e.Detail = codec.ErrTrailing, what
	default:
		e.Err, e.Detail = codec.ErrByte, fmt.Sprintf("JSON expected, %s", what)
	}
	return e
}

// evidence is what a FrameError keeps of bytes that are not kept.
func evidence(b []byte) []byte { return append([]byte(nil), b[:min(len(b), 64)]...) }

// quote shows at most n bytes of text.
func quote(b []byte, n int) string {
	if len(b) <= n {
		return fmt.Sprintf("%q", b)
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return fmt.Sprintf("%q…", b[:n])
}

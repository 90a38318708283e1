package jsonwalk

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Deepest is the deepest nesting that [Scanner.Depth] may allow.
const Deepest = 1024

// Fault is a reason why a Scanner stopped.
type Fault uint8

// The faults. Scanner.Pos is then the first byte of the value, string or number at
// fault, or the byte itself.
const (
	OK Fault = iota
	Truncated
	TooDeep
	TooMany
	TooLong
	BadByte    // starts no value, or is not allowed here
	BadString  // a control character or an invalid escape
	BadUTF8    // within a string
	BadNumber  // a number that is not in JSON's syntax
	BadLiteral // not true, false or null
)

// Scanner checks JSON, each byte once, without recursion and without allocating.
// Keys need not be distinct, and an escaped surrogate need not have a partner.
type Scanner struct {
	B      []byte
	Pos    int // of the next byte
	Left   int // elements still allowed; a member counts as two
	Depth  int // nesting allowed
	String int // bytes of the longest string allowed, escapes as written
	Blanks int // bytes of white space seen
	Maps   int // objects seen

	lax   bool                 // strings need not be UTF-8
	each  func(start, end int) // called for strings that are values
	where int                  // after a fault: the offset of its byte,
	want  string               // and what was expected there
}

func (s *Scanner) fail(f Fault, where int, want string) Fault {
	s.where, s.want = where, want
	return f
}

// Space moves over white space.
func (s *Scanner) Space() {
	from := s.Pos
	for s.Pos < len(s.B) {
		switch s.B[s.Pos] {
		case ' ', '\t', '\n', '\r':
			s.Pos++
			continue
		}
		break
	}
	s.Blanks += s.Pos - from
}

// At returns the byte at the position, 0 at the end.
func (s *Scanner) At() byte {
	if s.Pos < len(s.B) {
		return s.B[s.Pos]
	}
	return 0
}

// Value moves over the value at the position, which is nested in base arrays and
// objects.
func (s *Scanner) Value(base int) Fault {
	// Bit n of the stack is set if the nth open container is an object.
	var stack [Deepest / 64]uint64
	depth := base
	for {
		if s.Pos >= len(s.B) {
			return s.fail(Truncated, s.Pos, "a value")
		}
		var f Fault
		switch c := s.B[s.Pos]; c {
		case '{', '[':
			if depth >= s.Depth {
				return TooDeep
			}
			object := c == '{'
			if object {
				s.Maps++
			}
			s.Pos++
			s.Space()
			if c+2 == s.At() { // '}' is '{'+2, ']' is '['+2
				s.Pos++
				break
			}
			bit := uint64(1) << (depth & 63)
			if object {
				stack[depth>>6] |= bit
			} else {
				stack[depth>>6] &^= bit
			}
			depth++
			if f = s.Element(object); f != OK {
				return f
			}
			continue
		case '"':
			from := s.Pos
			if f = s.text(); f == OK && s.each != nil {
				s.each(from, s.Pos)
			}
		case 't':
			f = s.literal("true")
		case 'f':
			f = s.literal("false")
		case 'n':
			f = s.literal("null")
		default:
			if c != '-' && (c < '0' || c > '9') {
				return s.fail(BadByte, s.Pos, "a value")
			}
			f = s.number()
		}
		if f != OK {
			return f
		}
		// A value is complete, and perhaps the containers that it ends.
		for {
			if depth == base {
				return OK
			}
			s.Space()
			object, want := stack[(depth-1)>>6]>>((depth-1)&63)&1 == 1, "',' or ']'"
			if object {
				want = "',' or '}'"
			}
			if s.Pos >= len(s.B) {
				return s.fail(Truncated, s.Pos, want)
			}
			c := s.B[s.Pos]
			if c == ',' {
				s.Pos++
				s.Space()
				if f := s.Element(object); f != OK {
					return f
				}
				break
			}
			if object && c != '}' || !object && c != ']' {
				return s.fail(BadByte, s.Pos, want)
			}
			s.Pos++
			depth--
		}
	}
}

// Element moves to the next value of a container: past its key when the container
// is an object.
func (s *Scanner) Element(object bool) Fault {
	n := 1
	if object {
		n = 2
	}
	if s.Left < n {
		return TooMany
	}
	s.Left -= n
	if !object {
		return OK
	}
	if s.Pos >= len(s.B) {
		return s.fail(Truncated, s.Pos, "a name in quotes")
	}
	if s.B[s.Pos] != '"' {
		return s.fail(BadByte, s.Pos, "a name in quotes")
	}
	if f := s.text(); f != OK {
		return f
	}
	s.Space()
	if s.Pos >= len(s.B) {
		return s.fail(Truncated, s.Pos, "':'")
	}
	if s.B[s.Pos] != ':' {
		return s.fail(BadByte, s.Pos, "':'")
	}
	s.Pos++
	s.Space()
	return OK
}

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// text moves over the string whose quote is at the position.
func (s *Scanner) text() Fault {
	b, i := s.B, s.Pos+1
	first := i
	for {
		// Eight plain characters at once: all within 0x20 and 0x7f, no quote, no
		// backslash. A false alarm above a real find is harmless.
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
			s.Pos = i
			if i-first > s.String {
				s.Pos = first - 1
				return TooLong
			}
			return s.fail(Truncated, i, "the end of a string")
		}
		switch c := b[i]; {
		case c == '"':
			if i-first > s.String {
				s.Pos = first - 1
				return TooLong
			}
			s.Pos = i + 1
			return OK
		case c == '\\':
			n, f := escape(b[i:])
			if f != OK {
				s.Pos = i
				if n > 1 {
					return s.fail(f, i+n, "a hexadecimal digit")
				}
				return s.fail(f, i+n, "an escape")
			}
			i += n
		case c < 0x20:
			s.Pos = i
			return s.fail(BadString, i, "an escape for a control character")
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 && !s.lax {
				s.Pos = i
				return BadUTF8
			}
			i += n
		}
	}
}

// escape returns the length of the escape at the front of b, or the index of its
// invalid byte.
func escape(b []byte) (int, Fault) {
	if len(b) < 2 {
		return 1, Truncated
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, OK
	case 'u':
		for i := 2; i < 6; i++ {
			if i >= len(b) {
				return i, Truncated
			}
			if c := b[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return i, BadString
			}
		}
		return 6, OK
	}
	return 1, BadString
}

func (s *Scanner) literal(word string) Fault {
	rest := s.B[s.Pos:]
	n := min(len(word), len(rest))
	if string(rest[:n]) != word[:n] {
		return s.fail(BadLiteral, s.Pos, word)
	}
	if n < len(word) {
		return s.fail(Truncated, s.Pos, word)
	}
	s.Pos += n
	return OK
}

// number moves over a number. On a fault the position is the number's first byte.
func (s *Scanner) number() Fault {
	b, i := s.B, s.Pos
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
		return s.fail(BadNumber, i, "a digit")
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return s.fail(BadNumber, i, "a digit")
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return s.fail(BadNumber, i, "a digit")
		}
	}
	s.Pos = i
	return OK
}

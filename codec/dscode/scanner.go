package dscode

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
)

// scanner checks JSON text against the limits, in one pass and without memory
// of its own.
type scanner struct {
	b        []byte
	pos      int
	elements int
	lim      codec.Limits
}

func (s *scanner) fail(err error, format string, args ...any) error {
	return &codec.FrameError{Err: err, Offset: s.pos, Detail: fmt.Sprintf(format, args...), Bytes: start(s.b)}
}

func (s *scanner) shape(format string, args ...any) error {
	return s.fail(codec.ErrShape, format, args...)
}

func (s *scanner) utf8() error {
	if utf8.Valid(s.b) {
		return nil
	}
	for rest := s.b; ; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n <= 1 {
			return s.fail(codec.ErrByte, "0x%02x: not UTF-8", s.b[s.pos])
		}
		s.pos += n
		rest = rest[n:]
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

// seen names the next byte.
func (s *scanner) seen() string {
	if s.pos >= len(s.b) {
		return "the end"
	}
	r, _ := utf8.DecodeRune(s.b[s.pos:])
	return fmt.Sprintf("%q", r)
}

func (s *scanner) space() {
	for s.pos < len(s.b) {
		switch s.b[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// end wants nothing but space.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.b) {
		return s.fail(codec.ErrTrailing, "%s behind the value", s.seen())
	}
	return nil
}

// value passes one value inside depth others.
func (s *scanner) value(depth int) error {
	switch c := s.peek(); c {
	case '{':
		return s.object(depth+1, func(string) error { return s.value(depth + 1) })
	case '[':
		return s.array(depth + 1)
	case '"':
		_, err := s.raw()
		return err
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return s.num()
		}
	}
	return s.unexpected("a value")
}

func (s *scanner) unexpected(expected string) error {
	if s.pos >= len(s.b) {
		return s.fail(codec.ErrTruncated, "%s expected", expected)
	}
	return s.fail(codec.ErrByte, "%s, %s expected", s.seen(), expected)
}

func (s *scanner) word(w string) error {
	for i := range len(w) {
		if s.peek() != w[i] {
			return s.unexpected(w)
		}
		s.pos++
	}
	return nil
}

func (s *scanner) count() error {
	if s.elements++; s.elements > s.lim.Elements {
		return s.fail(codec.ErrElements, "limit %d", s.lim.Elements)
	}
	return nil
}

func (s *scanner) deeper(depth int) error {
	if depth > s.lim.Depth {
		return s.fail(codec.ErrDepth, "limit %d", s.lim.Depth)
	}
	s.pos++
	s.space()
	return nil
}

func (s *scanner) array(depth int) error {
	if err := s.deeper(depth); err != nil {
		return err
	}
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := s.count(); err != nil {
			return err
		}
		if err := s.value(depth); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case ']':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or ']'")
		}
	}
}

// object passes an object; each is called where a value begins and has to pass
// it. Only of the outermost object are keys made to text.
func (s *scanner) object(depth int, each func(key string) error) error {
	if err := s.deeper(depth); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.unexpected("a key")
		}
		if err := s.count(); err != nil {
			return err
		}
		var key string
		var err error
		if depth == 1 {
			key, err = s.text()
		} else {
			_, err = s.raw()
		}
		if err != nil {
			return err
		}
		s.space()
		if s.peek() != ':' {
			return s.unexpected("':'")
		}
		s.pos++
		s.space()
		if err := s.count(); err != nil {
			return err
		}
		if err := each(key); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or '}'")
		}
	}
}

// raw passes a string. plain: what lies between its quotes is its text.
func (s *scanner) raw() (plain bool, err error) {
	s.pos++
	begin := s.pos
	plain = true
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; {
		case c == '"':
			if n := s.pos - begin; n > s.lim.String {
				s.pos = begin
				return false, s.fail(codec.ErrString, "%d bytes, limit %d", n, s.lim.String)
			}
			s.pos++
			return plain, nil
		case c < ' ':
			return false, s.fail(codec.ErrByte, "0x%02x in a string", c)
		case c == '\\':
			plain = false
			if err := s.escape(); err != nil {
				return false, err
			}
		default:
			s.pos++
		}
	}
	return false, s.fail(codec.ErrTruncated, "a string without an end")
}

func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			c := s.peek()
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return s.unexpected("a hexadecimal digit")
			}
			s.pos++
		}
		return nil
	}
	return s.unexpected("an escape")
}

// text passes a string and returns what it says.
func (s *scanner) text() (string, error) {
	at := s.pos
	plain, err := s.raw()
	if err != nil {
		return "", err
	}
	if plain {
		return string(s.b[at+1 : s.pos-1]), nil
	}
	var out string
	if err := json.Unmarshal(s.b[at:s.pos], &out); err != nil {
		s.pos = at
		return "", s.shape("%v", err)
	}
	return out, nil
}

func (s *scanner) num() error {
	if s.peek() == '-' {
		s.pos++
	}
	switch c := s.peek(); {
	case c == '0':
		s.pos++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		return s.unexpected("a digit")
	}
	if s.peek() == '.' {
		s.pos++
		if s.digits() == 0 {
			return s.unexpected("a digit")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits() == 0 {
			return s.unexpected("a digit")
		}
	}
	return nil
}

func (s *scanner) digits() int {
	n := 0
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
		n++
	}
	return n
}

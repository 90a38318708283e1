package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// maxDepth bounds how deep arrays and objects may lie in each other.
const maxDepth = 127

// fewKeys is how many keys of an object are compared with each other one by
// one, as they come; more are sorted when the object has ended.
const fewKeys = 32

// SyntaxError says where text is not JSON.
type SyntaxError struct {
	Reason       string
	Line, Column int // from 1; the column counts bytes, and is 0 before the first
}

// Error reads "expected value at line 1 column 1".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at line %d column %d", e.Reason, e.Line, e.Column)
}

// scanner checks JSON text and finds where its values end.
type scanner struct {
	b     []byte
	i     int
	depth int
	// escaped is true when the last string had a backslash.
	escaped bool
	// keys are those of the objects that are still open, to find one that comes twice
	// in an object. nil: duplicates are not looked for.
	keys *keys
}

// keys is memory for keys, which is reused.
type keys struct{ all []key }

var spareKeys = sync.Pool{New: func() any { return &keys{make([]key, 0, 64)} }}

// free gives the memory back to the pool, unless it has become large.
func (k *keys) free() {
	if cap(k.all) <= 1024 {
		k.all = k.all[:0]
		spareKeys.Put(k)
	}
}

// key is where a key is in the text, with its quotes.
type key struct {
	from, to int
	escaped  bool
}

// name returns the key without quotes and escapes.
func (k key) name(b []byte) []byte {
	if k.escaped {
		if s, err := unquote(b[k.from:k.to]); err == nil {
			return []byte(s)
		}
	}
	return b[k.from+1 : k.to-1]
}

// fail reports what is wrong at the byte before index.
func (s *scanner) fail(reason string, index int) error {
	index = min(index, len(s.b))
	e := &SyntaxError{Reason: reason, Line: 1}
	start := 0
	for i, c := range s.b[:index] {
		if c == '\n' {
			e.Line++
			start = i + 1
		}
	}
	e.Column = index - start
	return e
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// value skips one value.
func (s *scanner) value() error {
	switch c := s.peek(); {
	case s.i >= len(s.b):
		return s.fail("EOF while parsing a value", s.i)
	case c == '{':
		return s.object(nil)
	case c == '[':
		return s.array()
	case c == '"':
		s.i++
		return s.str()
	case c == 'n':
		return s.word("ull")
	case c == 't':
		return s.word("rue")
	case c == 'f':
		return s.word("alse")
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	default:
		return s.fail("expected value", s.i+1)
	}
}

func (s *scanner) word(rest string) error {
	s.i++
	for k := range len(rest) {
		if s.i >= len(s.b) {
			return s.fail("EOF while parsing a value", s.i)
		}
		s.i++
		if s.b[s.i-1] != rest[k] {
			return s.fail("expected ident", s.i)
		}
	}
	return nil
}

func (s *scanner) digits() int {
	n := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i - n
}

func (s *scanner) number() error {
	bad := func() error {
		if s.i >= len(s.b) {
			return s.fail("EOF while parsing a value", s.i)
		}
		return s.fail("invalid number", s.i+1)
	}
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
		if s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
			return bad()
		}
	} else if s.digits() == 0 {
		return bad()
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return bad()
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if s.digits() == 0 {
			return bad()
		}
	}
	return nil
}

// str skips the rest of a string, behind its first quote.
func (s *scanner) str() error {
	start, ascii := s.i, true
	s.escaped = false
	for {
		n, same := ordinary(s.b[s.i:])
		s.i, ascii = s.i+n, ascii && same
		if s.i >= len(s.b) {
			return s.fail("EOF while parsing a string", s.i)
		}
		c := s.b[s.i]
		s.i++
		switch c {
		case '"':
			if !ascii && !utf8.Valid(s.b[start:s.i-1]) {
				return s.fail("invalid unicode code point", s.i)
			}
			return nil
		case '\\':
			s.escaped = true
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.fail(`control character (\u0000-\u001F) found while parsing a string`, s.i)
		}
	}
}

// ordinary returns how many bytes at the start of b are neither a quote, a backslash nor a
// control character, and whether all of these are ASCII. Most bytes of a large message are
// such, so it looks at eight of them at a time.
func ordinary(b []byte) (n int, ascii bool) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	var all uint64
	for ; n+8 <= len(b); n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, backslash := x^ones*'"', x^ones*'\\'
		// Sets the high bit of each byte that is 0 in quote or backslash, or below 0x20 in x; and
		// maybe of bytes behind such a byte: the loop below looks at each.
		if ((x-ones*0x20)&^x|(quote-ones)&^quote|(backslash-ones)&^backslash)&high != 0 {
			break
		}
		all |= x
	}
	for ; n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\'; n++ {
		all |= uint64(b[n])
	}
	return n, all&high == 0
}

func (s *scanner) escape() error {
	if s.i >= len(s.b) {
		return s.fail("EOF while parsing a string", s.i)
	}
	c := s.b[s.i]
	s.i++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
	default:
		return s.fail("invalid escape", s.i)
	}
	r, err := s.hex4()
	if err != nil {
		return err
	}
	switch {
	case r >= 0xdc00 && r <= 0xdfff:
		return s.fail("lone leading surrogate in hex escape", s.i)
	case r < 0xd800 || r > 0xdbff:
		return nil
	}
	for _, want := range []byte{'\\', 'u'} {
		if s.i >= len(s.b) {
			return s.fail("EOF while parsing a string", s.i)
		}
		s.i++
		if s.b[s.i-1] != want {
			return s.fail("unexpected end of hex escape", s.i)
		}
	}
	if r, err = s.hex4(); err != nil {
		return err
	}
	if r < 0xdc00 || r > 0xdfff {
		return s.fail("lone leading surrogate in hex escape", s.i)
	}
	return nil
}

// hex4 reads the four digits of an escape.
func (s *scanner) hex4() (rune, error) {
	if len(s.b)-s.i < 4 {
		s.i = len(s.b)
		return 0, s.fail("EOF while parsing a string", s.i)
	}
	digits := s.b[s.i : s.i+4]
	r, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil {
		valid := len(digits) - len(bytes.TrimLeft(digits, "0123456789abcdefABCDEF"))
		s.i += valid + 1
		return 0, s.fail("invalid escape", s.i)
	}
	s.i += 4
	return rune(r), nil
}

func (s *scanner) enter() error {
	s.i++
	if s.depth++; s.depth > maxDepth {
		return s.fail("recursion limit exceeded", s.i)
	}
	return nil
}

// bracket is what differs between arrays and objects.
type bracket struct {
	end                  byte
	unfinished, expected string
}

var (
	square = bracket{']', "EOF while parsing a list", "expected `,` or `]`"}
	curly  = bracket{'}', "EOF while parsing an object", "expected `,` or `}`"}
)

// next skips what comes before an element. more is false at the end of the array
// or object, which next skips too.
func (s *scanner) next(first bool, in *bracket) (more bool, err error) {
	c := s.peek()
	switch {
	case s.i >= len(s.b):
		return false, s.fail(in.unfinished, s.i)
	case c == in.end:
		s.i++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.fail(in.expected, s.i+1)
	}
	s.i++
	if s.peek() == in.end {
		return false, s.fail("trailing comma", s.i+1)
	}
	return true, nil
}

func (s *scanner) array() error {
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		if more, err := s.next(first, &square); !more {
			return err
		}
		if err := s.value(); err != nil {
			return err
		}
	}
}

// object skips an object. It calls member, unless that is nil, with the key, in
// quotes, and the value of each member.
func (s *scanner) object(member func(key, value []byte)) error {
	if err := s.enter(); err != nil {
		return err
	}
	outer := 0
	if s.keys != nil {
		outer = len(s.keys.all)
	}
	for first := true; ; first = false {
		if more, err := s.next(first, &curly); !more {
			if err == nil && s.keys != nil {
				err = s.sorted(outer)
				s.keys.all = s.keys.all[:outer]
			}
			return err
		}
		if s.peek() != '"' {
			return s.failInObject("key must be a string")
		}
		start := s.i
		s.i++
		if err := s.str(); err != nil {
			return err
		}
		k := key{start, s.i, s.escaped}
		c := s.peek()
		if s.keys != nil {
			if err := s.add(k, outer); err != nil {
				return err
			}
		}
		if c != ':' {
			return s.failInObject("expected `:`")
		}
		s.i++
		s.space()
		start = s.i
		if err := s.value(); err != nil {
			return err
		}
		if member != nil {
			name := s.b[k.from:k.to]
			if k.escaped {
				name = AppendString(nil, string(k.name(s.b)))
			}
			member(name, s.b[start:s.i])
		}
	}
}

// failInObject reports what is wrong at the next byte, or that there is none.
func (s *scanner) failInObject(reason string) error {
	if s.i >= len(s.b) {
		return s.fail("EOF while parsing an object", s.i)
	}
	return s.fail(reason, s.i+1)
}

// add records a key of the object whose keys begin at first, and compares it with
// the others while they are few.
func (s *scanner) add(k key, first int) error {
	if len(s.keys.all)-first < fewKeys {
		name := k.name(s.b)
		for _, other := range s.keys.all[first:] {
			if bytes.Equal(other.name(s.b), name) {
				return s.twice(k, s.i)
			}
		}
	}
	s.keys.all = append(s.keys.all, k)
	return nil
}

// sorted looks for equal keys in an object that has more than a few.
func (s *scanner) sorted(first int) error {
	all := s.keys.all[first:]
	if len(all) <= fewKeys {
		return nil
	}
	text := s.b // s itself would have to live on the heap
	slices.SortFunc(all, func(a, b key) int { return bytes.Compare(a.name(text), b.name(text)) })
	for i := 1; i < len(all); i++ {
		if bytes.Equal(all[i-1].name(s.b), all[i].name(s.b)) {
			k := all[i]
			if all[i-1].from > k.from {
				k = all[i-1]
			}
			return s.twice(k, k.to)
		}
	}
	return nil
}

func (s *scanner) twice(k key, index int) error {
	return s.fail("duplicate JSON object key `"+string(k.name(s.b))+"`", index)
}

// members calls member with the key and the value of each member of a valid object.
func members(raw []byte, member func(key, value []byte)) {
	s := scanner{b: raw}
	if s.peek() == '{' {
		_ = s.object(member) // it was checked
	}
}

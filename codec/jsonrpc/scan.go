package jsonrpc

import (
	"fmt"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// MaxDepth is the deepest nesting that can be asked for: a larger
// [codec.Limits.Depth] is cut to it.
const MaxDepth = jsonwalk.Deepest

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
	s.Space()
	if f := s.Value(0); f != jsonwalk.OK {
		return s.err(f)
	}
	return s.end()
}

// scanner is a Scanner within the limits of a session.
type scanner struct {
	jsonwalk.Scanner
	max int // elements allowed, for words
}

func newScanner(b []byte, lim codec.Limits) scanner {
	lim = lim.WithDefaults()
	return scanner{jsonwalk.Scanner{B: b, Left: lim.Elements, Depth: min(lim.Depth, MaxDepth), String: lim.String}, lim.Elements}
}

// end returns an error for anything but white space up to the end.
func (s *scanner) end() error {
	s.Space()
	if s.Pos < len(s.B) {
		return s.err(trailing)
	}
	return nil
}

// trailing is the fault of a text that goes on behind its value.
const trailing jsonwalk.Fault = 255

// err words a fault at the position.
func (s *scanner) err(f jsonwalk.Fault) error {
	e := &codec.FrameError{Offset: s.Pos, Bytes: evidence(s.B), InMessage: true}
	what := "the text ends"
	if s.Pos < len(s.B) {
		what = quote(s.B[s.Pos:], 24)
	}
	switch f {
	case jsonwalk.Truncated:
		e.Err, e.Detail = codec.ErrTruncated, "the JSON text ends within a value"
	case jsonwalk.TooDeep:
		e.Err, e.Detail = codec.ErrDepth, fmt.Sprintf("limit %d", s.Depth)
	case jsonwalk.TooMany:
		e.Err, e.Detail = codec.ErrElements, fmt.Sprintf("limit %d in all", s.max)
	case jsonwalk.TooLong:
		e.Err, e.Detail = codec.ErrString, fmt.Sprintf("limit %d bytes", s.String)
	case jsonwalk.BadUTF8:
		e.Err, e.Detail = codec.ErrByte, fmt.Sprintf("%#02x within a string is not UTF-8", s.B[s.Pos])
	case jsonwalk.BadString:
		e.Err, e.Detail = codec.ErrByte, fmt.Sprintf("%s within a string", what)
	case jsonwalk.BadNumber:
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

package codec

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with the bytes of a peer. A [FrameError] wraps one of
// these; test with errors.Is.
var (
	ErrEmpty     = errors.New("empty frame")
	ErrTooLarge  = errors.New("frame over the limit")
	ErrTruncated = errors.New("truncated")
	ErrTrailing  = errors.New("bytes after the value")
	ErrDepth     = errors.New("nested too deep")
	ErrElements  = errors.New("too many elements")
	ErrString    = errors.New("string too long")
	ErrByte      = errors.New("invalid type byte")
	ErrShape     = errors.New("not a message of this protocol")
	ErrID        = errors.New("id never given")
	ErrNoCredit  = errors.New("item without credit")
	ErrEarly     = errors.New("message before the handshake")
	ErrVersion   = errors.New("protocol version not supported")
)

// FrameError says what broke the protocol, where, and what was expected. It
// ends the connection.
type FrameError struct {
	Err    error  // one of the sentinels above
	Offset int    // byte within the frame's body, or -1 when it has no place
	Detail string // what was seen and what was expected
	Bytes  []byte // the first bytes of the offending frame or noise, at most 64; may be nil

	// InMessage reports that Bytes are part of a message of a protocol whose messages are
	// text, so that they are not mistaken for text that was printed beside messages.
	InMessage bool
}

// Error returns a line such as
// `too many elements: array of 4294967295 at byte 5, 4 bytes left`.
func (e *FrameError) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	return b.String()
}

// Faultf returns a FrameError that wraps one of the sentinels. at is where the
// fault is, or -1; of seen, which may be nil, it copies the first 64 bytes. It is not
// inlined because that makes its callers larger, and slower where nothing is wrong.
//
//go:noinline
func Faultf(err error, at int, seen []byte, format string, args ...any) *FrameError {
	return &FrameError{
		Err: err, Offset: at, Detail: fmt.Sprintf(format, args...),
		Bytes: append([]byte(nil), seen[:min(len(seen), 64)]...),
	}
}

// Early returns the error for a message that comes before the end of a handshake; due is
// what was expected instead.
func Early(m *Message, due string) *FrameError {
	what := m.Kind.String()
	if m.Method != "" {
		what = fmt.Sprintf("%s %.64q", what, m.Method)
	}
	return Faultf(ErrEarly, -1, nil, "%s, %s expected", what, due)
}

// Unwrap returns the sentinel.
func (e *FrameError) Unwrap() error { return e.Err }

// Error is an error as one side answers it to the other: a name one can
// branch on, a message for people, and what else the protocol carries.
type Error struct {
	Name    string // class, such as "MethodNotFound", "Cancelled"
	Message string
	Code    int64  // protocols with numeric codes; 0 when there is none
	Stack   string // the peer's stack trace; never trusted, only shown
	Data    Raw    // further evidence in the protocol's encoding; may be nil
	Cause   *Error // what it came from; chains are cut at 16 on both sides
}

// Error returns "Name: Message".
func (e *Error) Error() string {
	switch {
	case e.Name == "":
		return e.Message
	case e.Message == "":
		return e.Name
	}
	return e.Name + ": " + e.Message
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// codeMethodNotFound is JSON-RPC's number for it.
const codeMethodNotFound = -32601

// IsMethodNotFound says whether err is a peer's answer that it has no such
// method, by name or by JSON-RPC's code. What the answer names as its causes
// is not looked at: they may be about other methods.
func IsMethodNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e != nil && (e.Name == NameMethodNotFound || e.Code == codeMethodNotFound)
}

// Names of errors that protocol 1 gives a meaning to.
const (
	NameMethodNotFound = "MethodNotFound"
	NameInvalidParams  = "InvalidParams"
	NameCancelled      = "Cancelled"
	NamePanic          = "Panic"
	NameShuttingDown   = "ShuttingDown"
	NameNotActive      = "NotActive" // an extension is not, and cannot be called
)

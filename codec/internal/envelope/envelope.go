// Package envelope is what hostsup's protocol 1 and MessagePack-RPC have in
// common: messages that are MessagePack arrays of a kind, an id and what belongs
// to the kind. It is used by codec/native and codec/msgpackrpc, which say what is
// different.
package envelope

import (
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// Shape says what the messages of a protocol look like.
type Shape struct {
	Arity    [codec.Credit + 1]uint8 // how many elements a message has, by its kind
	Last     codec.Kind              // the last kind that there is
	Kind, ID string                  // what errors call the first element and the second
}

// Open takes the front of a message: its kind, and its id unless it is a
// notification. n is how many elements the message has. If traced, requests and
// notifications may have one more than their arity.
func (s *Shape) Open(c *mpack.Cursor, m *codec.Message, traced bool) (n int, err error) {
	n, valid := c.Array()
	if !valid {
		return 0, c.Err("message")
	}
	if n == 0 {
		return 0, c.Shapef(0, "an empty array")
	}
	kind, valid := c.Uint(uint64(s.Last))
	if !valid {
		return 0, c.Err(s.Kind)
	}
	m.Kind = codec.Kind(kind)
	want := int(s.Arity[kind])
	if n != want && (n != want+1 || !traced || m.Kind != codec.Request && m.Kind != codec.Notification) {
		return 0, c.Shapef(0, "%s of %d elements, %d expected", m.Kind, n, want)
	}
	if m.Kind == codec.Notification {
		return n, nil
	}
	id, valid := c.Uint(math.MaxUint32)
	if !valid {
		return 0, c.Err(s.ID)
	}
	m.ID = uint32(id)
	return n, nil
}

// Response takes the rest of a response: the encoded error, nil if there is none,
// and the result, which means nothing beside an error and is nil there.
func Response(c *mpack.Cursor) (failure, result codec.Raw, err error) {
	var valid bool
	if !c.Nil() {
		if failure, valid = c.Value(); !valid {
			return nil, nil, c.Err("error")
		}
	}
	if result, valid = c.Value(); !valid {
		return nil, nil, c.Err("result")
	}
	if failure != nil {
		return failure, nil, nil
	}
	return nil, result, nil
}

// Names keeps the method names that a connection uses, so that a name seen before
// is not copied again. It holds at most 64 names of at most 64 bytes.
type Names [64]string

// Get returns b as a string, or false if it is no name, being empty or not UTF-8.
func (t *Names) Get(b []byte) (string, bool) {
	n := len(b)
	if n == 0 || n > 64 {
		return string(b), n > 0 && utf8.Valid(b)
	}
	// Two names of the same slot replace each other, which costs a copy each time
	// and nothing else.
	slot := &t[(n*31+int(b[0])*7+int(b[n/2])*17+int(b[n-1])*13)%64]
	if *slot == string(b) {
		return *slot, true
	}
	if !utf8.Valid(b) {
		return "", false
	}
	*slot = string(b)
	return *slot, true
}

// CheckMethod returns an error for a method that the other side would refuse.
func CheckMethod(method string, most int) error {
	switch {
	case method == "":
		return codec.Faultf(codec.ErrShape, -1, nil, "method: empty")
	case len(method) > most:
		return codec.Faultf(codec.ErrString, -1, nil, "method: %d bytes, limit %d", len(method), most)
	case !utf8.ValidString(method):
		return codec.Faultf(codec.ErrShape, -1, nil, "method: not UTF-8: %.64q", method)
	}
	return nil
}

// TooLarge is the error of a message of n bytes that is not sent.
func TooLarge(n int, lim codec.Limits) error {
	return codec.Faultf(codec.ErrTooLarge, -1, nil, "%d bytes, limit %d", n, lim.Frame)
}

// AppendRaw appends a payload as it is; an empty one stands for nil.
func AppendRaw(dst []byte, raw codec.Raw) []byte {
	if len(raw) == 0 {
		return mpack.AppendNil(dst)
	}
	return append(dst, raw...)
}

// MaxText is how much is kept of what a peer says, in bytes.
const MaxText = 64 << 10

// Text returns an error that is neither a text nor a map as a text for people: its
// JSON if it is small, else the given words.
func Text(failure codec.Raw, otherwise string) string {
	if len(failure) <= MaxText/8 {
		if text, err := (mpack.Encoding{}).ToJSON(failure); err == nil {
			return string(text)
		}
	}
	return fmt.Sprintf("an error of %d bytes%s", len(failure), otherwise)
}

// Noise shows bytes that are text: most often something other than the protocol
// was printed to the stream. It is empty for others.
func Noise(b []byte) string {
	b = b[:min(len(b), 64)]
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

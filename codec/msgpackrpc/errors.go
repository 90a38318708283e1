package msgpackrpc

import (
	"math"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

// The numbers of Neovim's classes of errors: the general one, and that of
// arguments that a function cannot be called with.
const (
	exception  = 0
	validation = 1
)

// appendError writes e as Neovim writes its errors, so that one of a Neovim's is
// what it was. Of its other fields there is nothing that a peer would know how to
// read.
func appendError(dst []byte, e *codec.Error) []byte {
	class, text := int64(exception), e.Error()
	if e.Code == validation {
		class = validation
	}
	if e.Name == codec.NameMethodNotFound && unknownMethod(e.Message) {
		text = e.Message // who reads it knows by that
	}
	dst = mpack.AppendInt(mpack.AppendArray(dst, 2), class)
	return mpack.AppendString(dst, shown(text))
}

// readError takes an error that is not nil, whatever it is. The bytes were
// checked. Data of what it returns is a part of raw.
func readError(raw codec.Raw, lim codec.Limits) *codec.Error {
	e := new(codec.Error)
	c := mpack.NewCursor(raw, lim)
	switch c.Peek() {
	case "str", "bin":
		e.Message, _ = text(&c)
	case "array":
		if n, _ := c.Array(); n == 2 && c.Peek() == "int" {
			code, fits := c.Int()
			if message, is := text(&c); fits && is {
				e.Code, e.Message = code, message
				break
			}
		}
		e.Data = raw
	default:
		e.Data = raw
	}
	if e.Data != nil {
		e.Message = envelope.Text(raw, "")
	}
	if unknownMethod(e.Message) {
		e.Name = codec.NameMethodNotFound
	}
	return e
}

// unknownMethod says whether an error's message is the one by which Neovim,
// pynvim or the node host says that it does not have the method.
func unknownMethod(message string) bool {
	if strings.HasPrefix(message, "Invalid method: ") || strings.HasPrefix(message, `no request handler registered for "`) {
		return true
	}
	// The node host takes what stands in front of a method's first colon for
	// a plugin's file. One that it has been told of has a whole path; of such a
	// one this says that the plugin is broken, not that there is no method.
	file, is := strings.CutPrefix(message, "Error: Could not load plugin: ")
	return is && !strings.HasPrefix(file, "/") && !(len(file) > 2 && file[1] == ':')
}

// text takes a str or a bin, made fit to be shown.
func text(c *mpack.Cursor) (string, bool) {
	s, is := bytesOf(c)
	return shown(string(s[:min(len(s), envelope.MaxText)])), is
}

// shown cuts s and mends what is not UTF-8.
func shown(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), envelope.MaxText)], "\ufffd")
}

// bytesOf takes a str or a bin; of another value, or one that is not all
// there, it is false.
func bytesOf(c *mpack.Cursor) ([]byte, bool) {
	if c.Peek() != "bin" {
		return c.Str(math.MaxInt32)
	}
	raw, whole := c.Value()
	if !whole {
		return nil, false
	}
	head := 1 + 1<<(raw[0]-0xc4) // bin 8, 16, 32: lengths of 1, 2, 4 bytes
	return raw[head:], true
}

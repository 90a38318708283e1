package native

import (
	"math"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

const (
	// maxCauses is the length of the longest chain of errors, the first
	// included.
	maxCauses = 16

	// What is kept of a peer's words, in bytes; the rest is cut.
	maxName = 1 << 10
	maxText = envelope.MaxText
)

// appendError writes e as a map with the keys that say something; name and
// message always.
func appendError(dst []byte, e *codec.Error) []byte {
	for left := maxCauses; ; {
		left--
		cause := e.Cause
		if left == 0 {
			cause = nil
		}
		n := 2
		if e.Code != 0 {
			n++
		}
		if e.Stack != "" {
			n++
		}
		if len(e.Data) != 0 {
			n++
		}
		if cause != nil {
			n++
		}
		dst = mpack.AppendMap(dst, n)
		dst = mpack.AppendString(mpack.AppendString(dst, "name"), e.Name)
		dst = mpack.AppendString(mpack.AppendString(dst, "message"), e.Message)
		if e.Code != 0 {
			dst = mpack.AppendInt(mpack.AppendString(dst, "code"), e.Code)
		}
		if e.Stack != "" {
			dst = mpack.AppendString(mpack.AppendString(dst, "stack"), e.Stack)
		}
		if len(e.Data) != 0 {
			dst = append(mpack.AppendString(dst, "data"), e.Data...)
		}
		if cause == nil {
			return dst
		}
		dst = mpack.AppendString(dst, "cause")
		e = cause
	}
}

// readError takes an error that is not nil. It is lenient, because an error
// that is lost explains nothing: values that do not fit their key are left
// out, a string is the message, [code, message] is taken for what it looks
// like, and any other value is its own JSON when it is small.
func readError(raw codec.Raw, lim codec.Limits) *codec.Error {
	var first *codec.Error
	link := &first
	for range maxCauses {
		e, cause := oneError(raw, lim)
		*link = e
		if cause == nil {
			break
		}
		raw, link = cause, &e.Cause
	}
	return first
}

// oneError takes one error of a chain and the value of its cause. The bytes
// were checked.
func oneError(raw codec.Raw, lim codec.Limits) (*codec.Error, codec.Raw) {
	e := new(codec.Error)
	var cause codec.Raw
	c := mpack.NewCursor(raw, lim)
	switch c.Peek() {
	case "map":
		n, _ := c.Map()
		for range n {
			key := text(&c, maxName)
			switch key {
			case "name":
				e.Name = text(&c, maxName)
			case "message":
				e.Message = text(&c, maxText)
			case "stack":
				e.Stack = text(&c, maxText)
			case "code":
				e.Code = number(&c)
			case "data":
				e.Data, _ = c.Value()
			case "cause":
				cause, _ = c.Value()
			default:
				c.Skip()
			}
		}
		return e, cause
	case "str":
		e.Message = text(&c, maxText)
		return e, nil
	case "array":
		if n, _ := c.Array(); n == 2 && c.Peek() == "int" {
			code := number(&c)
			if c.Peek() == "str" {
				e.Code, e.Message = code, text(&c, maxText)
				return e, nil
			}
		}
	}
	e.Message = envelope.Text(raw, " that is no map")
	return e, nil
}

// text takes a string, made fit to be shown and cut to hi bytes, or skips
// another value.
func text(c *mpack.Cursor, hi int) string {
	if c.Peek() != "str" {
		c.Skip()
		return ""
	}
	s, _ := c.Str(math.MaxInt)
	return strings.ToValidUTF8(string(s[:min(len(s), hi)]), "\ufffd")
}

// number takes an integer of 64 bits, or skips another value.
func number(c *mpack.Cursor) int64 {
	if c.Peek() == "int" {
		if v, valid := c.Int(); valid {
			return v
		}
	}
	c.Skip()
	return 0
}

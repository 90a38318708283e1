package msgpackrpc

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// arity is how many elements a message of each type has.
var arity = [...]int{codec.Request: 4, codec.Response: 4, codec.Notification: 3}

// message takes the bytes of a message apart, which are one value.
func (r *reader) message(body []byte, m *codec.Message) error {
	c := &r.c
	c.Reset(body)
	*m = codec.Message{Size: len(body)}
	n, valid := c.Array()
	if !valid {
		return c.Err("message")
	}
	if n == 0 {
		return shape(body, 0, "an empty array")
	}
	kind, valid := c.Uint(uint64(codec.Notification))
	if !valid {
		return c.Err("type")
	}
	m.Kind = codec.Kind(kind)
	if n != arity[kind] {
		return shape(body, 0, fmt.Sprintf("%s of %d elements, %d expected", m.Kind, n, arity[kind]))
	}
	var id uint64
	if m.Kind != codec.Notification {
		if id, valid = c.Uint(math.MaxUint32); !valid {
			return c.Err("msgid")
		}
	}
	if m.Kind == codec.Response {
		m.ID = uint32(id)
		return r.response(c, m)
	}
	at := c.Pos()
	name, valid := bytesOf(c)
	switch {
	case !valid:
		return c.Err("method")
	case len(name) > MaxMethod:
		return &codec.FrameError{
			Err: codec.ErrString, Offset: at, Bytes: mpack.Evidence(body),
			Detail: fmt.Sprintf("method: %d bytes, limit %d", len(name), MaxMethod),
		}
	case len(name) == 0 || !utf8.Valid(name):
		return shape(body, at, fmt.Sprintf("method: empty or not UTF-8: %.64q", name))
	}
	m.Method = string(name)
	if m.Params, valid = c.Value(); !valid {
		return c.Err("params")
	}
	r.lent = r.lent || m.Params != nil
	if m.Kind == codec.Notification {
		return nil
	}
	var err error
	m.ID, err = r.s.asks.add(uint32(id))
	return err
}

// response takes the rest of a response. Beside an error the result means
// nothing.
func (r *reader) response(c *mpack.Cursor, m *codec.Message) error {
	wrong, valid := c.Value()
	if !valid {
		return c.Err("error")
	}
	result, valid := c.Value()
	if !valid {
		return c.Err("result")
	}
	if wrong != nil {
		m.Err = readError(wrong, r.s.lim)
		r.lent = r.lent || m.Err.Data != nil
	} else {
		m.Result = result
		r.lent = r.lent || result != nil
	}
	if m.ID != 0 {
		r.s.answer(m)
		return nil
	}
	// No request has the id 0. What peers say by it ends the connection, as any
	// answer to nothing does, and is worth being read.
	said := "no error"
	if m.Err != nil {
		said = m.Err.Error()
	}
	return broken(codec.ErrID, "response to request 0, which was never made: %.1024s", said)
}

func shape(body []byte, at int, detail string) error {
	return &codec.FrameError{Err: codec.ErrShape, Offset: at, Detail: detail, Bytes: mpack.Evidence(body)}
}

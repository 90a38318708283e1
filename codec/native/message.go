package native

import (
	"math"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

// shape is that of the protocol's messages.
var shape = envelope.Shape{
	Arity: [...]uint8{
		codec.Request: 4, codec.Response: 4, codec.Notification: 3,
		codec.Ack: 2, codec.Cancel: 2, codec.Item: 4, codec.Credit: 3,
	},
	Last: codec.Credit, Kind: "kind", ID: "id",
}

// maxTrace is the length of the longest trace field, in bytes.
const maxTrace = 1024

// message takes a frame's body apart.
func (r *reader) message(body []byte, m *codec.Message) error {
	c := &r.c
	c.Reset(body)
	*m = codec.Message{Size: header + len(body)}
	n, err := shape.Open(c, m, r.caps.Has(codec.CapTrace))
	if err != nil {
		return err
	}
	if m.ID == 0 && m.Kind != codec.Notification {
		return c.Shapef(c.Pos()-1, "id: 0, ids start at 1")
	}
	switch m.Kind {
	case codec.Request, codec.Notification:
		err = r.call(c, m, n > int(shape.Arity[m.Kind]))
	case codec.Response:
		err = r.response(c, m)
	case codec.Item:
		seq, valid := c.Uint(math.MaxUint32)
		if !valid {
			return c.Err("seq")
		}
		m.Seq = uint32(seq)
		if m.Result, valid = c.Value(); !valid {
			return c.Err("value")
		}
		r.in.Kept = r.in.Kept || m.Result != nil
	case codec.Credit:
		credit, valid := c.Uint(math.MaxUint32)
		if !valid {
			return c.Err("credit")
		}
		m.Credit = uint32(credit)
	}
	if err != nil {
		return err
	}
	if !c.End() {
		return c.Err("")
	}
	return r.allowed(c, m)
}

// call takes the rest of a request or notification.
func (r *reader) call(c *mpack.Cursor, m *codec.Message, traced bool) error {
	at := c.Pos()
	name, valid := c.Str(MaxMethod)
	if !valid {
		return c.Err("method")
	}
	if r.names == nil {
		r.names = new(envelope.Names)
	}
	if m.Method, valid = r.names.Get(name); !valid {
		return c.Shapef(at, "method: empty or not UTF-8: %.64q", name)
	}
	if m.Params, valid = c.Value(); !valid {
		return c.Err("params")
	}
	r.in.Kept = r.in.Kept || m.Params != nil
	if !traced || c.Nil() {
		return nil
	}
	n, valid := c.Map()
	if !valid {
		return c.Err("trace")
	}
	for range n {
		key, valid := c.Str(maxTrace)
		if !valid {
			return c.Err("trace key")
		}
		var into *string
		switch string(key) {
		case "traceparent":
			into = &m.Trace.Parent
		case "tracestate":
			into = &m.Trace.State
		default:
			if !c.Skip() {
				return c.Err("trace")
			}
			continue
		}
		at := c.Pos()
		v, valid := c.Str(maxTrace)
		if !valid {
			return c.Err(string(key))
		}
		if !utf8.Valid(v) {
			return c.Shapef(at, "%s: not UTF-8", key)
		}
		*into = string(v)
	}
	c.Close()
	return nil
}

// response takes the rest of a response.
func (r *reader) response(c *mpack.Cursor, m *codec.Message) error {
	failure, result, err := envelope.Response(c)
	if err != nil {
		return err
	}
	if m.Result = result; failure != nil {
		m.Err = readError(failure, r.s.lim)
	}
	r.in.Kept = r.in.Kept || result != nil || failure != nil
	return nil
}

// allowed refuses kinds whose capability is not in force. The message that
// fixes what is in force passes here in the stream's order, so that what
// stands behind it in the same read is judged rightly. Up to it the handshake
// judges.
func (r *reader) allowed(c *mpack.Cursor, m *codec.Message) error {
	if !r.open {
		r.open, r.caps = r.s.opening(m)
		return nil
	}
	if m.Kind <= codec.Notification {
		return nil
	}
	if need := needs[m.Kind]; !r.caps.Has(need) {
		return c.Shapef(1, "%s: capability %s is not in force", m.Kind, capNames(need)[0])
	}
	return nil
}

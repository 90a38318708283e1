package msgpackrpc

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

// shape is that of the protocol's messages.
var shape = envelope.Shape{
	Arity: [codec.Credit + 1]uint8{codec.Request: 4, codec.Response: 4, codec.Notification: 3},
	Last:  codec.Notification, Kind: "type", ID: "msgid",
}

// message takes the bytes of a message apart, which are one value.
func (r *reader) message(body []byte, m *codec.Message) error {
	c := &r.c
	c.Reset(body)
	*m = codec.Message{Size: len(body)}
	if _, err := shape.Open(c, m, false); err != nil {
		return err
	}
	if m.Kind == codec.Response {
		return r.response(c, m)
	}
	at := c.Pos()
	name, valid := bytesOf(c)
	switch {
	case !valid:
		return c.Err("method")
	case len(name) > MaxMethod:
		return codec.Faultf(codec.ErrString, at, body, "method: %d bytes, limit %d", len(name), MaxMethod)
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
	if m.Kind == codec.Notification {
		return nil
	}
	var err error
	m.ID, err = r.s.asks.add(m.ID)
	return err
}

// response takes the rest of a response.
func (r *reader) response(c *mpack.Cursor, m *codec.Message) error {
	failure, result, err := envelope.Response(c)
	if err != nil {
		return err
	}
	if m.Result = result; failure != nil {
		m.Err = readError(failure, r.s.lim)
		r.in.Kept = r.in.Kept || m.Err.Data != nil
	}
	r.in.Kept = r.in.Kept || result != nil
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
	return codec.Faultf(codec.ErrID, -1, nil, "response to request 0, which was never made: %.1024s", said)
}

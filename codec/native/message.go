package native

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// maxTrace is the length of the longest trace field, in bytes.
const maxTrace = 1024

// message takes a frame's body apart.
func (r *reader) message(body []byte, m *codec.Message) error {
	c := &r.c
	c.Reset(body)
	*m = codec.Message{Size: header + len(body)}
	n, valid := c.Array()
	if !valid {
		return c.Err("message")
	}
	if n == 0 {
		return shape(body, 0, "an empty array")
	}
	kind, valid := c.Uint(uint64(codec.Credit))
	if !valid {
		return c.Err("kind")
	}
	m.Kind = codec.Kind(kind)
	least := int(arity[kind].least)
	if n != least && (n != int(arity[kind].traced) || !r.caps.Has(codec.CapTrace)) {
		return shape(body, 0, fmt.Sprintf("%s of %d elements, %d expected", m.Kind, n, least))
	}
	if m.Kind != codec.Notification {
		id, valid := c.Uint(math.MaxUint32)
		if !valid {
			return c.Err("id")
		}
		if id == 0 {
			return shape(body, c.Pos()-1, "id: 0, ids start at 1")
		}
		m.ID = uint32(id)
	}
	var err error
	switch m.Kind {
	case codec.Request, codec.Notification:
		err = r.call(c, m, body, n > least)
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
		r.lent = r.lent || m.Result != nil
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
	return r.allowed(m, body)
}

// call takes the rest of a request or notification.
func (r *reader) call(c *mpack.Cursor, m *codec.Message, body []byte, traced bool) error {
	at := c.Pos()
	name, valid := c.Str(MaxMethod)
	if !valid {
		return c.Err("method")
	}
	if r.names == nil {
		r.names = new(names)
	}
	if m.Method, valid = r.names.get(name); !valid {
		return shape(body, at, fmt.Sprintf("method: empty or not UTF-8: %.64q", name))
	}
	if m.Params, valid = c.Value(); !valid {
		return c.Err("params")
	}
	r.lent = r.lent || m.Params != nil
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
			return shape(body, at, fmt.Sprintf("%s: not UTF-8", key))
		}
		*into = string(v)
	}
	c.Close()
	return nil
}

// response takes the rest of a response. Beside an error the result means
// nothing.
func (r *reader) response(c *mpack.Cursor, m *codec.Message) error {
	var valid bool
	if !c.Nil() {
		if m.Err, valid = readError(c, r.s.lim); !valid {
			return c.Err("error")
		}
		r.lent = true
	}
	result, valid := c.Value()
	if !valid {
		return c.Err("result")
	}
	if m.Err == nil {
		m.Result = result
		r.lent = r.lent || result != nil
	}
	return nil
}

// allowed refuses kinds whose capability is not in force. The message that
// fixes what is in force passes here in the stream's order, so that what
// stands behind it in the same read is judged rightly. Up to it the handshake
// judges.
func (r *reader) allowed(m *codec.Message, body []byte) error {
	if !r.open {
		r.open, r.caps = r.s.opening(m)
		return nil
	}
	if m.Kind <= codec.Notification {
		return nil
	}
	if need := needs[m.Kind]; !r.caps.Has(need) {
		return shape(body, 1, fmt.Sprintf("%s: capability %s is not in force", m.Kind, capNames(need)[0]))
	}
	return nil
}

func shape(body []byte, at int, detail string) error {
	return &codec.FrameError{Err: codec.ErrShape, Offset: at, Detail: detail, Bytes: mpack.Evidence(body)}
}

// names keeps the method names a connection uses, so that a name seen before
// is not copied again. It holds at most 64 names of at most 64 bytes.
type names [64]string

// get returns b as a string, or false when it is no name.
func (t *names) get(b []byte) (string, bool) {
	n := len(b)
	if n == 0 || n > 64 {
		return string(b), n > 0 && utf8.Valid(b)
	}
	// Two names that share a place push each other out, which costs a copy
	// each time and nothing else.
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

package vscode

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// bytes that are read from the front. After a failure everything is empty.
type cursor struct {
	all  []byte
	at   int
	fail error
}

func (c *cursor) take(n uint32, what string) []byte {
	if c.fail != nil {
		return nil
	}
	if uint64(n) > uint64(len(c.all)-c.at) {
		c.fail = c.broken(codec.ErrTruncated, "%s: %d bytes, %d left", what, n, len(c.all)-c.at)
		return nil
	}
	b := c.all[c.at : c.at+int(n) : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) u8(what string) byte {
	if b := c.take(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u32(what string) uint32 {
	if b := c.take(4, what); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// long is what has its length in front.
func (c *cursor) long(what string) []byte { return c.take(c.u32(what), what) }

func (c *cursor) end() error {
	if c.fail == nil && c.at < len(c.all) {
		c.fail = c.broken(codec.ErrTrailing, "%d bytes", len(c.all)-c.at)
	}
	return c.fail
}

func (c *cursor) broken(err error, format string, args ...any) error {
	return &codec.FrameError{Err: err, Offset: c.at, Detail: fmt.Sprintf(format, args...), Bytes: evidence(c.all)}
}

// decode takes the data of a frame apart. found is false for what means
// nothing to anybody: the answer to a notification.
func (s *session) decode(data []byte, m *codec.Message) (found bool, err error) {
	*m = codec.Message{Size: len(data)}
	if len(data) == 1 {
		return s.single(data, m)
	}
	c := &cursor{all: data}
	kind, id := c.u8("type"), c.u32("id")
	if c.fail != nil {
		return false, c.fail
	}
	m.ID = id
	switch kind {
	case rpcRequest, rpcRequestCancellable, rpcMixed, rpcMixedCancellable:
		if id == 0 {
			return false, c.broken(codec.ErrID, "request 0")
		}
		m.Kind = codec.Request
		err = s.called(c, kind, m)
	case rpcAck:
		m.Kind = codec.Ack
		err = c.end()
	case rpcCancel:
		m.Kind = codec.Cancel
		err = c.end()
	case rpcEmpty, rpcBuffer, rpcJSON, rpcJSONWithBuffers:
		m.Kind = codec.Response
		m.Result, err = s.result(c, kind)
	case rpcError, rpcErrorEmpty:
		m.Kind = codec.Response
		m.Err, err = s.refusal(c, kind)
	default:
		return false, &codec.FrameError{Err: codec.ErrByte, Offset: 0, Detail: fmt.Sprintf("message of type %d, 1 to 12 expected", kind), Bytes: evidence(data)}
	}
	return id != 0 || m.Kind == codec.Request, err
}

// single is a message of one byte.
func (s *session) single(data []byte, m *codec.Message) (bool, error) {
	m.Kind = codec.Notification
	switch {
	case data[0] == byteReady && !s.running.Load():
		m.Method = methodReady
	case data[0] == byteInitialized && !s.running.Load():
		m.Method = methodInitialized
	default:
		return false, &codec.FrameError{Err: codec.ErrShape, Offset: 0, Detail: fmt.Sprintf("message of the one byte %#x", data[0]), Bytes: evidence(data)}
	}
	return true, nil
}

// called reads a request of the host.
func (s *session) called(c *cursor, kind byte, m *codec.Message) error {
	number := c.u8("actor")
	name := c.take(uint32(c.u8("method")), "method")
	if c.fail != nil {
		return c.fail
	}
	if s.opening.Actors == nil {
		return s.opening.Err
	}
	actor, ok := s.opening.Actors.Actor(number)
	if !ok {
		return c.broken(codec.ErrID, "actor %d, VS Code %s has %d", number, s.opening.Actors.Version, len(s.opening.Actors.names))
	}
	if !utf8.Valid(name) || len(name) == 0 {
		return c.broken(codec.ErrShape, "method %.64q", name)
	}
	m.Method = actor + "." + string(name)
	var args []byte
	var err error
	if kind >= rpcMixed {
		args, err = s.mixed(c)
	} else {
		all := c.long("arguments")
		if err := c.end(); err != nil {
			return err
		}
		if err := s.json(all); err != nil {
			return err
		}
		if all[jsonwalk.Space(all, 0)] != '[' {
			return c.broken(codec.ErrShape, "arguments: an array expected, %.24q", all)
		}
		if args = all; !plain(all) {
			args, err = fromWire(nil, all, nil, false, s.most())
		}
	}
	if err != nil {
		return err
	}
	if kind == rpcRequestCancellable || kind == rpcMixedCancellable {
		args = withToken(args)
	}
	m.Params = args
	return nil
}

// withToken puts a cancellation token behind the arguments.
func withToken(args []byte) []byte {
	end := len(args) - 1
	for args[end] != ']' {
		end-- // only space
	}
	args = args[:end]
	if last := len(args) - 1; jsonwalk.Space(args, 1+jsonwalk.Space(args, 0)) <= last {
		args = append(args, ',')
	}
	return append(append(args, token...), ']')
}

// mixed reads arguments one by one.
func (s *session) mixed(c *cursor) ([]byte, error) {
	n := int(c.u8("arguments"))
	args := []byte{'['}
	for i := range n {
		if i > 0 {
			args = append(args, ',')
		}
		var err error
		switch kind := c.u8("kind of an argument"); {
		case c.fail != nil:
		case kind == argJSON:
			value := c.long("argument")
			if c.fail == nil {
				if err = s.json(value); err == nil {
					args, err = fromWire(args, value, nil, false, s.most())
				}
			}
		case kind == argBuffer:
			args = appendBuffer(args, c.long("argument"))
		case kind == argObject:
			args, err = s.object(args, c)
		case kind == argUndefined:
			args = append(args, Undefined...)
		default:
			err = c.broken(codec.ErrByte, "argument of kind %d, 1 to 4 expected", kind)
		}
		if err == nil && len(args) > s.most() {
			err = c.broken(codec.ErrTooLarge, "arguments over %d bytes as JSON", s.most())
		}
		if err != nil {
			return nil, err
		}
		if c.fail != nil {
			return nil, c.fail
		}
	}
	return append(args, ']'), c.end()
}

// object reads an object with buffers.
func (s *session) object(dst []byte, c *cursor) ([]byte, error) {
	n := c.u32("number of buffers")
	value := c.long("object")
	if c.fail != nil {
		return dst, c.fail // before n is believed
	}
	if uint64(n)*4 > uint64(len(c.all)-c.at) {
		return dst, c.broken(codec.ErrTruncated, "%d buffers, %d bytes left", n, len(c.all)-c.at)
	}
	if uint64(n) > uint64(s.lim.Elements) {
		return dst, c.broken(codec.ErrElements, "%d buffers, limit %d", n, s.lim.Elements)
	}
	refs := make([][]byte, n)
	for i := range refs {
		refs[i] = c.long("buffer")
	}
	if c.fail != nil {
		return dst, c.fail
	}
	if err := s.json(value); err != nil {
		return dst, err
	}
	dst = append(dst, `{"`+keyObject+`":`...)
	dst, err := fromWire(dst, value, refs, true, s.most())
	return append(dst, '}'), err
}

// result reads an answer.
func (s *session) result(c *cursor, kind byte) (codec.Raw, error) {
	switch kind {
	case rpcEmpty:
		return nil, c.end()
	case rpcBuffer:
		data := c.long("result")
		if err := c.end(); err != nil {
			return nil, err
		}
		return appendBuffer(nil, data), nil
	case rpcJSONWithBuffers:
		out, err := s.object(nil, c)
		if err != nil {
			return nil, err
		}
		return out, c.end()
	}
	value := c.long("result")
	if err := c.end(); err != nil {
		return nil, err
	}
	if err := s.json(value); err != nil {
		return nil, err
	}
	if plain(value) {
		return value, nil // of the frame, which is nobody else's
	}
	return fromWire(nil, value, nil, false, s.most())
}

// json checks a JSON text of the host's.
func (s *session) json(b []byte) error { return check(b, s.lim) }

// most is how large, in bytes, a payload can become as JSON: base64 takes a
// third more than what it stands for, and a mark one byte more.
func (s *session) most() int {
	if s.lim.Frame > math.MaxInt/2 {
		return math.MaxInt
	}
	return 2 * s.lim.Frame
}

// evidence is the beginning of what is bad.
func evidence(b []byte) []byte { return append([]byte(nil), b[:min(len(b), 64)]...) }

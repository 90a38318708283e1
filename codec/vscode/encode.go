package vscode

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// The types of RPC messages.
const (
	rpcRequest            byte = 1 + iota // arguments as one JSON array
	rpcRequestCancellable                 // and a cancellation token behind them
	rpcMixed                              // arguments one by one
	rpcMixedCancellable
	rpcAck
	rpcCancel
	rpcEmpty // the result is undefined
	rpcBuffer
	rpcJSON
	rpcJSONWithBuffers
	rpcError
	rpcErrorEmpty // the error is undefined
)

// The kinds of arguments in a mixed request.
const (
	argJSON byte = 1 + iota
	argBuffer
	argObject
	argUndefined
)

// Messages of one byte, outside of the RPC.
const (
	byteInitialized byte = 1 + iota
	byteReady
	byteTerminate
)

// Methods of the messages outside of the RPC, as messages of package codec.
const (
	methodReady       = "ready"       // from the host: it waits for the init data
	methodInitialized = "initialized" // from the host: it has them
	methodInit        = "init"        // to the host: the init data
	methodTerminate   = "terminate"   // to the host
)

// rpcHeader is the size of what each RPC message begins with: its type and id.
const rpcHeader = 1 + 4

// maxMethod is the longest name of a method in bytes, without its actor.
const maxMethod = 255

// Append encodes m as one frame; its ack and id are the stream's to fill in. A
// notification is a request whose answer is ignored.
func (s *session) Append(dst []byte, m *codec.Message) ([]byte, error) {
	if n := max(len(m.Params), len(m.Result)); n > 2*s.lim.Frame {
		return dst, tooLarge(n, s.lim.Frame)
	}
	start := len(dst)
	dst = append(dst, make([]byte, persistent.HeaderSize)...)
	out, err := s.body(dst, m)
	if err == nil && len(out)-len(dst) > s.lim.Frame {
		err = tooLarge(len(out)-len(dst), s.lim.Frame)
	}
	if err != nil {
		return dst[:start], err
	}
	out[start] = byte(persistent.Regular)
	binary.BigEndian.PutUint32(out[start+persistent.HeaderSize-4:], uint32(len(out)-start-persistent.HeaderSize))
	return out, nil
}

func (s *session) body(dst []byte, m *codec.Message) ([]byte, error) {
	if m.ID == 0 && m.Kind != codec.Notification {
		return dst, unsendable(codec.ErrShape, "%s without an id", m.Kind)
	}
	switch {
	case m.Kind == codec.Request && m.Method == methodTerminate:
		return append(dst, byteTerminate), nil
	case m.Kind == codec.Notification && m.Method == methodInit:
		return append(dst, m.Params...), nil
	}
	switch m.Kind {
	case codec.Request, codec.Notification:
		return s.request(dst, m)
	case codec.Response:
		if m.Err != nil {
			dst = appendHead(dst, rpcError, m.ID)
			return appendLong(dst, func(dst []byte) ([]byte, error) { return appendError(dst, m.Err, 0), nil })
		}
		return appendResult(dst, m.ID, m.Result)
	case codec.Ack:
		return appendHead(dst, rpcAck, m.ID), nil
	case codec.Cancel:
		return appendHead(dst, rpcCancel, m.ID), nil
	}
	return dst, unsendable(codec.ErrShape, "%s: the protocol has none", m.Kind)
}

// request encodes a call. What nobody waits for the answer of goes under id 0,
// which no call has.
func (s *session) request(dst []byte, m *codec.Message) ([]byte, error) {
	actor, method, ok := strings.Cut(m.Method, ".")
	switch {
	case s.opening.Actors == nil:
		return dst, s.opening.Err
	case !ok || !strings.HasPrefix(method, "$"):
		return dst, unsendable(codec.ErrShape, "method %.64q: Actor.$method expected, such as %q", m.Method, "ExtHostCommands.$executeContributedCommand")
	case len(method) > maxMethod:
		return dst, unsendable(codec.ErrString, "method: %d bytes, limit %d", len(method), maxMethod)
	case !utf8.ValidString(method):
		return dst, unsendable(codec.ErrShape, "method: not UTF-8: %.64q", method)
	}
	number, ok := s.opening.Actors.Number(actor)
	if !ok {
		return dst, unsendable(codec.ErrShape, "method %.64q: VS Code %s has no actor %.64q", m.Method, s.opening.Actors.Version, actor)
	}
	list, err := arguments(m.Params)
	if err != nil {
		return dst, err
	}
	kind := rpcRequest
	if list.mixed {
		kind = rpcMixed
	}
	if list.token {
		kind++
	}
	dst = append(appendHead(dst, kind, m.ID), number, byte(len(method)))
	dst = append(dst, method...)
	if list.mixed {
		return list.append(dst)
	}
	return appendLong(dst, func(dst []byte) ([]byte, error) { return toWire(dst, list.all, nil) })
}

// list is the arguments of a call.
type list struct {
	all   []byte   // as one array, unless they are mixed
	each  [][]byte // one by one, where one of them is marked
	mixed bool
	token bool // a cancellation token was behind them
}

// arguments takes the params of a call apart.
func arguments(params codec.Raw) (list, error) {
	at := jsonwalk.Space(params, 0)
	switch {
	case at == len(params) || string(params[at:min(at+4, len(params))]) == "null":
		return list{all: []byte("[]")}, nil
	case params[at] != '[':
		return list{}, unsendable(codec.ErrShape, "params: an array of arguments expected, %.24q", params[at:])
	case plain(params):
		return list{all: params}, nil
	}
	l := list{all: params}
	for i := jsonwalk.Space(params, at+1); params[i] != ']'; i = jsonwalk.Space(params, i) {
		if params[i] == ',' {
			i = jsonwalk.Space(params, i+1)
		}
		end := jsonwalk.Skip(params, i)
		value := params[i:end]
		i = end
		if l.token {
			return l, unsendable(codec.ErrShape, "%s is not the last argument", token)
		}
		key, _, err := mark(value)
		if err != nil {
			return l, err
		}
		if key == keyToken {
			l.token = true
			continue
		}
		l.mixed = l.mixed || key != ""
		l.each = append(l.each, value)
	}
	if l.mixed && len(l.each) > 255 {
		return l, unsendable(codec.ErrElements, "%d arguments, limit 255 where one is no JSON", len(l.each))
	}
	if l.token && !l.mixed { // without the token
		all := []byte("[")
		for i, value := range l.each {
			if i > 0 {
				all = append(all, ',')
			}
			all = append(all, value...)
		}
		l.all = append(all, ']')
	}
	return l, nil
}

// append encodes mixed arguments.
func (l list) append(dst []byte) ([]byte, error) {
	dst = append(dst, byte(len(l.each)))
	for _, value := range l.each {
		key, inner, err := mark(value)
		if err != nil {
			return dst, err
		}
		switch key {
		case keyUndefined:
			dst = append(dst, argUndefined)
		case keyBuffer:
			data, err := buffer(inner)
			if err != nil {
				return dst, err
			}
			dst = appendData(append(dst, argBuffer), data)
		case keyObject:
			dst, err = appendObject(append(dst, argObject), inner)
		default:
			dst, err = appendLong(append(dst, argJSON), func(dst []byte) ([]byte, error) { return toWire(dst, value, nil) })
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendResult encodes an answer.
func appendResult(dst []byte, id uint32, result codec.Raw) ([]byte, error) {
	value := result[jsonwalk.Space(result, 0):]
	if len(value) == 0 {
		return appendHead(dst, rpcEmpty, id), nil
	}
	if plain(value) {
		return appendData(appendHead(dst, rpcJSON, id), value), nil
	}
	key, inner, err := mark(value)
	if err != nil {
		return dst, err
	}
	switch key {
	case keyUndefined:
		return appendHead(dst, rpcEmpty, id), nil
	case keyToken:
		return dst, unsendable(codec.ErrShape, "%s is no result", token)
	case keyBuffer:
		data, err := buffer(inner)
		if err != nil {
			return dst, err
		}
		return appendData(appendHead(dst, rpcBuffer, id), data), nil
	case keyObject:
		return appendObject(appendHead(dst, rpcJSONWithBuffers, id), inner)
	}
	return appendLong(appendHead(dst, rpcJSON, id), func(dst []byte) ([]byte, error) { return toWire(dst, value, nil) })
}

// appendObject encodes an object with buffers.
func appendObject(dst, value []byte) ([]byte, error) {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	var refs [][]byte
	dst, err := appendLong(dst, func(dst []byte) ([]byte, error) { return toWire(dst, value, &refs) })
	if err != nil {
		return dst, err
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(refs)))
	for _, data := range refs {
		dst = appendData(dst, data)
	}
	return dst, nil
}

func appendHead(dst []byte, kind byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, kind), id)
}

func appendData(dst, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(data))), data...)
}

// appendLong writes the length of what is appended in front of it.
func appendLong(dst []byte, more func([]byte) ([]byte, error)) ([]byte, error) {
	at := len(dst)
	dst, err := more(append(dst, 0, 0, 0, 0))
	if err == nil {
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, err
}

// check is what payloads of the host have to pass.
func check(b []byte, lim codec.Limits) error { return jsonrpc.Check(b, lim) }

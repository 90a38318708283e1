package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
)

// frame is a message in pieces, so that its length is known before anything
// is copied. The scratch is used again for each message.
type frame struct {
	scratch []byte
	parts   [6]part
	n       int
	bytes   int
}

// part is a payload, or what lies in the scratch from one place to another.
type part struct {
	payload  []byte
	from, to int
}

func (f *frame) reset() {
	if cap(f.scratch) > 64<<10 {
		f.scratch = nil
	}
	*f = frame{scratch: f.scratch[:0]}
}

// add adds a payload, of which nothing is kept after the message.
func (f *frame) add(payload []byte) {
	f.parts[f.n] = part{payload: payload}
	f.n++
	f.bytes += len(payload)
}

// text returns what a part holds.
func (f *frame) text(p part) []byte {
	if p.payload != nil {
		return p.payload
	}
	return f.scratch[p.from:p.to]
}

// flush makes a part of what was written to the scratch since from.
func (f *frame) flush(from int) {
	f.parts[f.n] = part{from: from, to: len(f.scratch)}
	f.n++
	f.bytes += len(f.scratch) - from
}

// Append encodes m behind dst. Params and Result are taken as they are: what
// [Encoding.Marshal] or a Reader returned has been checked. Params that are
// nil or null are left out; a nil Result is null, or {} for MCP, where a result
// has to be an object.
//
// A *[codec.FrameError]: an ack, item or credit, which JSON-RPC has not; params
// that are neither object nor array; a response to a request that the host did
// not make or that was answered before; a message over the frame limit.
func (s *Session) Append(dst []byte, m *codec.Message) ([]byte, error) {
	f := &s.body
	f.reset()
	defer f.reset()
	if err := s.build(f, m); err != nil {
		return dst, err
	}
	dst = s.head(dst, f)
	for _, p := range f.parts[:f.n] {
		dst = s.put(dst, f.text(p))
	}
	if s.lines {
		dst = append(dst, '\n')
	}
	s.sent(m)
	return dst, nil
}

// AppendParts implements [codec.SessionFeatures].
func (s *Session) AppendParts(dst [][]byte, m *codec.Message) ([][]byte, error) {
	f := &s.body
	f.reset()
	defer f.reset()
	if err := s.build(f, m); err != nil {
		return dst, err
	}
	buf := s.head(nil, f)
	for _, p := range f.parts[:f.n] {
		text := f.text(p)
		if len(p.payload) < 4*codec.PartEdge || s.lines && bytes.ContainsAny(text, "\r\n") {
			buf = s.put(buf, text)
			continue
		}
		end := len(text) - codec.PartEdge
		dst = append(dst, append(buf, text[:codec.PartEdge]...), text[codec.PartEdge:end:end])
		buf = bytes.Clone(text[end:])
	}
	if s.lines {
		buf = append(buf, '\n')
	}
	s.sent(m)
	return append(dst, buf), nil
}

// head begins a message.
func (s *Session) head(dst []byte, f *frame) []byte {
	if s.lines {
		return dst
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(f.bytes), 10)
	return append(dst, "\r\n\r\n"...)
}

// put puts a part of a message behind dst.
func (s *Session) put(dst, text []byte) []byte {
	from := len(dst)
	dst = append(dst, text...)
	if s.lines {
		blank(dst[from:])
	}
	return dst
}

// sent forgets what no further message is about.
func (s *Session) sent(m *codec.Message) {
	switch m.Kind {
	case codec.Response:
		s.ids.forget(m.ID)
	case codec.Cancel:
		s.progress.forget(m.ID)
	}
}

// blank makes spaces of line ends, which in JSON stand between values only.
func blank(b []byte) {
	for _, end := range [...]byte{'\n', '\r'} {
		for rest := b; ; {
			i := bytes.IndexByte(rest, end)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}

// build makes the parts of a message that can be sent.
func (s *Session) build(f *frame, m *codec.Message) error {
	if err := s.shape(f, m); err != nil {
		return err
	}
	if f.bytes > s.lim.Frame {
		return unsendable(codec.ErrTooLarge, "%d bytes, limit %d", f.bytes, s.lim.Frame)
	}
	return nil
}

func (s *Session) shape(f *frame, m *codec.Message) error {
	if m.ID == 0 && m.Kind != codec.Notification {
		return unsendable(codec.ErrShape, "%s without an id", m.Kind)
	}
	switch m.Kind {
	case codec.Request, codec.Notification:
		if err := checkMethod(m.Method); err != nil {
			return err
		}
		if c := first(m.Params); c != 0 && c != '{' && c != '[' && string(bytes.TrimSpace(m.Params)) != "null" {
			return unsendable(codec.ErrShape, "params of %s: an object or an array expected, %s", m.Method, quote(m.Params, 24))
		}
		f.scratch = append(f.scratch, `{"jsonrpc":"2.0",`...)
		if m.Kind == codec.Request {
			f.scratch = append(f.scratch, `"id":`...)
			f.scratch = strconv.AppendUint(f.scratch, uint64(m.ID), 10)
			f.scratch = append(f.scratch, ',')
		}
		f.scratch = append(f.scratch, `"method":`...)
		f.scratch = appendString(f.scratch, m.Method)
		s.app.params(s, m, f)
	case codec.Response:
		asked := s.ids.original(m.ID)
		if asked.id == "" {
			return unsendable(codec.ErrID, "response to request %d, which the host did not make or which was answered", m.ID)
		}
		f.scratch = append(append(append(f.scratch, `{"jsonrpc":"2.0","id":`...), asked.id...), ',')
		switch {
		case m.Err != nil && !(asked.life && m.Err.Name == codec.NameMethodNotFound):
			f.scratch = append(f.scratch, `"error":`...)
			f.scratch = append(s.appendError(f.scratch, m.Err), '}')
			f.flush(0)
		case m.Err != nil, len(m.Result) == 0, string(m.Result) == "null":
			f.scratch = append(append(append(f.scratch, `"result":`...), s.app.none()...), '}')
			f.flush(0)
		default:
			f.scratch = append(f.scratch, `"result":`...)
			f.flush(0)
			f.add(m.Result)
			f.add(closing)
		}
	case codec.Cancel:
		f.scratch = s.app.cancel(f.scratch, m.ID)
		f.flush(0)
	default:
		return unsendable(codec.ErrShape, "%s: JSON-RPC has none", m.Kind)
	}
	return nil
}

var closing = []byte("}")

// plain sends params as they are, behind what is in the scratch.
func (f *frame) plain(params codec.Raw) {
	if c := first(params); c != '{' && c != '[' {
		f.scratch = append(f.scratch, '}')
		f.flush(0)
		return
	}
	f.scratch = append(f.scratch, `,"params":`...)
	f.flush(0)
	f.add(params)
	f.add(closing)
}

// insert sends params with members put in front of those of the object whose
// brace is at at; more tells that it has members.
func (f *frame) insert(params codec.Raw, at int, more bool, members func([]byte) []byte) {
	f.scratch = append(f.scratch, `,"params":`...)
	f.flush(0)
	f.add(params[:at+1])
	from := len(f.scratch)
	f.scratch = members(f.scratch)
	if more {
		f.scratch = append(f.scratch, ',')
	}
	f.flush(from)
	f.add(params[at+1:])
	f.add(closing)
}

// first is the first byte of a value; 0 of none.
func first(raw codec.Raw) byte {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func checkMethod(method string) error {
	switch {
	case method == "":
		return unsendable(codec.ErrShape, "method: empty")
	case len(method) > MaxMethod:
		return unsendable(codec.ErrString, "method: %d bytes, limit %d", len(method), MaxMethod)
	case !utf8.ValidString(method):
		return unsendable(codec.ErrShape, "method: not UTF-8: %.64q", method)
	}
	return nil
}

// unsendable is what this side was asked to say and does not.
func unsendable(err error, format string, args ...any) error {
	return &codec.FrameError{Err: err, Offset: -1, Detail: fmt.Sprintf(format, args...)}
}

package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

const (
	// MaxMethod is the length of the longest method name, in bytes.
	MaxMethod = 1024
	// MaxID is the length of the longest id of a peer's request, in bytes as
	// it is written.
	MaxID = 1024
)

// span is a part of the bytes that are scanned; the zero span is a member
// that was not there.
type span struct{ from, to int }

func (p span) in(b []byte) []byte { return b[p.from:p.to:p.to] }
func (p span) there() bool        { return p.to > p.from }

// isNull says whether the member is there and null.
func (p span) isNull(b []byte) bool { return string(p.in(b)) == "null" }

// says whether the member is there and something else than null.
func (p span) says(b []byte) bool { return p.there() && !p.isNull(b) }

// envelope is a message's members, undecoded.
type envelope struct {
	b                                          []byte
	version, id, method, params, result, fault span
	at                                         int // of the opening brace
	end                                        int // behind the closing one
}

// empty says that the object has nothing of a JSON-RPC message.
func (e *envelope) empty() bool {
	return !(e.version.there() || e.id.there() || e.method.there() || e.result.there() || e.fault.there())
}

// readEnvelope takes the object at the scanner's position apart, each byte
// scanned once. Of a key that comes twice the last value counts, as it does
// for JSON.parse.
func readEnvelope(s *scanner, base int) (envelope, error) {
	e := envelope{b: s.B, at: s.Pos}
	if s.At() != '{' {
		return e, s.shape(s.Pos, "a message is an object, "+quote(s.B[s.Pos:], 24))
	}
	if base >= s.Depth {
		return e, s.err(jsonwalk.TooDeep)
	}
	s.Maps++
	s.Pos++
	s.Space()
	if s.At() == '}' {
		s.Pos++
		e.end = s.Pos
		return e, nil
	}
	for {
		from := s.Pos
		if f := s.Element(true); f != jsonwalk.OK {
			return e, s.err(f)
		}
		member := e.member(s.B[from:s.Pos])
		from = s.Pos
		if f := s.Value(base + 1); f != jsonwalk.OK {
			return e, s.err(f)
		}
		if member != nil {
			*member = span{from, s.Pos}
		}
		s.Space()
		switch s.At() {
		case ',':
			s.Pos++
			s.Space()
		case '}':
			s.Pos++
			e.end = s.Pos
			return e, nil
		default:
			if s.Pos >= len(s.B) {
				return e, s.err(jsonwalk.Truncated)
			}
			return e, s.err(jsonwalk.BadByte)
		}
	}
}

// member is the field for a key, which stands at the front of text.
func (e *envelope) member(text []byte) *span {
	switch string(keyOf(text)) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.fault
	}
	return nil
}

// keyOf is the key at the front of text, which was scanned: a string and what
// follows up to the value. A long key that needs decoding is none of those
// that are looked for.
func keyOf(text []byte) []byte {
	end := bytes.IndexByte(text[1:], '"') + 1
	if plain := text[1:end]; bytes.IndexByte(plain, '\\') < 0 {
		return plain[:min(len(plain), 64)]
	}
	end = bytes.LastIndexByte(text, '"') + 1
	var key string
	if end > 512 || json.Unmarshal(text[:end], &key) != nil {
		return nil
	}
	return []byte(key)
}

// fields calls each with the key and the place of each member of the object
// that b is; b was checked. It returns false when b is no object.
func fields(b []byte, each func(key string, value span)) bool {
	s := newScanner(b, codec.Limits{Depth: MaxDepth, Elements: math.MaxInt32, String: len(b), Frame: len(b)})
	s.Space()
	if s.At() != '{' {
		return false
	}
	s.Pos++
	s.Space()
	for s.At() == '"' {
		from := s.Pos
		if s.Element(true) != jsonwalk.OK {
			return false
		}
		key := string(keyOf(b[from:s.Pos]))
		from = s.Pos
		if s.Value(1) != jsonwalk.OK {
			return false
		}
		each(key, span{from, s.Pos})
		s.Space()
		if s.At() == ',' {
			s.Pos++
			s.Space()
		}
	}
	return true
}

// text is the string that raw is, and whether it is one.
func text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// ownID is the number of a request of this side's that raw is; 0 when it is
// none.
func ownID(raw []byte) uint32 {
	if len(raw) == 0 || raw[0] < '1' || raw[0] > '9' {
		return 0
	}
	n, err := strconv.ParseUint(string(raw[:min(len(raw), 12)]), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// peerID says whether raw may be the id of a peer's request: a string or an
// integer.
func peerID(raw []byte) bool {
	return raw[0] == '"' || (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && !bytes.ContainsAny(raw, ".eE")
}

// message makes a message of the envelope. own copies a payload, where it has
// to be copied. skip tells that there is nothing to hand out.
func (s *Session) message(e *envelope, m *codec.Message, own func([]byte) codec.Raw) (skip bool, err error) {
	b := e.b
	if e.version.there() {
		if v := e.version.in(b); string(v) != `"2.0"` {
			return false, e.shape(e.version.from, fmt.Sprintf(`jsonrpc is %s, "2.0" expected`, quote(v, 24)))
		}
	}
	if e.method.there() {
		return s.asked(e, m, own)
	}
	return false, s.answered(e, m, own)
}

// asked is a request or a notification.
func (s *Session) asked(e *envelope, m *codec.Message, own func([]byte) codec.Raw) (skip bool, err error) {
	b := e.b
	method, is := text(e.method.in(b))
	switch {
	case !is || method == "":
		return false, e.shape(e.method.from, fmt.Sprintf("method is %s, a string expected", quote(e.method.in(b), 24)))
	case len(method) > MaxMethod:
		return false, e.frame(codec.ErrString, e.method.from, fmt.Sprintf("method of %d bytes, limit %d", len(method), MaxMethod))
	case e.result.says(b) || e.fault.says(b):
		return false, e.shape(e.at, fmt.Sprintf("method %s beside a result or an error", quote([]byte(method), 64)))
	}
	payload := func() codec.Raw {
		if !e.params.says(b) {
			return nil
		}
		return own(e.params.in(b))
	}
	if !e.id.there() {
		*m = codec.Message{Kind: codec.Notification, Method: method}
		if s.app.cancels(method) && !s.sessionless() {
			// The gone request of the peer's; one that is unknown was answered.
			m.Kind, m.Method = codec.Cancel, ""
			m.ID = s.ids.given(s.app.cancelled(e.params.in(b)))
			return m.ID == 0, nil
		}
		m.ID = s.progress.of(s.app, method, e.params.in(b))
		m.Params = payload()
		return false, nil
	}
	id := e.id.in(b)
	switch {
	case !peerID(id):
		return false, e.shape(e.id.from, fmt.Sprintf("request %s with id %s, a string or an integer expected", quote([]byte(method), 64), quote(id, 24)))
	case len(id) > MaxID:
		return false, e.frame(codec.ErrString, e.id.from, fmt.Sprintf("id of %d bytes, limit %d", len(id), MaxID))
	}
	n, err := s.ids.give(string(id), s.lines && method == methodPing)
	if err != nil {
		return false, e.frame(err, e.id.from, fmt.Sprintf("request %s with id %s: %s", quote([]byte(method), 64), quote(id, 24), detail[err]))
	}
	*m = codec.Message{Kind: codec.Request, ID: n, Method: method, Params: payload()}
	return false, nil
}

// answered is a response. One with neither result nor error is tolerated: it
// is what servers send whose language leaves out what is nil.
func (s *Session) answered(e *envelope, m *codec.Message, own func([]byte) codec.Raw) error {
	b := e.b
	failed := e.fault.says(b)
	switch {
	case failed && e.result.says(b):
		return e.shape(e.at, "both a result and an error")
	case !e.id.there() && !failed:
		return e.shape(e.at, "neither a method nor an id")
	case !e.id.there() || e.id.isNull(b):
		if !failed {
			return e.frame(codec.ErrID, e.at, "response with id null")
		}
		err := s.readError(e.fault.in(b), own)
		return e.shape(e.at, fmt.Sprintf("the host could not read what we sent: %s (code %d)", quote([]byte(err.Message), 256), err.Code))
	}
	id := ownID(e.id.in(b))
	if id == 0 {
		return e.frame(codec.ErrID, e.id.from, fmt.Sprintf("response to request %s; ours are numbered from 1", quote(e.id.in(b), 24)))
	}
	*m = codec.Message{Kind: codec.Response, ID: id}
	s.progress.forget(id)
	if failed {
		m.Err = s.readError(e.fault.in(b), own)
	} else if e.result.says(b) {
		m.Result = own(e.result.in(b))
	}
	return nil
}

func (e *envelope) shape(at int, detail string) error { return e.frame(codec.ErrShape, at, detail) }

func (e *envelope) frame(err error, at int, detail string) error {
	return &codec.FrameError{Err: err, Offset: at, Detail: detail, Bytes: evidence(e.b), InMessage: true}
}

func (s *scanner) shape(at int, detail string) error {
	return &codec.FrameError{Err: codec.ErrShape, Offset: at, Detail: detail, Bytes: evidence(s.B), InMessage: true}
}

package wire

import "errors"

// Kind tells messages apart.
type Kind int

// The kinds.
const (
	KindRequest Kind = iota
	KindNotification
	KindResult // of a request of ours
	KindError  // likewise
)

// Message is one decoded message. Params, Result and Error share the memory of
// what was decoded.
type Message struct {
	Kind   Kind
	ID     ID     // of a request or of an answer
	Method string // of a request or a notification
	Params []byte // JSON; nil when absent
	Result []byte // JSON of an answer
	Err    *Error // of an answer with an error
}

var errNotObject = errors.New("expected a JSON-RPC object")

// Decode decodes one message. Its error is in the words that the answer to
// malformed input has; see [MalformedWebSocket] and [MalformedStdio].
func Decode(b []byte) (*Message, error) {
	s := scanner{b: b, keys: spareKeys.Get().(*keys)}
	defer s.keys.free()
	var id, method, params, result, failure, trace []byte
	isObject := s.peek() == '{'
	member := func(key, value []byte) {
		switch string(key) {
		case `"id"`:
			id = value
		case `"method"`:
			method = value
		case `"params"`:
			params = value
		case `"result"`:
			result = value
		case `"error"`:
			failure = value
		case `"trace"`:
			trace = value
		}
	}
	var err error
	if isObject {
		err = s.object(member)
	} else {
		err = s.value()
	}
	switch s.peek(); {
	case err != nil:
		return nil, err
	case s.i < len(b):
		return nil, s.fail("trailing characters", s.i+1)
	case !isObject:
		return nil, errNotObject
	}

	m := &Message{Params: params}
	switch {
	case method != nil && id != nil:
		m.Kind = KindRequest
		m.ID, err = parseID(id)
	case method != nil:
		m.Kind = KindNotification
	case result != nil:
		m.Kind, m.Result = KindResult, result
	default:
		m.Kind = KindError
		if failure == nil {
			return nil, missing("error")
		}
		m.Err = new(Error)
		err = decodeInto(failure, m.Err)
	}
	if err == nil && m.Kind >= KindResult {
		if id == nil {
			return nil, missing("id")
		}
		m.ID, err = parseID(id)
	}
	if err == nil && method != nil {
		err = decodeInto(method, &m.Method)
	}
	if err == nil && trace != nil {
		var t *TraceContext
		err = decodeInto(trace, &t)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// TraceContext may come with any request or notification. It is not used.
type TraceContext struct {
	TraceParent *string `json:"traceparent"`
	TraceState  *string `json:"tracestate"`
}

// MalformedWebSocket is the message of the error that answers, with id -1, what
// Decode refused on a WebSocket whose other end is peer.
func MalformedWebSocket(peer string, err error) string {
	return "failed to parse websocket JSON-RPC message from exec-server websocket " + peer + ": " + err.Error()
}

// MalformedStdio is the same for a connection by lines.
func MalformedStdio(err error) string {
	return "failed to parse JSON-RPC message from exec-server stdio: " + err.Error()
}

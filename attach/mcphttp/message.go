package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// Codes of JSON-RPC and MCP for what this package answers by itself.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeInternal       = -32603
	codeNoSession      = -32001
	codeMismatch       = -32020
)

const (
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
	methodProgress   = "notifications/progress"
)

// message is what decides where a message goes.
type message struct {
	kind   codec.Kind // Request, Notification or Response
	id     string     // as it is written; "" of a notification
	method string     // "" of a response
	token  string     // the token of progress, as it is written: that a request gives, or that a notification is about
	text   []byte
}

// messageOf reads a message that is valid.
func messageOf(text []byte) message {
	m := message{kind: codec.Response, text: text}
	var params []byte
	jsonwalk.Object(text, func(name string, value []byte) bool {
		switch name {
		case "id":
			m.id = string(value)
		case "method":
			m.method = jsonwalk.Text(value)
		case "params":
			params = value
		}
		return true
	})
	switch {
	case m.method != "" && m.id != "":
		m.kind = codec.Request
		if bytes.Contains(params, []byte("progressToken")) {
			m.token = string(jsonwalk.Find(params, "_meta.progressToken"))
		}
	case m.method != "":
		m.kind, m.id = codec.Notification, ""
		switch m.method {
		case methodProgress:
			m.token = string(jsonwalk.Member(params, "progressToken"))
		case methodCancelled:
			m.id = string(jsonwalk.Member(params, "requestId"))
		}
	}
	return m
}

// protocolError is what a caller did wrong, with the status that says so.
type protocolError struct {
	status int
	code   int
	text   string
}

func (e *protocolError) Error() string { return e.text }

func wrong(status, code int, format string, args ...any) error {
	return &protocolError{status, code, fmt.Sprintf(format, args...)}
}

// read takes the body of a request apart: one message, or a list of them. line is the body
// in one line. It must be a message, or several, to the codec of the host, which would end
// the session for anything else.
func read(body []byte, p codec.Protocol, lim codec.Limits) (list []message, line []byte, err error) {
	var out bytes.Buffer
	out.Grow(len(body) + 1)
	if err := json.Compact(&out, body); err != nil {
		return nil, nil, wrong(400, codeParse, "the body is not JSON: %v", err)
	}
	line = append(out.Bytes(), '\n')
	r := p.Open(lim).NewReader(bytes.NewReader(line))
	for {
		var m codec.Message
		if err := r.Next(&m); errors.Is(err, io.EOF) {
			break
		} else if errors.Is(err, codec.ErrTooLarge) {
			return nil, nil, wrong(413, codeInvalidRequest, "%v", err)
		} else if err != nil {
			return nil, nil, wrong(400, codeInvalidRequest, "the body is not a message: %v", err)
		}
	}
	switch line[0] {
	case '{':
		list = append(list, messageOf(line[:len(line)-1]))
	case '[':
		jsonwalk.Array(line, func(value []byte) bool {
			list = append(list, messageOf(value))
			return true
		})
	}
	for _, m := range list {
		if m.method == "" && m.id == "" {
			list = nil
			break
		}
	}
	if len(list) == 0 {
		return nil, nil, wrong(400, codeInvalidRequest, "the body is not a JSON-RPC message: an object with a method, or with an id and a result or an error")
	}
	return list, line, nil
}

// failure is a response that says why a request has no other. id is as it is written.
func failure(id string, code int, reason string) []byte {
	if id == "" {
		id = "null"
	}
	text := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":`, id, code)
	return append(jsonwalk.AppendText(text, reason), "}}"...)
}

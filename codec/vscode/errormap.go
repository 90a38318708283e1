package vscode

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// canceled is the name and the message of the error that says that something
// was cancelled.
const canceled = "Canceled"

// maxCauses is how long a chain of causes is read and written.
const maxCauses = 16

// wireError is an error as it is on the wire.
type wireError struct {
	IsError *bool           `json:"$isError"`
	Name    *string         `json:"name"`
	Message *string         `json:"message"`
	Stack   json.RawMessage `json:"stack"` // a string, or the frames of one
	Code    json.RawMessage `json:"code"`  // a string or a number
	Cause   json.RawMessage `json:"cause"`
}

// refusal reads an error of the host.
func (s *session) refusal(c *cursor, kind byte) (*codec.Error, error) {
	if kind == rpcErrorEmpty {
		return &codec.Error{Message: "rejected without a reason"}, c.end()
	}
	value := c.long("error")
	if err := c.end(); err != nil {
		return nil, err
	}
	if err := s.json(value); err != nil {
		return nil, err
	}
	data, err := fromWire(nil, value, nil, false, s.most())
	if err != nil {
		return nil, err
	}
	e := readError(value, 0)
	e.Data = data
	return e, nil
}

// readError understands what a promise was rejected with.
func readError(value []byte, depth int) *codec.Error {
	var w wireError
	if err := json.Unmarshal(value, &w); err != nil || w.IsError == nil || !*w.IsError {
		// Anything may be thrown.
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value[:min(len(value), 1024)])
		}
		return &codec.Error{Message: text}
	}
	e := &codec.Error{Name: deref(w.Name), Message: deref(w.Message)}
	if json.Unmarshal(w.Stack, &e.Stack) != nil {
		e.Stack = string(w.Stack)
	}
	if code, err := strconv.ParseInt(string(w.Code), 10, 64); err == nil {
		e.Code = code
	}
	if len(w.Cause) > 0 && string(w.Cause) != "null" && depth < maxCauses {
		e.Cause = readError(w.Cause, depth+1)
	}
	switch {
	case e.Name == canceled && e.Message == canceled:
		e.Name = codec.NameCancelled
	case e.Name == "Error" && (strings.HasPrefix(e.Message, "Unknown method $") && strings.Contains(e.Message, " on actor ") || strings.HasPrefix(e.Message, "Unknown actor ")):
		e.Name = codec.NameMethodNotFound
	}
	return e
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// appendError writes an error for the host.
func appendError(dst []byte, e *codec.Error, depth int) []byte {
	name, message := e.Name, e.Message
	if name == codec.NameCancelled {
		// What an extension takes for a cancellation.
		name, message = canceled, canceled
	}
	dst = jsonwalk.AppendText(append(dst, `{"$isError":true,"name":`...), name)
	dst = jsonwalk.AppendText(append(dst, `,"message":`...), message)
	dst = jsonwalk.AppendText(append(dst, `,"stack":`...), e.Stack)
	dst = append(dst, `,"noTelemetry":false`...)
	if e.Code != 0 {
		dst = strconv.AppendInt(append(dst, `,"code":`...), e.Code, 10)
	}
	if e.Cause != nil && depth < maxCauses {
		dst = appendError(append(dst, `,"cause":`...), e.Cause, depth+1)
	}
	return append(dst, '}')
}

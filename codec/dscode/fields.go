package dscode

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// fields are those of a message.
type fields struct {
	id, kind string
	payload  codec.Raw // nil for null, and for none
}

// takeApart checks a frame's body and finds the fields of the message. What
// else the object holds is ignored.
func takeApart(body []byte, lim codec.Limits) (fields, error) {
	var f fields
	if err := jsonrpc.Check(body, lim); err != nil {
		return f, err
	}
	i := jsonwalk.Space(body, 0)
	if body[i] != '{' {
		return f, misshapen(body, i, "an object expected")
	}
	var id, kind, payload span
	for i = jsonwalk.Space(body, i+1); body[i] != '}'; i = jsonwalk.Space(body, i) {
		if body[i] == ',' {
			i = jsonwalk.Space(body, i+1)
		}
		key := span{i, jsonwalk.Skip(body, i)}
		i = jsonwalk.Space(body, key.to)
		i = jsonwalk.Space(body, i+1) // over the colon
		value := span{i, jsonwalk.Skip(body, i)}
		i = value.to
		name := key.name(body)
		var into *span
		switch name {
		case "id":
			into = &id
		case "type":
			into = &kind
		case "payload":
			into = &payload
		default:
			continue
		}
		if into.to > 0 {
			return f, misshapen(body, key.from, "there are two of %q", name)
		}
		*into = value
	}
	var err error
	if f.id, err = id.text(body, "id", MaxID); err != nil {
		return f, err
	}
	if f.kind, err = kind.text(body, "type", MaxMethod); err != nil {
		return f, err
	}
	if f.kind == "" {
		return f, misshapen(body, kind.from, "type: empty")
	}
	if raw := body[payload.from:payload.to:payload.to]; len(raw) > 0 && string(raw) != "null" {
		f.payload = raw
	}
	return f, nil
}

// span is a part of a body; the zero span is what was not there.
type span struct{ from, to int }

// name is what a key says. One that is longer than those that are looked for
// need not be decoded.
func (p span) name(b []byte) string {
	raw := b[p.from+1 : p.to-1]
	switch {
	case len(raw) > 6*len("payload"):
		return ""
	case bytes.IndexByte(raw, '\\') < 0:
		return string(raw)
	}
	var name string
	_ = json.Unmarshal(b[p.from:p.to], &name) // it was checked
	return name
}

// text is what a string says that has to be there.
func (p span) text(b []byte, what string, most int) (string, error) {
	switch {
	case p.to == 0:
		return "", misshapen(b, -1, "no %q in the object", what)
	case b[p.from] != '"':
		return "", misshapen(b, p.from, "%s: a string expected", what)
	case p.to-p.from-2 > most:
		return "", &codec.FrameError{Err: codec.ErrString, Offset: p.from, Detail: fmt.Sprintf("%s: %d bytes, limit %d", what, p.to-p.from-2, most), Bytes: start(b)}
	}
	if raw := b[p.from+1 : p.to-1]; bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), nil
	}
	var text string
	if err := json.Unmarshal(b[p.from:p.to], &text); err != nil {
		return "", misshapen(b, p.from, "%s: %v", what, err)
	}
	return text, nil
}

func misshapen(body []byte, at int, format string, args ...any) error {
	return &codec.FrameError{Err: codec.ErrShape, Offset: at, Detail: fmt.Sprintf(format, args...), Bytes: start(body)}
}

package dscode

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
)

// fields are those of a message.
type fields struct {
	id, kind string
	payload  codec.Raw // nil for null, and for none
}

// takeApart checks a frame's body and finds the fields of the message. What
// else the object holds is checked and ignored.
func takeApart(body []byte, lim codec.Limits) (fields, error) {
	var f fields
	s := scanner{b: body, lim: lim}
	if err := s.utf8(); err != nil {
		return f, err
	}
	s.space()
	if s.peek() != '{' {
		return f, s.shape("%s, an object expected", s.seen())
	}
	var have struct{ id, kind, payload bool }
	err := s.object(1, func(key string) error {
		var into *string
		var seen *bool
		most := MaxMethod
		switch key {
		case "id":
			into, seen, most = &f.id, &have.id, MaxID
		case "type":
			into, seen = &f.kind, &have.kind
		case "payload":
			seen = &have.payload
		default:
			return s.value(1)
		}
		if *seen {
			return s.shape("%s: there are two", key)
		}
		*seen = true
		at := s.pos
		if into == nil {
			if err := s.value(1); err != nil {
				return err
			}
			if raw := body[at:s.pos:s.pos]; string(raw) != "null" {
				f.payload = raw
			}
			return nil
		}
		if s.peek() != '"' {
			return s.shape("%s: %s, a string expected", key, s.seen())
		}
		text, err := s.text()
		if err != nil {
			return err
		}
		if len(text) > most {
			s.pos = at
			return s.fail(codec.ErrString, "%s: %d bytes, limit %d", key, len(text), most)
		}
		*into = text
		return nil
	})
	if err != nil {
		return f, err
	}
	if err := s.end(); err != nil {
		return f, err
	}
	switch {
	case !have.id:
		return f, missing(body, "id")
	case !have.kind:
		return f, missing(body, "type")
	case f.kind == "":
		return f, &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: "type: empty", Bytes: start(body)}
	}
	return f, nil
}

func missing(body []byte, key string) error {
	return &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: fmt.Sprintf("no %q in the object", key), Bytes: start(body)}
}

// appendString appends a text as JSON. What is not UTF-8 becomes U+FFFD.
func appendString(dst []byte, text string) []byte {
	plain := utf8.ValidString(text)
	for i := 0; plain && i < len(text); i++ {
		c := text[i]
		plain = c >= ' ' && c != '"' && c != '\\'
	}
	if plain {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil { // there is no text that cannot be encoded
		return append(dst, `""`...)
	}
	return append(dst, quoted...)
}

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// ID is the id of a request: a string or a 64-bit integer. The zero value is
// the integer 0.
type ID struct {
	text   string
	number int64
	isText bool
}

// IntID returns the id n.
func IntID(n int64) ID { return ID{number: n} }

// TextID returns the id s.
func TextID(s string) ID { return ID{text: s, isText: true} }

// UnknownID is the id in the answer to a message whose id is not known.
var UnknownID = IntID(-1)

// Int returns the number of an id that is one.
func (id ID) Int() (int64, bool) { return id.number, !id.isText }

// String returns the id for logs.
func (id ID) String() string {
	if id.isText {
		return strconv.Quote(id.text)
	}
	return strconv.FormatInt(id.number, 10)
}

// AppendJSON appends the id as JSON.
func (id ID) AppendJSON(b []byte) []byte {
	if id.isText {
		return AppendString(b, id.text)
	}
	return strconv.AppendInt(b, id.number, 10)
}

// MarshalJSON implements json.Marshaler.
func (id ID) MarshalJSON() ([]byte, error) { return id.AppendJSON(nil), nil }

var errID = errors.New("data did not match any variant of untagged enum RequestId")

// UnmarshalJSON implements json.Unmarshaler.
func (id *ID) UnmarshalJSON(raw []byte) error {
	got, err := parseID(raw)
	if err == nil {
		*id = got
	}
	return err
}

// parseID reads a valid JSON value as an id.
func parseID(raw []byte) (ID, error) {
	switch {
	case len(raw) > 0 && raw[0] == '"':
		s, err := unquote(raw)
		if err != nil {
			return ID{}, errID
		}
		return TextID(s), nil
	case len(raw) == 0 || len(raw) > 20:
		return ID{}, errID
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || raw[0] == '+' {
		return ID{}, errID
	}
	return IntID(n), nil
}

// unquote decodes a valid JSON string.
func unquote(raw []byte) (string, error) {
	switch {
	case len(raw) < 2 || raw[0] != '"':
		return "", errID
	case bytes.IndexByte(raw, '\\') < 0:
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string // on the heap
	err := json.Unmarshal(raw, &s)
	return s, err
}

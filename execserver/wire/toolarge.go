package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// tooLarge is the text of the error for a message that a server has passed over.
const tooLarge = "message is too large: limit is %d bytes"

// TooLarge is the error that answers a message of more than limit bytes.
func TooLarge(limit int) *Error { return InvalidRequest(tooLarge, limit) }

// TooLargeLimit returns the limit that a [TooLarge] tells. It is not ok for any
// other error.
func (e *Error) TooLargeLimit() (limit int, ok bool) {
	if e.Code != CodeInvalidRequest {
		return 0, false
	}
	n, err := fmt.Sscanf(e.Message, tooLarge, &limit)
	return limit, n == 1 && err == nil
}

// RequestID returns the id of a request of which only the beginning and the end
// are known, and which lacks something between them. It is not ok when the two
// do not have both the id and the method, each as a member of the message
// itself.
func RequestID(beginning, end []byte) (id ID, ok bool) {
	id, hasID, hasMethod := idAndMethod(beginning, false)
	// The quotes of a name within a string are escaped, so what begins with a name,
	// and is an object with a brace before it, is the rest of the message.
	for at := len(end); !hasID || !hasMethod; {
		at = bytes.LastIndexByte(end[:at], '"')
		if at < 0 {
			return id, false
		}
		if rest := end[at:]; bytes.HasPrefix(rest, []byte(`"id"`)) || bytes.HasPrefix(rest, []byte(`"method"`)) {
			late, isID, isMethod := idAndMethod(append([]byte{'{'}, rest...), true)
			if isID {
				id, hasID = late, true
			}
			hasMethod = hasMethod || isMethod
		}
	}
	return id, true
}

// idAndMethod reads a message up to its id and its method, or as far as it goes.
// What is said to be whole must be exactly one object.
func idAndMethod(text []byte, whole bool) (id ID, hasID, hasMethod bool) {
	if whole && !json.Valid(text) {
		return id, false, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return id, false, false
	}
	for !hasID || !hasMethod {
		var value json.RawMessage
		key, err := d.Token()
		if err != nil || d.Decode(&value) != nil || d.InputOffset() == int64(len(text)) { // a number may go on
			break
		}
		switch key {
		case "method":
			hasMethod = true
		case "id":
			if id, err = parseID(value); err != nil {
				return id, false, false
			}
			hasID = true
		}
	}
	return id, hasID, hasMethod
}

package workbench

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
)

// Undefined is undefined of JavaScript, as a result or an argument. A nil result is also undefined.
var Undefined = json.RawMessage(wire.Undefined)

// Token is a cancellation token, as the last argument of a call of a host. Without one the host does not
// learn that the call was canceled, and what it calls gets no token.
var Token = json.RawMessage(`{"$token":true}`)

// Bytes are bytes as an argument or a result, or within one: a VSBuffer of VS Code.
type Bytes []byte

// buffer is how package codec/vscode writes bytes.
type buffer struct {
	Bytes []byte `json:"$buffer"`
}

// MarshalJSON implements [json.Marshaler].
func (b Bytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		b = Bytes{}
	}
	return json.Marshal(buffer{b})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var in struct {
		Bytes *[]byte `json:"$buffer"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.Bytes == nil {
		return fmt.Errorf("bytes expected, %.40q", text)
	}
	*b = *in.Bytes
	return nil
}

// Call is a request of a host.
type Call struct {
	Host   *actors.Ref
	Life   uint64
	Method string // in full

	// Guard restricts the files that are used for the host; nil if it is not confined.
	Guard Guard

	params codec.Raw
	args   []json.RawMessage
	parsed bool
}

// NewCall returns a call as host made it, for tests. params is a JSON array.
func NewCall(host *actors.Ref, life uint64, method string, params codec.Raw) *Call {
	return &Call{Host: host, Life: life, Method: method, params: params}
}

// Raw returns an argument as JSON, by its index; nil if it is missing or undefined. The marks of
// package codec/vscode may be within it, but not undefined, which is null.
func (c *Call) Raw(i int) json.RawMessage {
	if !c.parsed {
		c.parsed = true
		_ = json.Unmarshal(c.params, &c.args) // the codec has read it as an array
	}
	if i >= len(c.args) {
		return nil
	}
	arg := bytes.TrimSpace(c.args[i])
	if string(arg) == wire.Undefined {
		return nil
	}
	return plain(arg)
}

// plain returns the value of an object that is marked as one, with null for undefined; others as
// they are.
func plain(arg json.RawMessage) json.RawMessage {
	var whole struct {
		Object json.RawMessage `json:"$object"`
	}
	if bytes.HasPrefix(arg, []byte(`{"$object"`)) && json.Unmarshal(arg, &whole) == nil && whole.Object != nil {
		// Quotes within a text are escaped, so that this is always a value.
		return bytes.ReplaceAll(whole.Object, []byte(wire.Undefined), []byte("null"))
	}
	return arg
}

// Decode decodes a result of a host as [Call.Args] decodes an argument: undefined is null.
func Decode(raw json.RawMessage, out any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == wire.Undefined {
		return nil
	}
	return json.Unmarshal(plain(raw), out)
}

// Args decodes the first arguments into pointers. Arguments that are missing, null or undefined
// leave theirs unchanged. The error is a *codec.Error with the name [codec.NameInvalidParams].
func (c *Call) Args(out ...any) error {
	for i, p := range out {
		raw := c.Raw(i)
		if len(raw) == 0 || p == nil {
			continue
		}
		if err := json.Unmarshal(raw, p); err != nil {
			return &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("%s: argument %d: %v", c.Method, i+1, err)}
		}
	}
	return nil
}

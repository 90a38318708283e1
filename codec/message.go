package codec

import "fmt"

// Kind says what a message is. The numbers are those of hostsup's protocol 1;
// other protocols map their own shapes onto them.
type Kind uint8

// The kinds of message. Protocols without acks, cancellation or streams use
// the first three only.
const (
	Request      Kind = 0 // asks for exactly one response
	Response     Kind = 1 // ends the request of the same id
	Notification Kind = 2 // asks for nothing
	Ack          Kind = 3 // the receiver's own loop has picked the request up
	Cancel       Kind = 4 // the caller no longer wants the result
	Item         Kind = 5 // one element of a streamed result
	Credit       Kind = 6 // the caller allows more items
)

// String returns the kind in lower case: "request", "response", ….
func (k Kind) String() string {
	names := [...]string{"request", "response", "notification", "ack", "cancel", "item", "credit"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Raw is one encoded value in the encoding of the protocol it came from or
// goes to. A Raw handed out by a [Reader] is the receiver's to keep: no later
// read changes it. A nil Raw stands for the encoding's nil.
type Raw []byte

// MarshalMsgpack returns r as it is, so that a Raw inside a value that is
// encoded as MessagePack stands for the value it holds.
func (r Raw) MarshalMsgpack() ([]byte, error) {
	if len(r) == 0 {
		return []byte{0xc0}, nil
	}
	return r, nil
}

// UnmarshalMsgpack copies b.
func (r *Raw) UnmarshalMsgpack(b []byte) error {
	*r = append((*r)[:0:0], b...)
	return nil
}

// Trace carries W3C trace context beside a request or a notification. The
// zero value means that there is none.
type Trace struct {
	Parent string // traceparent
	State  string // tracestate
}

// Message is one message of a connection, in either direction. Which fields
// mean something depends on Kind; the others are zero.
type Message struct {
	Kind   Kind
	ID     uint32 // from 1; of a Notification: the open request that it tells progress of, 0 when it is about none
	Method string // Request, Notification
	Params Raw    // Request, Notification
	Result Raw    // Response without an error; Item: the value
	Err    *Error // Response: the error the other side answered with
	Seq    uint32 // Item: counts from 0
	Credit uint32 // Credit: how many more items are allowed
	Trace  Trace  // Request, Notification

	// Progress, of a Request: the other side is asked to tell how it gets on,
	// where the protocol has a way to ask.
	Progress bool

	Size int // bytes this message took on the wire; set by readers
}

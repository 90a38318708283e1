package demo

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// Garbage is one way of breaking the protocol.
type Garbage struct {
	Kind  string // the argument of the method "garbage"
	What  string // what goes over the wire, for a person
	Err   error  // what a reader says of it, a sentinel of package codec
	Close bool   // the connection is closed right behind it

	bytes func(id uint32) []byte // id is the request's own
}

// Kinds returns every kind of garbage, in no order of importance.
func Kinds() []Garbage { return slices.Clone(kinds()) }

// neverGiven is an id that no caller reaches in a test.
const neverGiven = 0xfffffff0

// kinds are made when they are first asked for: some are large.
var kinds = sync.OnceValue(func() []Garbage {
	return []Garbage{
		{Kind: "zero", What: "a frame of length 0", Err: codec.ErrEmpty, bytes: fixed(frame(nil))},
		{Kind: "huge", What: "a frame of 4 GiB announced", Err: codec.ErrTooLarge, bytes: fixed([]byte{0xff, 0xff, 0xff, 0xff})},
		{Kind: "truncated", What: "10 bytes of a frame of 100, then the end", Err: codec.ErrTruncated, Close: true,
			bytes: fixed(append([]byte{0, 0, 0, 100}, notification(nil, 10)...))},
		{Kind: "depth", What: "100,000 arrays within each other", Err: codec.ErrDepth,
			bytes: fixed(frame(notification(append(bytes.Repeat([]byte{0x91}, 100_000), 0xc0), 0)))},
		{Kind: "elements", What: "an array of 4,294,967,295 elements announced", Err: codec.ErrElements,
			bytes: fixed(frame(notification([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, 0)))},
		{Kind: "bin", What: "4 GiB of bytes announced", Err: codec.ErrString,
			bytes: fixed(frame(notification([]byte{0xc6, 0xff, 0xff, 0xff, 0xff}, 0)))},
		{Kind: "byte", What: "the type byte c1, which means nothing", Err: codec.ErrByte,
			bytes: fixed(frame(notification([]byte{0xc1}, 0)))},
		{Kind: "trailing", What: "a byte behind the message in its frame", Err: codec.ErrTrailing,
			bytes: fixed(frame(notification([]byte{0xc0, 0xc0}, 0)))},
		{Kind: "shape", What: "a string instead of an array", Err: codec.ErrShape,
			bytes: fixed(frame([]byte("\xa5hello")))},
		{Kind: "kind", What: "a message of kind 9", Err: codec.ErrShape,
			bytes: fixed(frame([]byte{0x93, 9, 1, 0xc0}))},
		{Kind: "id", What: "the answer to a request that was never made", Err: codec.ErrID,
			bytes: fixed(response(neverGiven))},
		{Kind: "ack", What: "an ack of a request that was never made", Err: codec.ErrID,
			bytes: fixed(frame(binary.BigEndian.AppendUint32([]byte{0x92, 3, 0xce}, neverGiven)))},
		{Kind: "twice", What: "two answers to one request", Err: codec.ErrID,
			bytes: func(id uint32) []byte { return append(response(id), response(id)...) }},
		{Kind: "item", What: "an item that the caller gave no credit for", Err: codec.ErrNoCredit,
			bytes: func(id uint32) []byte {
				return frame(append(binary.BigEndian.AppendUint32([]byte{0x94, 5, 0xce}, id), 0, 0xc0))
			}},
		{Kind: "noise", What: "a text where frames belong", Err: codec.ErrTooLarge,
			bytes: fixed([]byte("Traceback (most recent call last):\n  File \"host.py\", line 1, in <module>\nZeroDivisionError: division by zero\n"))},
	}
})

func fixed(b []byte) func(uint32) []byte { return func(uint32) []byte { return b } }

// notification is the body of a notification with these params, cut after n
// bytes when n is not 0.
func notification(params []byte, n int) []byte {
	body := append([]byte("\x93\x02\xacgarbage/note"), params...)
	if n > 0 {
		return body[:n]
	}
	return body
}

// response is an answer that says nil.
func response(id uint32) []byte {
	return frame(append(binary.BigEndian.AppendUint32([]byte{0x94, 1, 0xce}, id), 0xc0, 0xc0))
}

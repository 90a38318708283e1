package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec"
)

const echo = "conformance/echo"

// pieces is the time between two pieces of a frame, for the host to see them apart.
const pieces = 20 * time.Millisecond

// hostile returns a play: the host must end the connection when it reads these bytes.
func hostile(what string, b ...byte) func(*play) {
	return func(p *play) {
		p.open()
		p.write(b, what)
		p.ends()
	}
}

// refused is hostile for one message.
func refused(elements ...any) func(*play) {
	return func(p *play) {
		p.open()
		p.send(elements...)
		p.ends()
	}
}

// nested returns n arrays within each other.
func nested(n int) any {
	var v any
	for range n {
		v = []any{v}
	}
	return v
}

var frameRules = []Rule{
	{ID: "F1", What: "the frames of the host have a right length", Level: Required, Sentence: "A u32, big-endian: the length of the body, 1 up to the limit (50 MiB).", play: func(p *play) {
		p.open()
		p.alive()
	}},
	{ID: "F2", What: "the frames of the host are one array each", Level: Required, Sentence: "Then the body: exactly one [MessagePack](https://msgpack.org) array.", play: func(p *play) {
		p.open()
		p.alive()
	}},
	{ID: "F3", What: "the messages of the host have a known kind and the right number of elements", Level: Required, Sentence: "0 to 2 have the form of MessagePack-RPC.", play: func(p *play) {
		p.open()
		p.alive()
	}},
	{ID: "F4", What: "a request whose kind and id are wider than needed is answered", Level: Required, Sentence: "Integers may be written in any width.", play: func(p *play) {
		p.open()
		p.last++
		p.note([]any{codec.Request, p.last, "conformance-unknown"})
		b := []byte{0x94, 0xcd, 0, 0, 0xd3}
		b = binary.BigEndian.AppendUint64(b, uint64(p.last))
		b = append(b, 0xb3)
		p.body(append(append(b, "conformance-unknown"...), 0xc0)...)
		p.expect("an answer to request %d, whose id has eight bytes", p.last)
		p.response(uint64(p.last))
	}},
	{ID: "F5", What: "frames that arrive byte by byte, and cut at every border, are answered", Level: Required, Sentence: "The bytes of a frame may arrive in pieces of any size", play: func(p *play) {
		p.open()
		for cut := 1; cut <= 9; cut += 2 {
			p.last++
			p.note([]any{codec.Request, p.last, "conformance-unknown"})
			b := pack(codec.Request, p.last, "conformance-unknown", nil)
			p.write(b[:cut], fmt.Sprintf("%d bytes of request %d", cut, p.last))
			p.pause(pieces)
			p.write(b[cut:], "the rest of it")
			p.expect("an answer to request %d, which came in two pieces", p.last)
			p.response(uint64(p.last))
		}
		p.last++
		p.note([]any{codec.Request, p.last, "conformance-unknown"})
		for _, c := range pack(codec.Request, p.last, "conformance-unknown", nil) {
			p.write([]byte{c}, fmt.Sprintf("one byte of request %d", p.last))
		}
		p.expect("an answer to request %d, which came byte by byte", p.last)
		p.response(uint64(p.last))
	}},
	{ID: "F6", What: "fifty requests in one piece are answered", Level: Required, Sentence: "several frames may arrive in one.", play: func(p *play) {
		p.open()
		var b []byte
		for range 50 {
			p.last++
			p.note([]any{codec.Request, p.last, "conformance-unknown"})
			b = append(b, pack(codec.Request, p.last, "conformance-unknown", nil)...)
		}
		p.write(b, "50 requests in one piece")
		for id := p.last - 49; id <= p.last; id++ {
			p.expect("an answer to each of 50 requests")
			p.response(uint64(id))
		}
	}},
	{ID: "F7", What: "values of every type and size come back as they were sent", Level: Required, Method: echo, Sentence: "A payload (params, result, value, data) is one MessagePack value of any type", play: func(p *play) {
		p.open()
		for _, v := range []any{
			nil, true, false, 0, 127, 128, 65535, 65536, int64(math.MaxInt64), uint64(math.MaxUint64), -1, -32, -33, -129, -32769,
			int64(math.MinInt64), 1.5, "", "é", strings.Repeat("x", 40), strings.Repeat("y", 300), strings.Repeat("z", 70000), []byte{}, []byte("bin"),
			make([]byte, 70000), []any{}, []any{[]any{}}, map[string]any{}, map[string]any{"k": map[string]any{"": nil}}, make([]any, 20), make([]any, 70000),
		} {
			p.same(p.request(echo, v), v)
		}
	}},
	{ID: "F8", What: "a frame of 50 MiB comes back", Level: Required, Method: echo, Sentence: "1 up to the limit (50 MiB)", play: func(p *play) {
		p.open()
		p.timeout *= 10 // it is much to copy
		id := uint64(p.last + 1)
		v := make([]byte, maxFrame-len(pack(codec.Request, uint32(id), echo, make([]byte, 1<<16)))+header+1<<16)
		p.same(p.request(echo, v), v)
	}},
	{ID: "F9", What: "a length of 0 ends the connection", Level: Required, Sentence: "a length of 0 or above", play: hostile("a frame of length 0", 0, 0, 0, 0)},
	{ID: "F10", What: "a length above 50 MiB ends the connection", Level: Advised, Sentence: "a length of 0 or above", play: hostile("the length 52428801", lengthOf(maxFrame+1)...)},
	{ID: "F11", What: "the process ends when the stream ends within a frame", Level: Required, Sentence: "An end in the middle of a frame is a protocol error.", play: func(p *play) {
		p.open()
		p.write([]byte{0, 0, 0, 9, 0x94, 0}, "6 bytes of a frame of 13")
		p.closeWrite()
		p.exits()
	}},
	{ID: "F12", What: "a frame that is not MessagePack ends the connection", Level: Required, Sentence: "A frame that breaks a rule of this page ends the connection", play: hostile("a frame with the byte c1, which is not MessagePack", 0, 0, 0, 1, 0xc1)},
	{ID: "F13", What: "a frame that is not an array ends the connection", Level: Required, Sentence: "exactly one [MessagePack](https://msgpack.org) array", play: hostile("a frame with the number 5", 0, 0, 0, 1, 5)},
	{ID: "F14", What: "a byte behind the array ends the connection", Level: Advised, Sentence: "exactly one [MessagePack](https://msgpack.org) array", play: func(p *play) {
		p.open()
		p.body(append(pack(codec.Request, uint32(2), "conformance-unknown", nil)[header:], 0xc0)...)
		p.ends()
	}},
	{ID: "F15", What: "an unknown kind of message ends the connection", Level: Advised, Sentence: "A frame that breaks a rule of this page ends the connection", play: refused(7, 1, nil)},
	{ID: "F16", What: "a request without params ends the connection", Level: Advised, Sentence: "A frame that breaks a rule of this page ends the connection", play: refused(codec.Request, uint32(2), "conformance-unknown")},
	{ID: "F17", What: "a method of 1024 bytes is answered", Level: Required, Sentence: "A method is a string of 1 to 1024 bytes of UTF-8.", play: func(p *play) {
		p.open()
		id := p.request(strings.Repeat("é", 512), nil)
		p.expect("an answer to a method of 1024 bytes")
		p.response(id)
	}},
	{ID: "F18", What: "a method of 1025 bytes ends the connection", Level: Advised, Sentence: "A method is a string of 1 to 1024 bytes of UTF-8.", play: refused(codec.Request, uint32(2), strings.Repeat("m", 1025), nil)},
	{ID: "F19", What: "an empty method ends the connection", Level: Advised, Sentence: "A method is a string of 1 to 1024 bytes of UTF-8.", play: refused(codec.Request, uint32(2), "", nil)},
	{ID: "F20", What: "128 levels come back", Level: Required, Method: echo, Sentence: "nesting of arrays and maps, including the message's own", play: func(p *play) {
		p.open()
		v := nested(127)
		p.same(p.request(echo, v), v)
	}},
	{ID: "F21", What: "129 levels end the connection", Level: Advised, Sentence: "nesting of arrays and maps, including the message's own", play: func(p *play) {
		p.open()
		b := pack(codec.Request, uint32(2), "conformance-unknown", nil)
		b = append(b[header:len(b)-1], bytes.Repeat([]byte{0x91}, 128)...)
		p.body(append(b, 0xc0)...)
		p.ends()
	}},
	{ID: "F22", What: "an array that claims more elements than there are bytes ends the connection", Level: Advised, Sentence: "the header that claims more", play: func(p *play) {
		p.open()
		b := pack(codec.Request, uint32(2), "conformance-unknown", nil)
		p.body(append(b[header:len(b)-1], 0xdd, 0xff, 0xff, 0xff, 0xff)...)
		p.ends()
	}},
	{ID: "F23", What: "a string that claims more bytes than the frame has ends the connection", Level: Advised, Sentence: "bytes of one str, bin or ext", play: func(p *play) {
		p.open()
		b := pack(codec.Request, uint32(2), "conformance-unknown", nil)
		p.body(append(b[header:len(b)-1], 0xdb, 0xff, 0xff, 0xff, 0xff)...)
		p.ends()
	}},
}

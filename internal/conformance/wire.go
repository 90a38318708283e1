package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

const (
	header   = 4        // bytes of a frame's length
	maxFrame = 50 << 20 // bytes of the longest body
	maxTrace = 1024     // bytes of a trace field
	shown    = 200      // characters of a message in a report
)

// breach is a rule that the host has broken with a message.
type breach struct {
	rule      string // its number
	want, got string
}

// Error implements error.
func (b *breach) Error() string {
	return fmt.Sprintf("rule %s is broken: want %s, got %s", b.rule, b.want, b.got)
}

// message is one message of the host.
type message struct {
	kind        codec.Kind
	id          uint64
	method      string
	payload     any // params, result or value
	failure     any // the error of a response
	seq, credit uint64
	trace       any  // the additional element of a request or notification
	traced      bool // there is one
	at          time.Time
	text        string // for reports
}

// arity is the number of elements of each kind.
var arity = [...]int{codec.Request: 4, codec.Response: 4, codec.Notification: 3, codec.Ack: 2, codec.Cancel: 2, codec.Item: 4, codec.Credit: 3}

// frame puts the length before a body.
func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// pack encodes the elements of a message as a frame.
func pack(elements ...any) []byte {
	raw, err := mpack.Encoding{}.Marshal(elements)
	if err != nil {
		panic(fmt.Sprintf("conformance: a message of the kit cannot be encoded: %v", err)) // a table that is wrong
	}
	return frame(raw)
}

// readFrame reads the body of one frame. Memory grows as its bytes arrive. It returns a
// *breach for a length that no frame has, and io.EOF at an end between two frames.
func readFrame(r io.Reader) ([]byte, error) {
	var head [header]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &breach{"F1", "a whole frame", fmt.Sprintf("the end of the stream after %d of the 4 bytes of a length", n)}
		}
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxFrame {
		return nil, &breach{"F1", "a length of 1 to 52428800", fmt.Sprintf("%d (bytes % x %q)", n, head, head)}
	}
	var body bytes.Buffer
	if m, err := io.CopyN(&body, r, int64(n)); err != nil {
		return nil, &breach{"F1", fmt.Sprintf("a frame of %d bytes", n), fmt.Sprintf("the end of the stream after %d of them", m)}
	}
	return body.Bytes(), nil
}

// parse takes a body apart.
func parse(body []byte) (*message, *breach) {
	var v any
	if err := (mpack.Encoding{}).Unmarshal(body, &v); err != nil {
		return nil, &breach{"F2", "exactly one MessagePack array", fmt.Sprintf("%v in the bytes % x", err, body[:min(len(body), 64)])}
	}
	m := &message{text: showSized(v, len(body))}
	list, ok := v.([]any)
	if !ok {
		return nil, &breach{"F2", "exactly one MessagePack array", m.text}
	}
	wrong := func(format string, args ...any) (*message, *breach) {
		return nil, &breach{"F3", "a message as in the table of messages", fmt.Sprintf(format, args...) + " in " + m.text}
	}
	if len(list) == 0 {
		return wrong("no element")
	}
	kind, ok := number(list[0], uint64(codec.Credit))
	if !ok {
		return wrong("an unknown kind")
	}
	m.kind = codec.Kind(kind)
	callLike := m.kind == codec.Request || m.kind == codec.Notification
	want := arity[m.kind]
	if m.traced = callLike && len(list) == want+1; m.traced {
		m.trace = list[want]
	} else if len(list) != want {
		return wrong("%d elements", len(list))
	}
	rest := list[1:]
	if m.kind != codec.Notification {
		if m.id, ok = number(rest[0], math.MaxUint32); !ok || m.id == 0 {
			return nil, &breach{"I1", "an id from 1 to 4294967295", m.text}
		}
		rest = rest[1:]
	}
	if bad := m.take(rest); bad != "" {
		return wrong("%s", bad)
	}
	return m, nil
}

// take takes what follows the id. It returns what is wrong with it.
func (m *message) take(rest []any) string {
	var ok bool
	switch m.kind {
	case codec.Request, codec.Notification:
		m.method, ok = rest[0].(string)
		if !ok || m.method == "" || len(m.method) > native.MaxMethod || !utf8.ValidString(m.method) {
			return "no method of 1 to 1024 bytes of UTF-8"
		}
		m.payload = rest[1]
	case codec.Response:
		m.failure, m.payload = rest[0], rest[1]
	case codec.Item:
		if m.seq, ok = number(rest[0], math.MaxUint32); !ok {
			return "no seq"
		}
		m.payload = rest[1]
	case codec.Credit:
		if m.credit, ok = number(rest[0], math.MaxUint32); !ok {
			return "no credit"
		}
	}
	return ""
}

// number returns an integer from 0 to hi.
func number(v any, hi uint64) (uint64, bool) {
	switch n := v.(type) {
	case int64:
		return uint64(n), n >= 0 && uint64(n) <= hi
	case uint64:
		return n, n <= hi
	}
	return 0, false
}

// show renders a value for a report.
func show(v any) string {
	text := ""
	if raw, err := (mpack.Encoding{}).Marshal(v); err == nil {
		if b, err := (mpack.Encoding{}).ToJSON(raw); err == nil {
			text = string(b)
		}
	}
	if text == "" {
		text = fmt.Sprintf("%v", v)
	}
	if len(text) > shown {
		text = fmt.Sprintf("%s… (%d characters)", text[:shown], len(text))
	}
	return text
}

// showSized is show for a value of so many bytes. One that is large is not rendered.
func showSized(v any, size int) string {
	if size > 1<<20 {
		return fmt.Sprintf("a message of %d bytes", size)
	}
	return show(v)
}

// field returns the value of a key, nil if the map does not have it.
func field(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}

// text returns the string under a key, "" if the map does not have one.
func text(v any, key string) string {
	s, _ := field(v, key).(string)
	return s
}

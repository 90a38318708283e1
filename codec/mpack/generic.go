package mpack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// Ext is an extension that has no Go type of its own, as it stands in a value
// decoded into an any.
type Ext struct {
	Type int8
	Data []byte
}

// MarshalMsgpack encodes e as the extension it is.
func (e Ext) MarshalMsgpack() ([]byte, error) { return AppendExt(nil, e.Type, e.Data), nil }

// UnmarshalMsgpack takes any extension; another value is an error.
func (e *Ext) UnmarshalMsgpack(b []byte) error {
	if err := CheckAll(b, codec.Limits{}); err != nil {
		return err
	}
	if k := kinds[b[0]]; k != kindExt {
		return fmt.Errorf("ext expected, %s found", k)
	}
	w := walker{b: b}
	typ, data := w.payload()
	*e = Ext{Type: typ, Data: bytes.Clone(data)}
	return nil
}

// timestamp is the type number of the one extension MessagePack itself
// defines.
const timestamp = -1

// affordable refuses a value whose decoded form may take too much memory. The
// weights are those of Go's boxed values, small strings and small maps.
func (c *Cursor) affordable() error {
	elements := c.limitElements - c.elements
	need := len(c.b) + 40*elements + 350*c.maps
	if need > maxDecoded {
		return fmt.Errorf("decode: %w", codec.Faultf(codec.ErrElements, 0, c.b,
			"%d elements, %d maps: about %d MiB decoded, limit %d MiB", elements, c.maps, need>>20, maxDecoded>>20))
	}
	return nil
}

// generic decodes all of c's bytes, which a Skip over them has found
// well-formed, into plain Go values.
func (c *Cursor) generic() (any, error) {
	if err := c.affordable(); err != nil {
		return nil, err
	}
	w := walker{b: c.b}
	return w.build(), nil
}

// walker takes well-formed bytes apart: nothing is checked again. Its methods
// move behind what they take.
type walker struct {
	b   []byte
	pos int
}

// build decodes the next value. It recurses, within the depth that was
// checked.
func (w *walker) build() any {
	t := w.b[w.pos]
	switch kinds[t] {
	case kindNil:
		w.pos++
		return nil
	case kindBool:
		w.pos++
		return t == 0xc3
	case kindInt:
		v, neg := w.int()
		if !neg && v > math.MaxInt64 {
			return v
		}
		return int64(v)
	case kindFloat:
		return w.float()
	case kindStr:
		_, payload := w.payload()
		return string(payload)
	case kindBin:
		_, payload := w.payload()
		return bytes.Clone(payload)
	case kindArray:
		s := make([]any, w.open())
		for i := range s {
			s[i] = w.build()
		}
		return s
	case kindMap:
		n := w.open()
		m := make(map[string]any, n)
		for range n {
			k := w.key()
			m[k] = w.build()
		}
		return m
	}
	typ, payload := w.payload()
	if typ == timestamp {
		if at, is := parseTime(payload); is {
			return at
		}
	}
	return Ext{Type: typ, Data: bytes.Clone(payload)}
}

// key takes a map's key as text: a string as it is, any other value as
// [Encoding.ToJSON] shows it.
func (w *walker) key() string {
	if kinds[w.b[w.pos]] == kindStr {
		_, payload := w.payload()
		return string(payload)
	}
	j := jsonWriter{walker: *w, inKey: true}
	j.value()
	w.pos = j.pos
	return strings.Trim(string(j.out), `"`)
}

func (w *walker) int() (v uint64, neg bool) {
	v, neg = integer(w.b[w.pos:])
	w.pos += int(whole[w.b[w.pos]])
	return v, neg
}

func (w *walker) float() float64 {
	rest := w.b[w.pos:]
	w.pos += int(whole[rest[0]])
	if rest[0] == 0xca {
		return float64(math.Float32frombits(binary.BigEndian.Uint32(rest[1:])))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(rest[1:]))
}

// open takes the header of an array or map.
func (w *walker) open() int {
	n, head, _ := sized(w.b[w.pos:])
	w.pos += head
	return int(n)
}

// payload takes a str, bin or ext; typ means something for the last only.
func (w *walker) payload() (typ int8, payload []byte) {
	n, head, _ := sized(w.b[w.pos:])
	from := w.pos + head
	w.pos = from + int(n)
	return int8(w.b[from-1]), w.b[from:w.pos]
}

// skip takes the next value, flat.
func (w *walker) skip() {
	for due := 1; due > 0; due-- {
		if n := int(whole[w.b[w.pos]]); n != 0 {
			w.pos += n
			continue
		}
		n, head, container := sized(w.b[w.pos:])
		switch {
		case !container:
			w.pos += head + int(n)
			continue
		case kinds[w.b[w.pos]] == kindMap:
			due += int(n)
		}
		due += int(n)
		w.pos += head
	}
}

// parseTime reads the payload of a timestamp. It is false for a length or a
// number of nanoseconds that the format does not allow, and for years that
// RFC 3339 cannot say.
func parseTime(p []byte) (time.Time, bool) {
	var secs int64
	var nanos uint32
	switch len(p) {
	case 4:
		secs = int64(binary.BigEndian.Uint32(p))
	case 8:
		v := binary.BigEndian.Uint64(p)
		nanos, secs = uint32(v>>34), int64(v&(1<<34-1))
	case 12:
		nanos, secs = binary.BigEndian.Uint32(p), int64(binary.BigEndian.Uint64(p[4:]))
	default:
		return time.Time{}, false
	}
	// 0001-01-01 to 9999-12-31.
	if nanos > 999_999_999 || secs < -62135596800 || secs > 253402300799 {
		return time.Time{}, false
	}
	return time.Unix(secs, int64(nanos)).UTC(), true
}

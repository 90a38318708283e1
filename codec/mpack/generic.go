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

// timestamp is the type number of the one extension MessagePack itself
// defines.
const timestamp = -1

// affordable refuses a value whose decoded form may take too much memory. The
// weights are those of Go's boxed values, small strings and small maps.
func (c *Cursor) affordable() error {
	elements := c.limitElements - c.elements
	need := len(c.b) + 40*elements + 350*c.maps
	if need > maxDecoded {
		return fmt.Errorf("decode: %w", &codec.FrameError{
			Err: codec.ErrElements, Offset: 0, Bytes: Evidence(c.b),
			Detail: fmt.Sprintf("%d elements, %d maps: about %d MiB decoded, limit %d MiB", elements, c.maps, need>>20, maxDecoded>>20),
		})
	}
	return nil
}

// generic decodes all of c's bytes, which a Skip over them has found
// well-formed, into plain Go values.
func (c *Cursor) generic() (any, error) {
	if err := c.affordable(); err != nil {
		return nil, err
	}
	c.pos = 0
	return c.build(), nil
}

// build decodes the value at c.pos and moves behind it. It recurses, within
// the depth that was checked.
func (c *Cursor) build() any {
	t := c.b[c.pos]
	kind := typeName(t)
	n, head, _ := sized(c.b[c.pos:])
	switch kind {
	case "nil":
		c.pos++
		return nil
	case "bool":
		c.pos++
		return t == 0xc3
	case "int":
		v, neg, _ := c.int()
		c.pos += int(whole[t])
		if !neg && v > math.MaxInt64 {
			return v
		}
		return int64(v)
	case "float":
		v := c.float()
		c.pos += int(whole[t])
		return v
	case "array":
		c.pos += head
		s := make([]any, n)
		for i := range s {
			s[i] = c.build()
		}
		return s
	case "map":
		c.pos += head
		m := make(map[string]any, n)
		for range n {
			k := c.key()
			m[k] = c.build()
		}
		return m
	}
	payload := c.b[c.pos+head : c.pos+head+int(n)]
	typ := int8(c.b[c.pos+head-1])
	c.pos += head + int(n)
	switch kind {
	case "str":
		return string(payload)
	case "bin":
		return bytes.Clone(payload)
	}
	if typ == timestamp {
		if at, is := parseTime(payload); is {
			return at
		}
	}
	return Ext{Type: typ, Data: bytes.Clone(payload)}
}

// key takes a map's key as text: a string as it is, any other value as
// [Encoding.ToJSON] shows it.
func (c *Cursor) key() string {
	if s, is := c.strKey(); is {
		return string(s)
	}
	j := jsonWriter{c: c, inKey: true}
	j.value()
	return strings.Trim(string(j.out), `"`)
}

// strKey takes the next value if it is a string.
func (c *Cursor) strKey() ([]byte, bool) {
	if typeName(c.b[c.pos]) != "str" {
		return nil, false
	}
	n, head, _ := sized(c.b[c.pos:])
	from := c.pos + head
	c.pos = from + int(n)
	return c.b[from:c.pos], true
}

// float reads the float at c.pos without moving.
func (c *Cursor) float() float64 {
	rest := c.b[c.pos:]
	if rest[0] == 0xca {
		return float64(math.Float32frombits(binary.BigEndian.Uint32(rest[1:])))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(rest[1:]))
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

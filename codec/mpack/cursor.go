package mpack

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hostsup/hostsup/codec"
)

// Cursor walks over bytes that are not trusted, value by value, without
// copying and without setting memory aside. Every method checks what it takes
// against the limits and the bytes present. Each returns false when the value
// is not what was asked for; [Cursor.Err] then says why. After that the cursor
// is finished. Make one with [NewCursor]; it is not for concurrent use.
type Cursor struct {
	b        []byte
	pos      int
	depth    int // containers that may still be opened
	elements int // array elements, map keys and map values that may still come
	str      int // bytes of one str, bin or ext
	maps     int // maps seen by Skip
	exts     int // extensions seen by Skip

	limitDepth    int
	limitElements int
	limitStr      int

	fault fault
	want  string
}

// NewCursor starts at the front of b. Limits that are zero get their
// defaults; [codec.Limits.Frame] is not looked at.
func NewCursor(b []byte, lim codec.Limits) Cursor {
	lim = lim.WithDefaults()
	depth := min(lim.Depth, MaxDepth)
	return Cursor{
		b: b, depth: depth, elements: lim.Elements, str: lim.String,
		limitDepth: depth, limitElements: lim.Elements, limitStr: lim.String,
	}
}

// Reset starts again at the front of other bytes, under the same limits.
func (c *Cursor) Reset(b []byte) {
	c.b, c.pos = b, 0
	c.depth, c.elements, c.str = c.limitDepth, c.limitElements, c.limitStr
	c.maps, c.exts = 0, 0
	c.fault = ok
}

// Pos is the offset of the next value, or of the one at fault.
func (c *Cursor) Pos() int { return c.pos }

// Skip moves behind the next value, whatever it is, after checking all of it.
func (c *Cursor) Skip() bool {
	if f := c.skip(); f != ok {
		c.fault = f
		return false
	}
	return true
}

// Value is [Cursor.Skip] returning the value's bytes, a part of those the
// cursor was made from with no room to grow into. A nil value is a nil Raw.
func (c *Cursor) Value() (codec.Raw, bool) {
	start := c.pos
	if f := c.skip(); f != ok {
		c.fault = f
		return nil, false
	}
	if c.pos == start+1 && c.b[start] == 0xc0 {
		return nil, true
	}
	return codec.Raw(c.b[start:c.pos:c.pos]), true
}

// End says whether all bytes are taken.
func (c *Cursor) End() bool {
	if c.pos != len(c.b) {
		c.fault = trailing
		return false
	}
	return true
}

// Nil takes the next value if it is nil. That it is not is no fault.
func (c *Cursor) Nil() bool {
	if c.pos < len(c.b) && c.b[c.pos] == 0xc0 {
		c.pos++
		return true
	}
	return false
}

// Peek names the type of the next value: nil, bool, int, float, str, bin,
// ext, array, map; "" at the end.
func (c *Cursor) Peek() string {
	if c.pos >= len(c.b) {
		return ""
	}
	return kinds[c.b[c.pos]].String()
}

// Array takes an array's header and returns how many elements follow.
func (c *Cursor) Array() (int, bool) {
	if c.pos < len(c.b) && c.depth > 0 {
		if t := c.b[c.pos]; t&0xf0 == 0x90 {
			n := int(t & 0x0f)
			if n <= c.elements && n < len(c.b)-c.pos {
				c.pos++
				c.elements -= n
				c.depth--
				return n, true
			}
		}
	}
	return c.container(kindArray, 1)
}

// Map takes a map's header and returns how many pairs follow.
func (c *Cursor) Map() (int, bool) { return c.container(kindMap, 2) }

// Close says that the elements of the innermost array or map were taken.
func (c *Cursor) Close() { c.depth++ }

func (c *Cursor) container(is kind, per int) (int, bool) {
	rest, want := c.b[c.pos:], is.String()
	if len(rest) == 0 {
		return 0, c.fail(truncated, want)
	}
	if kinds[rest[0]] != is {
		return 0, c.fail(wrongType, want)
	}
	n, head, _ := sized(rest)
	values := uint64(n) * uint64(per)
	switch {
	case values > uint64(c.elements):
		return 0, c.fail(tooMany, want)
	case head > len(rest) || values > uint64(len(rest)-head):
		return 0, c.fail(truncated, want)
	case c.depth == 0:
		return 0, c.fail(tooDeep, want)
	}
	c.pos += head
	c.elements -= int(values)
	c.depth--
	return int(n), true
}

// Uint takes an integer from 0 to hi, in whichever width it is written.
func (c *Cursor) Uint(hi uint64) (uint64, bool) {
	if rest := c.b[c.pos:]; len(rest) >= 5 {
		var v uint64
		n := 1
		switch t := rest[0]; {
		case t <= 0x7f:
			v = uint64(t)
		case t == 0xcc:
			v, n = uint64(rest[1]), 2
		case t == 0xcd:
			v, n = uint64(binary.BigEndian.Uint16(rest[1:])), 3
		case t == 0xce:
			v, n = uint64(binary.BigEndian.Uint32(rest[1:])), 5
		default:
			return c.uintSlow(hi)
		}
		if v <= hi {
			c.pos += n
			return v, true
		}
	}
	return c.uintSlow(hi)
}

func (c *Cursor) uintSlow(hi uint64) (uint64, bool) {
	v, neg, size := c.int()
	switch {
	case size == 0:
		return 0, false
	case neg || v > hi:
		return 0, c.fail(outOfRange, fmt.Sprintf("an int from 0 to %d", hi))
	}
	c.pos += size
	return v, true
}

// Int takes any integer that fits an int64.
func (c *Cursor) Int() (int64, bool) {
	v, neg, size := c.int()
	switch {
	case size == 0:
		return 0, false
	case !neg && v > math.MaxInt64:
		return 0, c.fail(outOfRange, "an int of 64 bits with a sign")
	}
	c.pos += size
	return int64(v), true
}

// int reads the integer at c.pos without moving. A negative one comes as its
// two's complement. Size is how many bytes it takes, 0 for a fault.
func (c *Cursor) int() (v uint64, neg bool, size int) {
	rest := c.b[c.pos:]
	switch {
	case len(rest) == 0:
		c.fail(truncated, "int")
		return 0, false, 0
	case kinds[rest[0]] != kindInt:
		c.fail(wrongType, "int")
		return 0, false, 0
	}
	size = int(whole[rest[0]])
	if len(rest) < size {
		c.fail(truncated, "int")
		return 0, false, 0
	}
	v, neg = integer(rest)
	return v, neg, size
}

// integer reads the integer at the front of b, all of which is there.
func integer(b []byte) (v uint64, neg bool) {
	switch t := b[0]; {
	case t <= 0x7f:
		return uint64(t), false
	case t >= 0xe0:
		return uint64(int64(int8(t))), true
	case t == 0xcc:
		return uint64(b[1]), false
	case t == 0xcd:
		return uint64(binary.BigEndian.Uint16(b[1:])), false
	case t == 0xce:
		return uint64(binary.BigEndian.Uint32(b[1:])), false
	case t == 0xcf:
		return binary.BigEndian.Uint64(b[1:]), false
	case t == 0xd0:
		v = uint64(int8(b[1]))
	case t == 0xd1:
		v = uint64(int16(binary.BigEndian.Uint16(b[1:])))
	case t == 0xd2:
		v = uint64(int32(binary.BigEndian.Uint32(b[1:])))
	default:
		v = binary.BigEndian.Uint64(b[1:])
	}
	return v, int64(v) < 0
}

// Str takes a string of at most hi bytes and returns its bytes, a part of
// those the cursor was made from. Whether they are UTF-8 is not checked.
func (c *Cursor) Str(hi int) ([]byte, bool) {
	if c.pos < len(c.b) {
		if t := c.b[c.pos]; t&0xe0 == 0xa0 {
			n := int(t & 0x1f)
			if n < len(c.b)-c.pos && n <= hi && n <= c.str {
				s := c.b[c.pos+1 : c.pos+1+n : c.pos+1+n]
				c.pos += 1 + n
				return s, true
			}
		}
	}
	return c.strSlow(hi)
}

func (c *Cursor) strSlow(hi int) ([]byte, bool) {
	start := c.pos
	if start < len(c.b) {
		if kinds[c.b[start]] != kindStr {
			return nil, c.fail(wrongType, "str")
		}
	}
	c.str = min(hi, c.limitStr) // for this string only, and for the wording of its fault
	if f := c.skip(); f != ok {
		c.fault = f
		return nil, false
	}
	c.str = c.limitStr
	_, head, _ := sized(c.b[start:])
	return c.b[start+head : c.pos : c.pos], true
}

func (c *Cursor) fail(f fault, want string) bool {
	c.fault, c.want = f, want
	return false
}

// Err words the last fault as an error that ends a connection. Field, when
// not empty, names what was being read.
func (c *Cursor) Err(field string) *codec.FrameError {
	var err error
	var detail string
	switch c.fault {
	case wrongType:
		err = codec.ErrShape
		detail = fmt.Sprintf("%s expected, %s found", c.want, c.Peek())
	case outOfRange:
		err = codec.ErrShape
		detail = c.want + " expected"
		if v, neg, _ := c.int(); neg {
			detail += fmt.Sprintf(", %d found", int64(v))
		} else {
			detail += fmt.Sprintf(", %d found", v)
		}
	default:
		detail, err = c.explain(c.fault)
	}
	if field != "" {
		detail = field + ": " + detail
	}
	return codec.Faultf(err, c.pos, c.b, "%s", detail)
}

// Shapef returns a [codec.ErrShape] about the bytes that the cursor walks over. at
// is where the fault is.
func (c *Cursor) Shapef(at int, format string, args ...any) *codec.FrameError {
	return codec.Faultf(codec.ErrShape, at, c.b, format, args...)
}

package mpack

import (
	"encoding/binary"
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// MaxDepth is the deepest nesting that can be asked for: a larger
// [codec.Limits.Depth] is cut to it. It bounds the fixed stack array that
// checking a deep value takes, and the recursion of what decodes it later.
const MaxDepth = 1024

// shallow is the nesting checked without the larger array.
const shallow = 16

// Check validates the one value at the front of b and returns how many bytes
// it takes. Bytes behind the value are not looked at. It does not recurse and
// sets no memory aside. Limits that are zero get their defaults;
// [codec.Limits.Frame] is not looked at.
//
// What it accepts is well-formed: every length fits the bytes present, no
// type byte is 0xc1, nesting and the sum of elements are within lim. It does
// not ask that strings are UTF-8, that map keys are distinct, or that an
// extension means something.
//
// The error is a *[codec.FrameError] with the offset of the value at fault.
func Check(b []byte, lim codec.Limits) (int, error) {
	c := NewCursor(b, lim)
	if !c.Skip() {
		return 0, c.Err("")
	}
	return c.pos, nil
}

// CheckAll is [Check] for a value that must take all of b; bytes left over
// are [codec.ErrTrailing].
func CheckAll(b []byte, lim codec.Limits) error {
	c := NewCursor(b, lim)
	if !c.Skip() || !c.End() {
		return c.Err("")
	}
	return nil
}

// fault says what a check ran into.
type fault uint8

const (
	ok fault = iota
	truncated
	tooDeep
	tooMany
	tooLong
	badByte
	trailing
	wrongType
	outOfRange
	deeper // not an error: the value needs the larger stack array
)

// whole holds the size of every value whose first byte tells it and that is
// no extension: nil, booleans, numbers and short strings. It is 0 for others.
var whole = func() (t [256]uint8) {
	for c := range 256 {
		switch {
		case c <= 0x7f || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
			t[c] = 1
		case c >= 0xa0 && c <= 0xbf:
			t[c] = uint8(1 + c&0x1f)
		case c == 0xcc || c == 0xd0:
			t[c] = 2
		case c == 0xcd || c == 0xd1:
			t[c] = 3
		case c == 0xce || c == 0xd2 || c == 0xca:
			t[c] = 5
		case c == 0xcf || c == 0xd3 || c == 0xcb:
			t[c] = 9
		}
	}
	return t
}()

// strict is whole without short strings, for limits shorter than those.
var strict = func() [256]uint8 {
	t := whole
	clear(t[0xa0:0xc0])
	return t
}()

// skip checks the value at c.pos and moves behind it. On a fault c.pos is the
// value at fault.
func (c *Cursor) skip() fault {
	// Most values of a message are a scalar or a string.
	if c.pos < len(c.b) {
		if n := int(whole[c.b[c.pos]]); n != 0 && n <= len(c.b)-c.pos && c.str >= 31 {
			c.pos += n
			return ok
		}
	}
	pos, elements, maps, exts := c.pos, c.elements, c.maps, c.exts
	var stack [shallow]uint32
	f := c.scan(stack[:min(shallow, c.depth)])
	if f == deeper {
		c.pos, c.elements, c.maps, c.exts = pos, elements, maps, exts
		f = c.skipDeep()
	}
	return f
}

//go:noinline
func (c *Cursor) skipDeep() fault {
	var stack [MaxDepth]uint32
	return c.scan(stack[:c.depth])
}

// scan is the loop behind skip. The stack holds, for every open container but
// the innermost, how many of its values are still due; its length is the
// nesting allowed.
func (c *Cursor) scan(stack []uint32) (f fault) {
	var (
		b     = c.b
		i     = c.pos
		left  = c.elements
		due   = uint32(1) // values still due in the innermost container
		sp    = 0
		sizes = &whole
	)
	if c.str < 31 {
		sizes = &strict
	}
	for {
		if due == 0 {
			if sp == 0 {
				break
			}
			sp--
			due = stack[sp]
			continue
		}
		if i >= len(b) {
			f = truncated
			break
		}
		t := b[i]
		if n := int(sizes[t]); n != 0 {
			if n > len(b)-i {
				f = truncated
				break
			}
			i += n
			due--
			continue
		}
		n, head, container := sized(b[i:])
		switch {
		case head == 0:
			f = badByte
		case head > len(b)-i:
			f = truncated
		case !container:
			if t >= 0xc7 && t <= 0xc9 || t >= 0xd4 && t <= 0xd8 {
				c.exts++
			}
			switch {
			case uint64(n) > uint64(c.str):
				f = tooLong
			case uint64(n) > uint64(len(b)-i-head):
				f = truncated
			default:
				i += head + int(n)
				due--
				continue
			}
		default:
			values := uint64(n)
			if t <= 0x8f || t >= 0xde {
				values *= 2
				c.maps++
			}
			switch {
			case values > uint64(left):
				f = tooMany
			case values > uint64(len(b)-i-head):
				f = truncated
			case sp == len(stack) && sp < c.depth:
				f = deeper
			case sp == len(stack):
				f = tooDeep
			default:
				left -= int(values)
				i += head
				stack[sp] = due - 1
				sp++
				due = uint32(values)
				continue
			}
		}
		break
	}
	c.pos = i
	c.elements = left
	return f
}

// sized reads the header of a str, bin, ext, array or map: its length, how
// many bytes stand before its payload or first element, and whether it is an
// array or a map. The header may be longer than b; it is 0 for a byte that
// starts no value.
func sized(b []byte) (n uint32, head int, container bool) {
	t := b[0]
	switch {
	case t <= 0x9f:
		return uint32(t & 0x0f), 1, true
	case t <= 0xbf:
		return uint32(t & 0x1f), 1, false
	}
	switch t {
	case 0xc4, 0xd9: // bin 8, str 8
		head = 2
	case 0xc5, 0xda: // bin 16, str 16
		head = 3
	case 0xc6, 0xdb: // bin 32, str 32
		head = 5
	case 0xc7, 0xc8, 0xc9: // ext 8, 16, 32: the type stands behind the length
		head = 2 + 1<<(t-0xc7)
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // fixext 1, 2, 4, 8, 16
		return 1 << (t - 0xd4), 2, false
	case 0xdc, 0xde: // array 16, map 16
		head, container = 3, true
	case 0xdd, 0xdf: // array 32, map 32
		head, container = 5, true
	default:
		return 0, 0, false
	}
	if len(b) < head {
		return 0, head, container
	}
	switch t {
	case 0xc4, 0xd9, 0xc7:
		n = uint32(b[1])
	case 0xc5, 0xda, 0xc8, 0xdc, 0xde:
		n = uint32(binary.BigEndian.Uint16(b[1:]))
	default:
		n = binary.BigEndian.Uint32(b[1:])
	}
	return n, head, container
}

// explain words a fault of the value at c.pos.
func (c *Cursor) explain(f fault) (detail string, err error) {
	rest := c.b[c.pos:]
	if len(rest) == 0 {
		return "a value was expected, the bytes end", codec.ErrTruncated
	}
	what := kinds[rest[0]].String()
	n, head, _ := sized(rest)
	switch kinds[rest[0]] {
	case kindArray, kindMap, kindStr, kindBin, kindExt:
		if head <= len(rest) {
			what = fmt.Sprintf("%s of %d", what, n)
			break
		}
		head = 1
	default:
		head = 1
	}
	left := plural(len(rest)-head, "byte")
	switch f {
	case truncated:
		return fmt.Sprintf("%s, %s left", what, left), codec.ErrTruncated
	case tooDeep:
		return fmt.Sprintf("%s, limit %d", what, c.limitDepth), codec.ErrDepth
	case tooMany:
		return fmt.Sprintf("%s, %s left, limit %d in all", what, left, c.limitElements), codec.ErrElements
	case tooLong:
		return fmt.Sprintf("%s, limit %d", what, c.str), codec.ErrString
	case badByte:
		return fmt.Sprintf("%#02x", rest[0]), codec.ErrByte
	case trailing:
		return plural(len(rest), "byte"), codec.ErrTrailing
	}
	return what, codec.ErrShape
}

func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

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
	start := *c
	var stack [shallow]uint32
	f := c.scan(stack[:min(shallow, c.depth)])
	if f == deeper {
		*c = start
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
func (c *Cursor) scan(stack []uint32) fault {
	var (
		b    = c.b
		i    = c.pos
		left = c.elements
		due  = uint32(1) // values still due in the innermost container
		sp   = 0
		f    = ok
	)
	for {
		if i >= len(b) {
			f = truncated
			goto done
		}
		t := b[i]
		if n := int(whole[t]); n != 0 {
			if n > len(b)-i {
				f = truncated
				goto done
			}
			if c.str < 31 && t >= 0xa0 && t <= 0xbf && n-1 > c.str {
				f = tooLong
				goto done
			}
			i += n
		} else {
			var (
				head   = 1 // bytes before the payload or the first element
				n      uint32
				values uint64 // elements of an array, keys and values of a map
			)
			switch {
			case t <= 0x8f:
				n = uint32(t & 0x0f)
			case t <= 0x9f:
				n = uint32(t & 0x0f)
			default:
				switch t {
				case 0xc4, 0xd9, 0xc7: // bin 8, str 8, ext 8
					head = 2
					if len(b)-i >= head {
						n = uint32(b[i+1])
					}
				case 0xc5, 0xda, 0xc8, 0xdc, 0xde: // bin, str, ext, array, map 16
					head = 3
					if len(b)-i >= head {
						n = uint32(binary.BigEndian.Uint16(b[i+1:]))
					}
				case 0xc6, 0xdb, 0xc9, 0xdd, 0xdf: // bin, str, ext, array, map 32
					head = 5
					if len(b)-i >= head {
						n = binary.BigEndian.Uint32(b[i+1:])
					}
				case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // fixext 1, 2, 4, 8, 16
					n = 1 << (t - 0xd4)
				default:
					f = badByte
					goto done
				}
				if len(b)-i < head {
					f = truncated
					goto done
				}
			}
			switch t {
			case 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
				head++ // the extension's type
				c.exts++
				fallthrough
			case 0xc4, 0xc5, 0xc6, 0xd9, 0xda, 0xdb:
				if uint64(n) > uint64(c.str) {
					f = tooLong
					goto done
				}
				if uint64(head)+uint64(n) > uint64(len(b)-i) {
					f = truncated
					goto done
				}
				i += head + int(n)
			default:
				values = uint64(n)
				if t <= 0x8f || t >= 0xde {
					values *= 2
					c.maps++
				}
				if values > uint64(left) {
					f = tooMany
					goto done
				}
				if values > uint64(len(b)-i-head) {
					f = truncated
					goto done
				}
				if sp == len(stack) {
					f = tooDeep
					if sp < c.depth {
						f = deeper
					}
					goto done
				}
				left -= int(values)
				i += head
				if values != 0 {
					stack[sp] = due - 1
					sp++
					due = uint32(values)
					continue
				}
			}
		}
		due--
		for due == 0 {
			if sp == 0 {
				goto done
			}
			sp--
			due = stack[sp]
		}
	}
done:
	c.pos = i
	c.elements = left
	return f
}

// explain words a fault of the value at c.pos.
func (c *Cursor) explain(f fault) (error, string) {
	rest := len(c.b) - c.pos
	if rest <= 0 {
		return codec.ErrTruncated, "a value was expected, the bytes end"
	}
	t := c.b[c.pos]
	name, n, sized := describe(c.b[c.pos:])
	what := name
	if sized {
		what = fmt.Sprintf("%s of %d", name, n)
	}
	switch f {
	case truncated:
		return codec.ErrTruncated, fmt.Sprintf("%s, %s left", what, bytesText(rest-headLen(t)))
	case tooDeep:
		return codec.ErrDepth, fmt.Sprintf("%s, limit %d", what, c.limitDepth)
	case tooMany:
		return codec.ErrElements, fmt.Sprintf("%s, %s left, limit %d in all", what, bytesText(rest-headLen(t)), c.limitElements)
	case tooLong:
		return codec.ErrString, fmt.Sprintf("%s, limit %d", what, c.str)
	case badByte:
		return codec.ErrByte, fmt.Sprintf("%#02x", t)
	case trailing:
		return codec.ErrTrailing, bytesText(rest)
	}
	return codec.ErrShape, what
}

func bytesText(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 0:
		n = 0
	}
	return fmt.Sprintf("%d bytes", n)
}

// headLen is how many bytes stand before the payload or first element.
func headLen(t byte) int {
	switch t {
	case 0xc4, 0xd9:
		return 2
	case 0xc7, 0xc5, 0xda, 0xdc, 0xde:
		return 3
	case 0xc8:
		return 4
	case 0xc6, 0xdb, 0xdd, 0xdf:
		return 5
	case 0xc9:
		return 6
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return 2
	}
	return 1
}

// describe names the value at the front of b and, when its type has one and
// the bytes are there, its length.
func describe(b []byte) (name string, n uint64, sized bool) {
	t := b[0]
	length := func(size int) (uint64, bool) {
		if len(b) < 1+size {
			return 0, false
		}
		var v uint64
		for _, x := range b[1 : 1+size] {
			v = v<<8 | uint64(x)
		}
		return v, true
	}
	switch {
	case t <= 0x7f || t >= 0xe0:
		return "int", 0, false
	case t <= 0x8f:
		return "map", uint64(t & 0x0f), true
	case t <= 0x9f:
		return "array", uint64(t & 0x0f), true
	case t <= 0xbf:
		return "str", uint64(t & 0x1f), true
	}
	switch t {
	case 0xc0:
		return "nil", 0, false
	case 0xc2, 0xc3:
		return "bool", 0, false
	case 0xca, 0xcb:
		return "float", 0, false
	case 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3:
		return "int", 0, false
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return "ext", 1 << (t - 0xd4), true
	case 0xc4, 0xc5, 0xc6:
		name = "bin"
		n, sized = length(1 << (t - 0xc4))
	case 0xc7, 0xc8, 0xc9:
		name = "ext"
		n, sized = length(1 << (t - 0xc7))
	case 0xd9, 0xda, 0xdb:
		name = "str"
		n, sized = length(1 << (t - 0xd9))
	case 0xdc, 0xdd:
		name = "array"
		n, sized = length(2 << (t - 0xdc))
	case 0xde, 0xdf:
		name = "map"
		n, sized = length(2 << (t - 0xde))
	default:
		name = "invalid byte"
	}
	return name, n, sized
}

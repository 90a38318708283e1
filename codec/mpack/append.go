package mpack

import (
	"encoding/binary"
	"math"
)

// AppendNil appends nil.
func AppendNil(dst []byte) []byte { return append(dst, 0xc0) }

// AppendBool appends a boolean.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 0xc3)
	}
	return append(dst, 0xc2)
}

// AppendUint appends v in the fewest bytes.
func AppendUint(dst []byte, v uint64) []byte {
	switch {
	case v <= 0x7f:
		return append(dst, byte(v))
	case v <= math.MaxUint8:
		return append(dst, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return append(dst, 0xcd, byte(v>>8), byte(v))
	case v <= math.MaxUint32:
		return append(dst, 0xce, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcf), v)
}

// AppendInt appends v in the fewest bytes.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0:
		return AppendUint(dst, uint64(v))
	case v >= -32:
		return append(dst, byte(v))
	case v >= math.MinInt8:
		return append(dst, 0xd0, byte(v))
	case v >= math.MinInt16:
		return append(dst, 0xd1, byte(v>>8), byte(v))
	case v >= math.MinInt32:
		return append(dst, 0xd2, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(v))
}

// AppendFloat appends v as a float of 64 bits.
func AppendFloat(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v))
}

// AppendString appends a str. Strings over 4 GiB cannot be said; the caller
// keeps below that.
func AppendString(dst []byte, s string) []byte {
	return append(appendHead(dst, len(s), 0xa0, 31, 0xd9), s...)
}

// AppendBin appends a bin, under the same bound.
func AppendBin(dst, v []byte) []byte {
	return append(appendHead(dst, len(v), 0, -1, 0xc4), v...)
}

// AppendArray appends the header of an array of n elements, which the caller
// appends next.
func AppendArray(dst []byte, n int) []byte { return appendCount(dst, n, 0x90, 0xdc) }

// AppendMap appends the header of a map of n pairs, which the caller appends
// next, each key before its value.
func AppendMap(dst []byte, n int) []byte { return appendCount(dst, n, 0x80, 0xde) }

// AppendExt appends an extension of the given type.
func AppendExt(dst []byte, typ int8, data []byte) []byte {
	switch len(data) {
	case 1:
		dst = append(dst, 0xd4)
	case 2:
		dst = append(dst, 0xd5)
	case 4:
		dst = append(dst, 0xd6)
	case 8:
		dst = append(dst, 0xd7)
	case 16:
		dst = append(dst, 0xd8)
	default:
		dst = appendHead(dst, len(data), 0, -1, 0xc7)
	}
	return append(append(dst, byte(typ)), data...)
}

// appendHead writes the header of a str, bin or ext: the short form up to
// fixMax, then the forms of 8, 16 and 32 bits, whose bytes follow each other.
func appendHead(dst []byte, n int, fix byte, fixMax int, long byte) []byte {
	switch {
	case n <= fixMax:
		return append(dst, fix|byte(n))
	case n <= math.MaxUint8:
		return append(dst, long, byte(n))
	case n <= math.MaxUint16:
		return append(dst, long+1, byte(n>>8), byte(n))
	}
	return append(dst, long+2, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func appendCount(dst []byte, n int, fix, long byte) []byte {
	switch {
	case n <= 15:
		return append(dst, fix|byte(n))
	case n <= math.MaxUint16:
		return append(dst, long, byte(n>>8), byte(n))
	}
	return append(dst, long+1, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

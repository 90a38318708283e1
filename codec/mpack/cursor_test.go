package mpack_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

func TestCursorTakesAMessageApart(t *testing.T) {
	b := unhex(t, "96 cd 012c a2 6f6b 82 a1 61 01 a1 62 c0 c0 d0 ff c4 01 78")
	c := mpack.NewCursor(b, codec.Limits{})
	if n, is := c.Array(); !is || n != 6 {
		t.Fatalf("Array() = %d, %v", n, is)
	}
	if v, is := c.Uint(300); !is || v != 300 {
		t.Fatalf("Uint() = %d, %v", v, is)
	}
	if s, is := c.Str(2); !is || string(s) != "ok" {
		t.Fatalf("Str() = %q, %v", s, is)
	}
	v, is := c.Value()
	if !is || len(v) != 7 || &v[0] != &b[7] || cap(v) != len(v) {
		t.Fatalf("Value() = %x, cap %d, %v; want the map's own bytes with no room behind", v, cap(v), is)
	}
	if c.Peek() != "nil" || !c.Nil() || c.Nil() {
		t.Fatal("Nil does not take exactly one nil")
	}
	if v, is := c.Int(); !is || v != -1 {
		t.Fatalf("Int() = %d, %v", v, is)
	}
	if c.End() {
		t.Fatal("End before the last value")
	}
	if c.Peek() != "bin" || !c.Skip() || !c.End() || c.Peek() != "" || c.Pos() != len(b) {
		t.Fatalf("at %d of %d after the last value", c.Pos(), len(b))
	}
	c.Reset(unhex(t, "c0"))
	if v, is := c.Value(); !is || v != nil {
		t.Fatalf("Value() of nil = %x, %v; want a nil Raw", v, is)
	}
}

func TestCursorIntegers(t *testing.T) {
	tests := []struct {
		in  string
		val int64
	}{
		{"00", 0}, {"7f", 127}, {"e0", -32}, {"ff", -1},
		{"cc 05", 5}, {"cc ff", 255}, {"cd 0005", 5}, {"cd ffff", 65535},
		{"ce 00000005", 5}, {"ce ffffffff", math.MaxUint32}, {"cf 0000000000000005", 5}, {"cf 7fffffffffffffff", math.MaxInt64},
		{"d0 05", 5}, {"d0 80", -128}, {"d1 0005", 5}, {"d1 8000", -32768}, {"d2 00000005", 5}, {"d2 80000000", math.MinInt32},
		{"d3 0000000000000005", 5}, {"d3 8000000000000000", math.MinInt64}, {"d3 ffffffffffffffff", -1},
	}
	for _, tt := range tests {
		for _, tail := range []string{"", "c0c0c0c0c0c0"} {
			b := unhex(t, tt.in+tail)
			c := mpack.NewCursor(b, codec.Limits{})
			if v, is := c.Int(); !is || v != tt.val || c.Pos() != len(unhex(t, tt.in)) {
				t.Errorf("Int() of %s = %d, %v", tt.in, v, is)
			}
			c.Reset(b)
			v, is := c.Uint(math.MaxUint32)
			if want := tt.val >= 0 && tt.val <= math.MaxUint32; is != want || is && v != uint64(tt.val) {
				t.Errorf("Uint() of %s = %d, %v", tt.in, v, is)
			}
		}
	}
	c := mpack.NewCursor(unhex(t, "cf ffffffffffffffff"), codec.Limits{})
	if _, is := c.Int(); is {
		t.Error("Int() takes 2^64-1")
	}
	if v, is := c.Uint(math.MaxUint64); !is || v != math.MaxUint64 {
		t.Errorf("Uint() of 2^64-1 = %d, %v", v, is)
	}
}

func TestCursorErrors(t *testing.T) {
	lim := codec.Limits{Depth: 1, Elements: 4, String: 100}
	str := func(hi int) func(*mpack.Cursor) bool {
		return func(c *mpack.Cursor) bool { _, is := c.Str(hi); return is }
	}
	array := func(c *mpack.Cursor) bool { _, is := c.Array(); return is }
	twice := func(c *mpack.Cursor) bool {
		array(c)
		return array(c)
	}
	pairs := func(c *mpack.Cursor) bool { _, is := c.Map(); return is }
	uint7 := func(c *mpack.Cursor) bool { _, is := c.Uint(7); return is }
	signed := func(c *mpack.Cursor) bool { _, is := c.Int(); return is }
	tests := []struct {
		in   string
		take func(*mpack.Cursor) bool
		err  error
		want string
	}{
		{"", array, codec.ErrTruncated, "truncated: it: a value was expected, the bytes end at byte 0"},
		{"c0", array, codec.ErrShape, "not a message of this protocol: it: array expected, nil found at byte 0"},
		{"91", array, codec.ErrTruncated, "truncated: it: array of 1, 0 bytes left at byte 0"},
		{"dc 00", array, codec.ErrTruncated, "truncated: it: array, 1 byte left at byte 0"},
		{"95 c0c0c0c0c0", array, codec.ErrElements, "too many elements: it: array of 5, 5 bytes left, limit 4 in all at byte 0"},
		{"91 91 c0", twice, codec.ErrDepth, "nested too deep: it: array of 1, limit 1 at byte 1"},
		{"91 81 c0 c0", func(c *mpack.Cursor) bool { return array(c) && pairs(c) }, codec.ErrDepth, "nested too deep: it: map of 1, limit 1 at byte 1"},
		{"df ffffffff c0", pairs, codec.ErrElements, "too many elements: it: map of 4294967295, 1 byte left, limit 4 in all at byte 0"},
		{"90", pairs, codec.ErrShape, "not a message of this protocol: it: map expected, array found at byte 0"},
		{"", uint7, codec.ErrTruncated, "truncated: it: a value was expected, the bytes end at byte 0"},
		{"08", uint7, codec.ErrShape, "not a message of this protocol: it: an int from 0 to 7 expected, 8 found at byte 0"},
		{"ff", uint7, codec.ErrShape, "not a message of this protocol: it: an int from 0 to 7 expected, -1 found at byte 0"},
		{"d3 8000000000000000", uint7, codec.ErrShape, "not a message of this protocol: it: an int from 0 to 7 expected, -9223372036854775808 found at byte 0"},
		{"cd 01", uint7, codec.ErrTruncated, "truncated: it: int, 1 byte left at byte 0"},
		{"cb 3ff0000000000000", uint7, codec.ErrShape, "not a message of this protocol: it: int expected, float found at byte 0"},
		{"c1", uint7, codec.ErrShape, "not a message of this protocol: it: int expected, invalid byte found at byte 0"},
		{"cf ffffffffffffffff", signed, codec.ErrShape, "not a message of this protocol: it: an int of 64 bits with a sign expected, 18446744073709551615 found at byte 0"},
		{"c4 01 61", str(5), codec.ErrShape, "not a message of this protocol: it: str expected, bin found at byte 0"},
		{"a3 616161", str(2), codec.ErrString, "string too long: it: str of 3, limit 2 at byte 0"},
		{"d9 65" + strings.Repeat("61", 101), str(1000), codec.ErrString, "string too long: it: str of 101, limit 100 at byte 0"},
		{"d9 03 6161", str(5), codec.ErrTruncated, "truncated: it: str of 3, 2 bytes left at byte 0"},
		{"", str(5), codec.ErrTruncated, "truncated: it: a value was expected, the bytes end at byte 0"},
	}
	for _, tt := range tests {
		c := mpack.NewCursor(unhex(t, tt.in), lim)
		if tt.take(&c) {
			t.Errorf("%s: taken", tt.in)
			continue
		}
		err := c.Err("it")
		if !errors.Is(err, tt.err) || err.Error() != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.in, err, tt.want)
		}
	}
}

// A container closed gives its level of nesting back.
func TestCursorClose(t *testing.T) {
	c := mpack.NewCursor(unhex(t, "92 91 c0 91 c0"), codec.Limits{Depth: 2})
	c.Array()
	for range 2 {
		if _, is := c.Array(); !is {
			t.Fatal(c.Err("inner"))
		}
		c.Nil()
		c.Close()
	}
	if !c.End() {
		t.Fatal(c.Err(""))
	}
}

package mpack_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// unhex reads hex with spaces.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatalf("hex %q: %v", s, err)
	}
	return b
}

// everyType holds one value of each of the format's types and widths.
var everyType = []string{
	"00", "7f", "e0", "ff", "c0", "c2", "c3",
	"cc ff", "cd ffff", "ce ffffffff", "cf ffffffffffffffff",
	"d0 80", "d1 8000", "d2 80000000", "d3 8000000000000000",
	"ca 3f800000", "cb 3ff0000000000000",
	"a0", "a3 616263", "bf " + strings.Repeat("61", 31), "d9 01 61", "da 0001 61", "db 00000001 61",
	"c4 00", "c4 01 61", "c5 0001 61", "c6 00000001 61",
	"d4 05 00", "d5 05 0000", "d6 05 00000000", "d7 05 0000000000000000", "d8 05 " + strings.Repeat("00", 16),
	"c7 00 05", "c7 03 05 000000", "c8 0003 05 000000", "c9 00000003 05 000000",
	"90", "92 c0 91 c0", "dc 0001 c0", "dd 00000001 c0",
	"80", "82 a0 c0 c0 81 c3 90", "de 0001 a0 c0", "df 00000001 a0 c0",
}

func TestCheckEveryType(t *testing.T) {
	for _, text := range everyType {
		b := unhex(t, text)
		if n, err := mpack.Check(b, codec.Limits{}); err != nil || n != len(b) {
			t.Errorf("Check(%s) = %d, %v; want %d", text, n, err, len(b))
		}
		more := append(bytes.Clone(b), 0xc1)
		if n, err := mpack.Check(more, codec.Limits{}); err != nil || n != len(b) {
			t.Errorf("Check(%s and a byte) = %d, %v; want %d", text, n, err, len(b))
		}
		if err := mpack.CheckAll(more, codec.Limits{}); !errors.Is(err, codec.ErrTrailing) {
			t.Errorf("CheckAll(%s and a byte) = %v, want ErrTrailing", text, err)
		}
		for cut := range len(b) {
			if _, err := mpack.Check(b[:cut], codec.Limits{}); !errors.Is(err, codec.ErrTruncated) {
				t.Errorf("Check(%s cut to %d) = %v, want ErrTruncated", text, cut, err)
			}
		}
	}
}

func TestCheckErrors(t *testing.T) {
	tests := []struct {
		name string
		in   string
		lim  codec.Limits
		err  error
		want string
	}{
		{"nothing", "", codec.Limits{}, codec.ErrTruncated, "truncated: a value was expected, the bytes end at byte 0"},
		{"the byte without meaning", "92 c0 c1", codec.Limits{}, codec.ErrByte, "invalid type byte: 0xc1 at byte 2"},
		{"2^32-1 elements", "dd ffffffff c0 c0 c0 c0 c0", codec.Limits{}, codec.ErrElements, "too many elements: array of 4294967295, 5 bytes left, limit 4194304 in all at byte 0"},
		{"2^32-1 pairs", "91 df ffffffff c0 c0 c0 c0", codec.Limits{}, codec.ErrElements, "too many elements: map of 4294967295, 4 bytes left, limit 4194304 in all at byte 1"},
		{"more elements than bytes", "dc 0005 c0 c0", codec.Limits{}, codec.ErrTruncated, "truncated: array of 5, 2 bytes left at byte 0"},
		{"an odd half of a map", "82 c0 c0 c0", codec.Limits{}, codec.ErrTruncated, "truncated: map of 2, 3 bytes left at byte 0"},
		{"elements summed up", "92 92 c0 c0 92 c0 c0", codec.Limits{Elements: 5}, codec.ErrElements, "too many elements: array of 2, 2 bytes left, limit 5 in all at byte 4"},
		{"a pair counts twice", "82 c0 c0 c0 c0", codec.Limits{Elements: 3}, codec.ErrElements, "too many elements: map of 2, 4 bytes left, limit 3 in all at byte 0"},
		{"str of 4 GiB", "db ffffffff 61", codec.Limits{}, codec.ErrString, "string too long: str of 4294967295, limit 52428800 at byte 0"},
		{"bin of 4 GiB", "c6 ffffffff 61", codec.Limits{}, codec.ErrString, "string too long: bin of 4294967295, limit 52428800 at byte 0"},
		{"ext of 4 GiB", "c9 ffffffff 05 61", codec.Limits{}, codec.ErrString, "string too long: ext of 4294967295, limit 52428800 at byte 0"},
		{"str longer than the bytes", "91 d9 05 61 61", codec.Limits{}, codec.ErrTruncated, "truncated: str of 5, 2 bytes left at byte 1"},
		{"short str longer than the bytes", "a5 61", codec.Limits{}, codec.ErrTruncated, "truncated: str of 5, 1 byte left at byte 0"},
		{"short str over a small limit", "a5 6161616161", codec.Limits{String: 4}, codec.ErrString, "string too long: str of 5, limit 4 at byte 0"},
		{"fixext over a small limit", "d8 05 " + strings.Repeat("00", 16), codec.Limits{String: 15}, codec.ErrString, "string too long: ext of 16, limit 15 at byte 0"},
		{"int cut", "91 cf 00000000", codec.Limits{}, codec.ErrTruncated, "truncated: int, 4 bytes left at byte 1"},
		{"header cut", "dd 0000", codec.Limits{}, codec.ErrTruncated, "truncated: array, 2 bytes left at byte 0"},
		{"nested over the limit", "91 91 91 91 c0", codec.Limits{Depth: 3}, codec.ErrDepth, "nested too deep: array of 1, limit 3 at byte 3"},
		{"an empty container counts", "91 91 91 80", codec.Limits{Depth: 3}, codec.ErrDepth, "nested too deep: map of 0, limit 3 at byte 3"},
		{"nested over the default", strings.Repeat("91", 129) + "c0", codec.Limits{}, codec.ErrDepth, "nested too deep: array of 1, limit 128 at byte 128"},
		{"nested over what can be asked for", strings.Repeat("91", 1025) + "c0", codec.Limits{Depth: 1 << 30}, codec.ErrDepth, "nested too deep: array of 1, limit 1024 at byte 1024"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.in)
			_, err := mpack.Check(b, tt.lim)
			if !errors.Is(err, tt.err) {
				t.Fatalf("err = %v, want %v", err, tt.err)
			}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
			var f *codec.FrameError
			if !errors.As(err, &f) || !bytes.Equal(f.Bytes, b[:min(64, len(b))]) {
				t.Errorf("evidence %x is not the front of the bytes", f.Bytes)
			}
		})
	}
}

func TestCheckLimitsAreReached(t *testing.T) {
	tests := []struct {
		name string
		in   string
		lim  codec.Limits
	}{
		{"depth 3", "91 91 90", codec.Limits{Depth: 3}},
		{"depth 16, the small array's", strings.Repeat("91", 16) + "c0", codec.Limits{}},
		{"depth 17, the large array's", strings.Repeat("91", 17) + "c0", codec.Limits{}},
		{"depth 128 twice", "92" + strings.Repeat(strings.Repeat("91", 126)+"90", 2), codec.Limits{}},
		{"depth 1024", strings.Repeat("91", 1024) + "c0", codec.Limits{Depth: 1024}},
		{"elements", "92 92 c0 c0 92 c0 c0", codec.Limits{Elements: 6}},
		{"elements below the small array", "92" + strings.Repeat("91", 20) + "c0 92 c0 c0", codec.Limits{Elements: 24}},
		{"string", "d9 20" + strings.Repeat("61", 32), codec.Limits{String: 32}},
		{"short string", "a4 61616161", codec.Limits{String: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := mpack.CheckAll(unhex(t, tt.in), tt.lim); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckSetsNothingAside(t *testing.T) {
	deep := unhex(t, strings.Repeat("91", 127)+"90")
	wide := append(unhex(t, "dd 00100000"), bytes.Repeat([]byte{0xc0}, 1<<20)...)
	for _, b := range [][]byte{deep, wide} {
		n := testing.AllocsPerRun(10, func() {
			if err := mpack.CheckAll(b, codec.Limits{}); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%x…: %v allocations", b[:4], n)
		}
	}
}

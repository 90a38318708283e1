package mpack_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

func seeds(f *testing.F) {
	f.Helper()
	for _, text := range everyType {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{
		"", "\xc1", "\x91\xc1", "\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff\xc0\xc0", "\xc6\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff\x05",
		strings.Repeat("\x91", 200), strings.Repeat("\x91", 127) + "\xc0", strings.Repeat("\x81\xa1a", 40) + "\xc0",
		"\x81\xa1m\xd7\x05\xdf\xff\xff\xff\xff\x00\x00\x00", "\x83\xa1a\x01\xa1m\x80\xa1s\x91\xa1x",
		"\x82\xa1a\x01\xa1a\x02", "\x82\xa1a\x90\xa1a\x81\xa1x\x01", "\x82\xa1n\x91\x81\xa1a\x81\xa1x\x01\xa1n\x91\x81\xa1a\x02",
	} {
		f.Add([]byte(s))
	}
}

// The library is the oracle: it takes what Check takes, to the same byte, and
// refuses what Check refuses, but for nesting, which it does not bound.
func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4<<10 {
			t.Skip("the library recurses")
		}
		n, err := mpack.Check(b, codec.Limits{})
		src := bytes.NewReader(b)
		theirs := msgpack.NewDecoder(src).Skip()
		switch {
		case err == nil && theirs != nil:
			t.Fatalf("Check takes %d bytes, the library refuses: %v", n, theirs)
		case err == nil && len(b)-src.Len() != n:
			t.Fatalf("Check takes %d bytes, the library %d", n, len(b)-src.Len())
		case err != nil && theirs == nil && !errors.Is(err, codec.ErrDepth):
			t.Fatalf("Check refuses (%v), the library takes %d bytes", err, len(b)-src.Len())
		}
		all := mpack.CheckAll(b, codec.Limits{})
		if (all == nil) != (err == nil && n == len(b)) {
			t.Fatalf("CheckAll = %v, Check = %d, %v of %d", all, n, err, len(b))
		}
		var frame *codec.FrameError
		if err != nil && (!errors.As(err, &frame) || frame.Offset < 0 || frame.Offset > len(b) || len(frame.Bytes) > 64) {
			t.Fatalf("error without evidence: %#v", err)
		}
	})
}

// Whatever the bytes and the target, Unmarshal neither panics nor sets memory
// aside out of proportion; and its plain values are the library's.
func FuzzUnmarshal(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4<<10 {
			t.Skip("small values find the same")
		}
		for _, out := range targets() {
			if got := allocated(func() { _ = enc.Unmarshal(b, out) }); got > 128<<10+500*uint64(len(b)) {
				t.Fatalf("into %T: %d bytes set aside for %d", out, got, len(b))
			}
		}
		var ours any
		if enc.Unmarshal(b, &ours) != nil || len(b) == 0 {
			return
		}
		dec := msgpack.NewDecoder(bytes.NewReader(b))
		dec.UseLooseInterfaceDecoding(true)
		theirs, err := dec.DecodeInterfaceLoose()
		if c := mpack.NewCursor(b, codec.Limits{}); err != nil || !stringKeys(&c) {
			return // extensions and keys that are no strings go their own way
		}
		if !same(plain(theirs), plain(ours)) {
			t.Fatalf("the library: %#v\nours: %#v", theirs, ours)
		}
		back, err := enc.Marshal(ours)
		if err != nil {
			t.Fatalf("encode again: %v", err)
		}
		var again any
		if err := enc.Unmarshal(back, &again); err != nil {
			t.Fatal(err)
		}
		if !same(plain(ours), plain(again)) {
			t.Fatalf("was %#v, encoded and decoded again %#v", ours, again)
		}
	})
}

// stringKeys says whether all keys of all maps of the next value are strings.
func stringKeys(c *mpack.Cursor) bool {
	all := true
	switch c.Peek() {
	case "array":
		n, _ := c.Array()
		for range n {
			all = stringKeys(c) && all
		}
		c.Close()
	case "map":
		n, _ := c.Map()
		for range n {
			all = c.Peek() == "str" && all
			all = stringKeys(c) && all
			all = stringKeys(c) && all
		}
		c.Close()
	default:
		c.Skip()
	}
	return all
}

// plain evens out what the library does otherwise on purpose: integers by
// their width on the wire, bins as strings, times in the local zone and with
// nanoseconds beyond a second.
func plain(v any) any {
	switch v := v.(type) {
	case uint64:
		if int64(v) >= 0 {
			return int64(v)
		}
	case []byte:
		return string(v)
	case mpack.Ext, time.Time:
		return nil
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// same is reflect.DeepEqual for decoded values, with NaN equal to itself.
func same(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, is := b.(float64)
		return is && (a == b || a != a && b != b)
	case []any:
		b, is := b.([]any)
		return is && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, is := b.(map[string]any)
		return is && maps.EqualFunc(a, b, same)
	}
	return reflect.DeepEqual(a, b)
}

// Every value has a text, which is JSON, in proportion, and comes back.
func FuzzToJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := enc.ToJSON(b)
		if err != nil {
			if mpack.CheckAll(b, codec.Limits{}) == nil {
				t.Fatalf("well-formed, yet %v", err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("not JSON: %s", text)
		}
		if len(text) > 12*len(b)+64 {
			t.Fatalf("%d bytes became %d: %s", len(b), len(text), text)
		}
		raw, err := enc.FromJSON(text)
		if err != nil {
			t.Fatalf("does not come back: %v: %s", err, text)
		}
		again, err := enc.ToJSON(raw)
		if err != nil {
			t.Fatal(err)
		}
		var first, second any
		if json.Unmarshal(text, &first) != nil || json.Unmarshal(again, &second) != nil || !same(first, second) {
			t.Fatalf("came back as another value:\n%s\n%s", text, again)
		}
	})
}

// FromJSON takes exactly JSON, within its limits, and ToJSON gives it back.
func FuzzFromJSON(f *testing.F) {
	for _, s := range []string{"", "null", `[1,-2.5e3,"x",{"a":[true,false]}]`, `{"a":{"b":{}}}`, "[1]]", "1 2", "1e999", `"\ud800"`, "18446744073709551616"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, err := enc.FromJSON(text)
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(text)) == 0 {
			text = []byte("null")
		}
		if !json.Valid(text) {
			t.Fatalf("took %q", text)
		}
		back, err := enc.ToJSON(raw)
		if err != nil {
			t.Fatal(err)
		}
		var first, second any
		if json.Unmarshal(text, &first) != nil || json.Unmarshal(back, &second) != nil || !same(first, second) {
			t.Fatalf("came back as another value:\n%s\n%s", text, back)
		}
	})
}

package mpack_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

var enc mpack.Encoding

type inner struct {
	Deep []codec.Raw `json:"deep,omitempty"`
}

type record struct {
	Named  string            `msgpack:"n" json:"unused"`
	Tagged int64             `json:"tagged"`
	Plain  *inner            // by its Go name
	Empty  []string          `json:"empty,omitempty"`
	Hidden string            `json:"-"`
	Bytes  []byte            `json:"bytes"`
	Time   time.Time         `json:"time"`
	Raw    codec.Raw         `json:"raw"`
	Labels map[string]string `json:"labels"`
	Any    any               `json:"any"`
}

func TestMarshal(t *testing.T) {
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"nil", nil, "c0"},
		{"nil raw", codec.Raw(nil), "c0"},
		{"empty raw", codec.Raw{}, "c0"},
		{"nil pointer", (*record)(nil), "c0"},
		{"bool", true, "c3"},
		{"small int", 5, "05"},
		{"negative int", -200, "d1 ff38"},
		{"int64 in the fewest bytes", int64(5), "05"},
		{"uint64", uint64(math.MaxUint64), "cf ffffffffffffffff"},
		{"whole float stays a float", 1.0, "cb 3ff0000000000000"},
		{"string", "ok", "a2 6f6b"},
		{"bytes", []byte("ok"), "c4 02 6f6b"},
		{"array", []int{1, 2}, "92 01 02"},
		{"map", map[string]int{"a": 1}, "81 a1 61 01"},
		{"time", time.Unix(1, 0), "d6 ff 00000001"},
		{"raw", codec.Raw("\x92\x01\x02"), "92 01 02"},
		{"raw inside", []any{codec.Raw("\x01"), codec.Raw(nil)}, "92 01 c0"},
		{"tags", struct {
			A int `msgpack:"x" json:"y"`
			B int `json:"z,omitempty"`
			C int `json:"-"`
			D bool
		}{A: 1, D: true}, "82 a1 78 01 a1 44 c3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := enc.Marshal(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if want := codec.Raw(unhex(t, tt.want)); !cmp.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}

func TestMarshalErrors(t *testing.T) {
	for name, v := range map[string]any{
		"channel":          make(chan int),
		"function inside":  map[string]any{"f": func() {}},
		"bad raw":          codec.Raw("\x92\x01"),
		"bad raw inside":   struct{ P codec.Raw }{codec.Raw("\xc1")},
		"two values":       codec.Raw("\x01\x02"),
		"two values in it": []any{codec.Raw("\x01\x02")},
		"too deep":         nested(200),
	} {
		if got, err := enc.Marshal(v); err == nil {
			t.Errorf("%s: encoded as %x", name, got)
		}
	}
	// A failed encode leaves nothing behind for the next.
	if got, err := enc.Marshal([]int{1}); err != nil || string(got) != "\x91\x01" {
		t.Errorf("after errors: %x, %v", got, err)
	}
}

func nested(n int) any {
	var v any
	for range n {
		v = []any{v}
	}
	return v
}

func TestMarshalDoesNotCopyRaw(t *testing.T) {
	in := codec.Raw("\x93\x01\x02\x03")
	got, err := enc.Marshal(in)
	if err != nil || &got[0] != &in[0] {
		t.Errorf("Marshal(Raw) = %p, %v; want %p", got, err, in)
	}
}

func TestStructRoundTrip(t *testing.T) {
	in := record{
		Named: "x", Tagged: math.MinInt64, Plain: &inner{Deep: []codec.Raw{codec.Raw("\x91\xc0"), codec.Raw("\x01")}},
		Hidden: "not sent", Bytes: []byte{0, 255}, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Raw: codec.Raw("\x81\xa1a\x01"), Labels: map[string]string{"k": "v"},
		Any: map[string]any{"list": []any{int64(1), "two", map[string]any{}}},
	}
	raw, err := enc.Marshal(&in)
	if err != nil {
		t.Fatal(err)
	}
	var got record
	if err := enc.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	got.Time = got.Time.UTC()
	want := in
	want.Hidden = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnmarshalAny(t *testing.T) {
	tests := []struct {
		in   string
		want any
	}{
		{"", nil},
		{"c0", nil},
		{"c3", true},
		{"05", int64(5)},
		{"cc ff", int64(255)},
		{"ff", int64(-1)},
		{"d3 8000000000000000", int64(math.MinInt64)},
		{"cf 7fffffffffffffff", int64(math.MaxInt64)},
		{"cf 8000000000000000", uint64(1 << 63)},
		{"ca 3f000000", 0.5},
		{"cb 3fe0000000000000", 0.5},
		{"a2 6f6b", "ok"},
		{"c4 02 6f6b", []byte("ok")},
		{"90", []any{}},
		{"92 01 91 c0", []any{int64(1), []any{nil}}},
		{"80", map[string]any{}},
		{"82 a1 61 01 a1 61 02", map[string]any{"a": int64(2)}}, // the last of two wins
		{"86 01 c0 ff c0 c3 c0 c0 c0 cb 3ff8000000000000 c0 c4 01 61 c0", map[string]any{"1": nil, "-1": nil, "true": nil, "null": nil, "1.5": nil, "YQ==": nil}},
		{"82 91 01 c0 81 a1 61 02 c0", map[string]any{"[1]": nil, `{"a":2}`: nil}},
		{"81 d6 ff 00000001 c0", map[string]any{"1970-01-01T00:00:01Z": nil}},
		{"d6 ff 00000001", time.Unix(1, 0).UTC()},
		{"d7 ff 00000004 00000001", time.Unix(1, 1).UTC()},
		{"c7 0c ff 00000001 fffffffffffffffe", time.Unix(-2, 1).UTC()},
		{"d7 ff ffffffff ffffffff", mpack.Ext{Type: -1, Data: unhex(t, "ffffffffffffffff")}}, // more nanoseconds than a second has
		{"c7 03 ff 000000", mpack.Ext{Type: -1, Data: []byte{0, 0, 0}}},
		{"d4 05 61", mpack.Ext{Type: 5, Data: []byte("a")}},
		{"c7 00 80", mpack.Ext{Type: -128, Data: []byte{}}},
	}
	for _, tt := range tests {
		var got any
		if err := enc.Unmarshal(unhex(t, tt.in), &got); err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.in, diff)
		}
	}
}

func TestUnmarshalTargets(t *testing.T) {
	raw := codec.Raw("\x81\xa1a\x93\x01\x02\x03")
	var m map[string]any
	if err := enc.Unmarshal(raw, &m); err != nil || !cmp.Equal(m, map[string]any{"a": []any{int64(1), int64(2), int64(3)}}) {
		t.Errorf("map: %v, %v", m, err)
	}
	if err := enc.Unmarshal(nil, &m); err != nil || m != nil {
		t.Errorf("nil into a map: %v, %v", m, err)
	}
	var s []any
	if err := enc.Unmarshal(raw, &s); err == nil {
		t.Errorf("a map into a slice: %v", s)
	}
	var typed map[string][]int
	if err := enc.Unmarshal(raw, &typed); err != nil || !cmp.Equal(typed, map[string][]int{"a": {1, 2, 3}}) {
		t.Errorf("typed: %v, %v", typed, err)
	}
	// A pointer inside an any is decoded into.
	var n []int
	into := any(&n)
	if err := enc.Unmarshal(codec.Raw("\x92\x01\x02"), &into); err != nil || !cmp.Equal(n, []int{1, 2}) {
		t.Errorf("through an any: %v, %v", n, err)
	}
	var kept codec.Raw
	if err := enc.Unmarshal(raw, &kept); err != nil || !cmp.Equal(kept, raw) || &kept[0] == &raw[0] {
		t.Errorf("raw: %x, %v; want a copy", kept, err)
	}
	if err := enc.Unmarshal(raw, nil); err != nil {
		t.Errorf("nil target: %v", err)
	}
	if err := enc.Unmarshal(codec.Raw("\x81"), nil); !errors.Is(err, codec.ErrTruncated) {
		t.Errorf("bad bytes into a nil target: %v", err)
	}
	for _, out := range []any{record{}, (*record)(nil), (*any)(nil), (*codec.Raw)(nil), (*map[string]any)(nil), (*[]any)(nil), 5} {
		if err := enc.Unmarshal(raw, out); !errors.Is(err, mpack.ErrTarget) {
			t.Errorf("into %T: %v, want ErrTarget", out, err)
		}
	}
	// An extension keeps its type both ways.
	var ext struct{ E mpack.Ext }
	if err := enc.Unmarshal(codec.Raw("\x81\xa1E\xd5\x05ab"), &ext); err != nil || ext.E.Type != 5 || string(ext.E.Data) != "ab" {
		t.Errorf("extension: %+v, %v", ext, err)
	}
	if back, err := enc.Marshal(ext); err != nil || string(back) != "\x81\xa1E\xd5\x05ab" {
		t.Errorf("extension back: % x, %v", back, err)
	}
	if err := enc.Unmarshal(codec.Raw("\x81\xa1E\x05"), &ext); err == nil {
		t.Error("an int went into an extension")
	}
	// A decoder that failed is not used again.
	var rec struct{ A codec.Raw }
	for range 100 {
		var bad struct {
			A codec.Raw `json:"a"`
			B int       `json:"b"`
		}
		if err := enc.Unmarshal(codec.Raw("\x82\xa1a\x01\xa1b\xa1x"), &bad); err == nil {
			t.Fatal("a string went into an int")
		}
		if err := enc.Unmarshal(codec.Raw("\x81\xa1A\x92\x01\x02"), &rec); err != nil || string(rec.A) != "\x92\x01\x02" {
			t.Fatalf("after an error: %x, %v", rec.A, err)
		}
	}
}

func TestEncodingIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				in := record{Named: fmt.Sprint(g, i), Tagged: int64(i), Any: "x"}
				raw, err := enc.Marshal(in)
				if err != nil {
					t.Error(err)
					return
				}
				var out record
				if err := enc.Unmarshal(raw, &out); err != nil || out.Named != in.Named || out.Tagged != in.Tagged {
					t.Errorf("got %+v, %v", out, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

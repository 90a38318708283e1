package sdk

import (
	"reflect"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

type tree struct {
	N    int8    `json:"n"`
	Next *tree   `json:"next"`
	All  []tree  `json:"all"`
	Raw  []byte  `json:"raw"`
	F    float32 `json:"f"`
}

func TestParamsAreHeldToTheirType(t *testing.T) {
	for _, tt := range []struct {
		into   any
		params any
		want   string // "" when it decodes
	}{
		{int64(0), int64(-5), ""},
		{uint64(0), uint64(1 << 63), ""},
		{uint(0), -1, "params: want uint, got the number -1"},
		{int16(0), 40_000, "params: want int16, got the number 40000"},
		{[2]int32{}, []int64{1, 1 << 40}, "params[1]: want int32, got the number 1099511627776"},
		{tree{}, map[string]any{"next": map[string]any{"all": []any{map[string]any{"n": 128}}}}, "params.next.all[0].n: want int8, got the number 128"},
		{tree{}, map[string]any{"raw": []byte{1}, "f": 2, "other": "x"}, ""},
		{tree{}, []any{1, nil, nil, nil, float32(1.5)}, ""},
		{tree{}, true, "params: want sdk.tree, got the boolean true"},
		{map[string][]uint8{}, map[string]any{"k": "text"}, ""},
		{[]codec.Raw{}, []any{1, "x"}, ""},
		{time.Time{}, time.Unix(1, 0), ""},
		{(*uint8)(nil), nil, ""},
		{"", []byte("bin"), ""},
		{[]string{}, map[string]any{}, "params: want []string, got a map of 0"},
		{map[string]int{}, []any{}, "params: want map[string]int, got a list of 0"},
		{false, "a string that is too long to be quoted", "params: want bool, got a string of 38 bytes"},
		{0, []byte{1, 2}, "params: want int, got 2 bytes"},
		{0, 1.5, "params: want int, got the number 1.5"},
	} {
		raw, err := mpack.Encoding{}.Marshal(tt.params)
		if err != nil {
			t.Fatal(err)
		}
		typ := reflect.TypeOf(tt.into)
		got := ""
		var v any
		if err := (mpack.Encoding{}).Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		if cutsIntegers(typ, 0) {
			got = misfit("params", v, typ, 0)
		}
		if got == "" {
			if err := (mpack.Encoding{}).Unmarshal(raw, reflect.New(typ).Interface()); err != nil {
				got = invalidParams(mpack.Encoding{}, raw, typ, err).Message
			}
		}
		if got != tt.want {
			t.Errorf("%v into %v: %q, want %q", tt.params, typ, got, tt.want)
		}
	}
}

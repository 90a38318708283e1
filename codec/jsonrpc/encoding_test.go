package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

func TestEncoding(t *testing.T) {
	enc := jsonrpc.Encoding{}
	for want, v := range map[string]any{
		`null`: nil, `[1,"a<b"]`: []any{1, "a<b"}, `{"a":1.5}`: map[string]any{"a": 1.5}, ` {} `: codec.Raw(" {} "), `{"r":[1,2]}`: map[string]any{"r": json.RawMessage("[1, 2]")},
	} {
		raw, err := enc.Marshal(v)
		if err != nil || string(raw) != want {
			t.Errorf("%v: %s, %v", v, raw, err)
		}
	}
	if raw, err := enc.Marshal(codec.Raw{}); err != nil || string(raw) != "null" {
		t.Errorf("%s, %v", raw, err)
	}
	for _, v := range []any{func() {}, codec.Raw("{"), codec.Raw("1 2"), json.RawMessage("{")} {
		if raw, err := enc.Marshal(v); err == nil {
			t.Errorf("%.20v: %.20s", v, raw)
		}
	}
	var out struct{ A []int }
	if err := enc.Unmarshal(codec.Raw(`{"a":[1,2]}`), &out); err != nil || !cmp.Equal(out.A, []int{1, 2}) {
		t.Errorf("%v, %v", out, err)
	}
	in := codec.Raw(`[1]`)
	var kept codec.Raw
	if err := enc.Unmarshal(in, &kept); err != nil {
		t.Fatal(err)
	}
	if in[1] = '2'; string(kept) != "[1]" {
		t.Errorf("a Raw that was handed out changed: %s", kept)
	}
	if err := enc.Unmarshal(nil, nil); err != nil {
		t.Error(err)
	}
	var null *codec.Raw
	for _, target := range []any{null, out, (*int)(nil)} {
		if err := enc.Unmarshal(in, target); !errors.Is(err, jsonrpc.ErrTarget) {
			t.Errorf("%T: %v", target, err)
		}
	}
	var v any
	for _, c := range []struct {
		raw string
		is  error
	}{
		{strings.Repeat("[", 129) + strings.Repeat("]", 129), codec.ErrDepth},
		{"[" + strings.Repeat("0,", 5<<20) + "0]", codec.ErrElements},
		{"[" + strings.Repeat("{},", 1<<20) + "0]", codec.ErrElements}, // over 256 MiB once decoded
		{"[1] 2", codec.ErrTrailing}, {"[1", codec.ErrTruncated}, {"[\"\x00\"]", codec.ErrByte},
	} {
		if err := enc.Unmarshal(codec.Raw(c.raw), &v); !errors.Is(err, c.is) {
			t.Errorf("%.20s: %v", c.raw, err)
		}
	}
	for text, want := range map[string]string{"": "null", " \n": "null", " [ 1 , \"a b\" ] ": `[1,"a b"]`, "{}": "{}"} {
		if raw, err := enc.FromJSON([]byte(text)); err != nil || string(raw) != want {
			t.Errorf("%q: %q, %v", text, raw, err)
		}
		if raw, err := enc.ToJSON(codec.Raw(strings.TrimSpace(text))); err != nil || string(raw) != want {
			t.Errorf("%q: %q, %v", text, raw, err)
		}
	}
	if _, err := enc.FromJSON([]byte("{")); err == nil {
		t.Error("half an object")
	}
	if _, err := enc.ToJSON(codec.Raw("nul")); !errors.Is(err, codec.ErrTruncated) {
		t.Error(err)
	}
}

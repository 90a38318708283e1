package codec_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&codec.Error{Name: "Panic", Message: "boom"}, "Panic: boom"},
		{&codec.Error{Message: "boom"}, "boom"},
		{&codec.Error{Name: "Panic"}, "Panic"},
		{&codec.FrameError{Err: codec.ErrEmpty, Offset: -1}, "empty frame"},
		{&codec.FrameError{Err: codec.ErrByte, Offset: 3, Detail: "0xc1"}, "invalid type byte: 0xc1 at byte 3"},
		{&codec.FrameError{Err: codec.ErrTooLarge, Offset: -1, Detail: "9 bytes, limit 8"}, "frame over the limit: 9 bytes, limit 8"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestErrorChains(t *testing.T) {
	inner := &codec.Error{Name: codec.NameMethodNotFound, Message: "no method x"}
	outer := &codec.Error{Name: "Failed", Cause: inner}
	wrapped := fmt.Errorf("host ts: %w", outer)
	var got *codec.Error
	if !errors.As(wrapped, &got) || got != outer {
		t.Errorf("As found %v, want the outermost", got)
	}
	if !errors.Is(wrapped, inner) {
		t.Error("Is does not find the cause")
	}
	if errors.Unwrap(error(inner)) != nil {
		t.Error("an error without a cause unwraps to something")
	}
	if !errors.Is(fmt.Errorf("read: %w", &codec.FrameError{Err: codec.ErrDepth}), codec.ErrDepth) {
		t.Error("a FrameError hides its sentinel")
	}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {(*codec.Error)(nil), false}, {errors.New("x"), false}, {wrapped, false},
		{inner, true}, {fmt.Errorf("host ts: %w", inner), true}, {&codec.Error{Code: -32601}, true},
	} {
		if got := codec.IsMethodNotFound(tt.err); got != tt.want {
			t.Errorf("IsMethodNotFound(%#v) = %v", tt.err, got)
		}
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[codec.Kind]string{codec.Request: "request", codec.Credit: "credit", 7: "kind 7", 255: "kind 255"} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d: %q, want %q", uint8(kind), got, want)
		}
	}
}

func TestLimitsWithDefaults(t *testing.T) {
	want := codec.Limits{Frame: 50 << 20, Depth: 128, Elements: 4 << 20, String: 50 << 20}
	if got := (codec.Limits{}).WithDefaults(); got != want {
		t.Errorf("defaults are %+v", got)
	}
	if got := (codec.Limits{Frame: 1000, Depth: -1, String: 2000}).WithDefaults(); got != (codec.Limits{Frame: 1000, Depth: 128, Elements: 4 << 20, String: 1000}) {
		t.Errorf("a string may be longer than the frame: %+v", got)
	}
	set := codec.Limits{Frame: 4, Depth: 3, Elements: 2, String: 1}
	if got := set.WithDefaults(); got != set {
		t.Errorf("%+v became %+v", set, got)
	}
}

func TestCaps(t *testing.T) {
	c := codec.CapAck | codec.CapPing
	if !c.Has(codec.CapAck) || !c.Has(codec.CapAck|codec.CapPing) || c.Has(codec.CapAck|codec.CapStream) || !c.Has(0) || !codec.CapAll.Has(c) {
		t.Errorf("Has is wrong for %05b", c)
	}
}

func TestRawAsMessagePack(t *testing.T) {
	for in, want := range map[string]string{"": "\xc0", "\x92\x01\x02": "\x92\x01\x02"} {
		if got, err := codec.Raw(in).MarshalMsgpack(); err != nil || string(got) != want {
			t.Errorf("% x: % x, %v", in, got, err)
		}
	}
	src := []byte("\x91\x01")
	r := codec.Raw("longer than that")
	kept := r
	if err := r.UnmarshalMsgpack(src); err != nil || string(r) != "\x91\x01" || &r[0] == &src[0] || string(kept) != "longer than that" {
		t.Errorf("% x, %v: want a copy that leaves the old value alone", r, err)
	}
}

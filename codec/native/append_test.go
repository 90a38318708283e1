package native_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// What cannot be sent leaves the buffer as it was.
func TestAppendErrors(t *testing.T) {
	small := native.Open(codec.Limits{Frame: 100})
	tests := []struct {
		name string
		m    codec.Message
		err  error
		want string
	}{
		{"request without an id", codec.Message{Kind: codec.Request, Method: "a"}, codec.ErrShape, "request without an id"},
		{"ack without an id", codec.Message{Kind: codec.Ack}, codec.ErrShape, "ack without an id"},
		{"no method", codec.Message{Kind: codec.Request, ID: 1}, codec.ErrShape, "method: empty"},
		{"method that is not UTF-8", codec.Message{Kind: codec.Notification, Method: "\xff"}, codec.ErrShape, "not UTF-8"},
		{"method too long", codec.Message{Kind: codec.Notification, Method: strings.Repeat("a", 1025)}, codec.ErrString, "1025 bytes, limit 1024"},
		{"payload over the frame", codec.Message{Kind: codec.Request, ID: 1, Method: "a", Params: bin(200, 1)}, codec.ErrTooLarge, "202 bytes, limit 100"},
		{"payload and envelope over the frame", codec.Message{Kind: codec.Request, ID: 1, Method: "a", Params: bin(96, 1)}, codec.ErrTooLarge, "103 bytes, limit 100"},
		{"error over the frame", codec.Message{Kind: codec.Response, ID: 1, Err: &codec.Error{Stack: strings.Repeat("x", 100)}}, codec.ErrTooLarge, "limit 100"},
		{"unknown kind", codec.Message{Kind: 7, ID: 1}, codec.ErrShape, "kind 7"},
		{"ack not in force", codec.Message{Kind: codec.Ack, ID: 1}, codec.ErrShape, "capability ack is not in force"},
		{"cancel not in force", codec.Message{Kind: codec.Cancel, ID: 1}, codec.ErrShape, "capability cancel is not in force"},
		{"item not in force", codec.Message{Kind: codec.Item, ID: 1}, codec.ErrShape, "capability stream is not in force"},
		{"credit not in force", codec.Message{Kind: codec.Credit, ID: 1}, codec.ErrShape, "capability stream is not in force"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dst := []byte("before")
			got, err := small.Append(dst, &tt.m)
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %v with %q", err, tt.err, tt.want)
			}
			if !bytes.Equal(got, dst) {
				t.Errorf("dst became %q", got)
			}
		})
	}
}

// A trace that is not in force stays at home.
func TestTraceNotInForce(t *testing.T) {
	sup, _, _, toHost, _, fromSup := pair(t, codec.CapAll&^codec.CapTrace)
	send(t, sup, toHost, codec.Message{Kind: codec.Notification, Method: "log", Trace: codec.Trace{Parent: "00-1-2-01"}})
	var m codec.Message
	next(t, fromSup, &m)
	if m.Trace != (codec.Trace{}) {
		t.Errorf("got the trace %+v", m.Trace)
	}
}

// What stands behind the handshake's answer in the same read is judged by
// what that answer put in force, before the machine has seen it.
func TestCapabilitiesComeIntoForceInOrder(t *testing.T) {
	for _, in := range []codec.Caps{codec.CapAll, codec.CapAck} {
		sup, host := native.Open(codec.Limits{}), native.Open(codec.Limits{})
		acc := host.Accept(native.Self{Caps: in})
		hs := sup.Handshake(codec.Hello{})
		out, _ := hs.Start()
		answer, _, err := acc.Handle(&out[0])
		if err != nil {
			t.Fatal(err)
		}
		var wire bytes.Buffer
		send(t, host, &wire, answer...)
		send(t, host, &wire, codec.Message{Kind: codec.Request, ID: 1, Method: "ask"})
		wire.WriteString("\x00\x00\x00\x03\x92\x04\x01") // and cancel it
		r := sup.NewReader(&wire)
		var m codec.Message
		next(t, r, &m)
		next(t, r, &m)
		err = r.Next(&m)
		if allowed := in.Has(codec.CapCancel); allowed != (err == nil) {
			t.Errorf("caps %05b: cancel: %v", in, err)
		}
	}
}

func TestGoodbye(t *testing.T) {
	sup, _, _, toHost, _, fromSup := pair(t, codec.CapAll)
	m, _ := sup.Goodbye()
	m.ID = 2
	send(t, sup, toHost, *m)
	var got codec.Message
	next(t, fromSup, &got)
	if got.Kind != codec.Request || got.Method != "shutdown" || got.Params != nil {
		t.Errorf("Goodbye is %+v", got)
	}
}

func TestInitThatCannotBeEncoded(t *testing.T) {
	hs := native.Open(codec.Limits{}).Handshake(codec.Hello{Init: make(chan int)})
	if out, done := hs.Start(); len(out) != 0 || done {
		t.Errorf("Start() = %v, %v", out, done)
	}
	if _, _, err := hs.Handle(&codec.Message{Kind: codec.Ack, ID: 1}); err == nil || !strings.Contains(err.Error(), "init") {
		t.Errorf("Handle: %v", err)
	}
}

func TestProtocol(t *testing.T) {
	p := native.New()
	if p.Name() != "hostsup" {
		t.Errorf("Name() = %q", p.Name())
	}
	if s := p.Open(codec.Limits{}); s.Ping() != "" {
		t.Errorf("Ping() before the handshake = %q", s.Ping())
	}
	raw, err := p.Marshal(map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := p.ToJSON(raw); err != nil || string(text) != `{"a":1}` {
		t.Errorf("ToJSON = %s, %v", text, err)
	}
}

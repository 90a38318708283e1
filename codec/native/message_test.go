package native_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// pair returns two sessions whose handshake gave the capabilities caps, with
// the readers that hear the other: what the host appends, fromHost reads.
func pair(t testing.TB, caps codec.Caps) (sup, host *native.Session, toSup, toHost *bytes.Buffer, fromHost, fromSup codec.Reader) {
	t.Helper()
	sup, host = native.Open(codec.Limits{}), native.Open(codec.Limits{})
	toSup, toHost = new(bytes.Buffer), new(bytes.Buffer)
	hs := sup.Handshake(codec.Hello{Supervisor: "hostsup", Version: "0.1.0", Host: "ts", Life: 7, Init: map[string]any{"root": "/srv"}})
	acc := host.Accept(native.Self{Name: "demo", Version: "1.2", Caps: caps})
	fromHost, fromSup = sup.NewReader(toSup), host.NewReader(toHost)

	out, done := hs.Start()
	if done {
		t.Fatal("Start is done before the answer")
	}
	send(t, sup, toHost, out...)
	var m codec.Message
	next(t, fromSup, &m)
	out, done, err := acc.Handle(&m)
	if err != nil || done {
		t.Fatalf("host: Handle(initialize) = done %v, %v", done, err)
	}
	send(t, host, toSup, out...)
	next(t, fromHost, &m)
	out, done, err = hs.Handle(&m)
	if err != nil || !done {
		t.Fatalf("Handle(answer) = done %v, %v", done, err)
	}
	send(t, sup, toHost, out...)
	next(t, fromSup, &m)
	if _, done, err = acc.Handle(&m); err != nil || !done {
		t.Fatalf("host: Handle(initialized) = done %v, %v", done, err)
	}
	if want := (codec.Peer{Name: "demo", Version: "1.2", Caps: caps}); hs.Peer() != want {
		t.Fatalf("Peer() = %+v, want %+v", hs.Peer(), want)
	}
	return sup, host, toSup, toHost, fromHost, fromSup
}

func send(t testing.TB, s codec.Session, w *bytes.Buffer, ms ...codec.Message) {
	t.Helper()
	for i := range ms {
		b, err := s.Append(nil, &ms[i])
		if err != nil {
			t.Fatalf("Append(%+v): %v", ms[i], err)
		}
		w.Write(b)
	}
}

func next(t testing.TB, r codec.Reader, m *codec.Message) {
	t.Helper()
	if err := r.Next(m); err != nil {
		t.Fatalf("Next: %v", err)
	}
}

func raw(s string) codec.Raw { return codec.Raw(s) }

func TestMessagesRoundTrip(t *testing.T) {
	deep := &codec.Error{Name: "e0"}
	for range 30 {
		deep = &codec.Error{Name: "outer", Message: "because", Cause: deep}
	}
	cut := &codec.Error{Name: "outer", Message: "because"}
	for range 15 {
		cut = &codec.Error{Name: "outer", Message: "because", Cause: cut}
	}
	tests := []struct {
		name string
		in   codec.Message
		want *codec.Message // nil: as sent
	}{
		{name: "request", in: codec.Message{Kind: codec.Request, ID: 2, Method: "echo", Params: raw("\x93\x01\x02\x03")}},
		{name: "request without params", in: codec.Message{Kind: codec.Request, ID: 1<<32 - 1, Method: "pid"}},
		{name: "request with a trace", in: codec.Message{Kind: codec.Request, ID: 300, Method: "echo", Trace: codec.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", State: "a=b"}}},
		{name: "response", in: codec.Message{Kind: codec.Response, ID: 70000, Result: raw("\xa2ok")}},
		{name: "response of nil", in: codec.Message{Kind: codec.Response, ID: 2}},
		{name: "response with an error", in: codec.Message{Kind: codec.Response, ID: 2, Err: &codec.Error{
			Name: "Panic", Message: "boom", Code: -32000, Stack: "main.go:3", Data: raw("\x81\xa1k\x01"),
			Cause: &codec.Error{Message: "disk full"}}}},
		{name: "causes are cut", in: codec.Message{Kind: codec.Response, ID: 2, Err: deep}, want: &codec.Message{Kind: codec.Response, ID: 2, Err: cut}},
		{name: "an error loses the result", in: codec.Message{Kind: codec.Response, ID: 2, Err: &codec.Error{Name: "E"}, Result: raw("\x01")},
			want: &codec.Message{Kind: codec.Response, ID: 2, Err: &codec.Error{Name: "E"}}},
		{name: "notification", in: codec.Message{Kind: codec.Notification, Method: "log", Params: raw("\xa5hello")}},
		{name: "notification with a trace", in: codec.Message{Kind: codec.Notification, Method: "log", Trace: codec.Trace{Parent: "00-1-2-01"}}},
		{name: "ack", in: codec.Message{Kind: codec.Ack, ID: 9}},
		{name: "cancel", in: codec.Message{Kind: codec.Cancel, ID: 9}},
		{name: "item", in: codec.Message{Kind: codec.Item, ID: 9, Seq: 4000, Result: raw("\xc3")}},
		{name: "item of nil", in: codec.Message{Kind: codec.Item, ID: 9}},
		{name: "credit", in: codec.Message{Kind: codec.Credit, ID: 9, Credit: 64}},
		{name: "a long method", in: codec.Message{Kind: codec.Notification, Method: strings.Repeat("m", native.MaxMethod)}},
		{name: "a large value", in: codec.Message{Kind: codec.Request, ID: 9, Method: "put", Params: append(raw("\xc6\x00\x02\x00\x00"), make([]byte, 128<<10)...)}},
	}
	sup, host, toSup, toHost, fromHost, fromSup := pair(t, codec.CapAll)
	ways := []struct {
		name string
		s    codec.Session
		w    *bytes.Buffer
		r    codec.Reader
	}{{"to the host", sup, toHost, fromSup}, {"to the supervisor", host, toSup, fromHost}}
	for _, way := range ways {
		for _, tt := range tests {
			t.Run(way.name+"/"+tt.name, func(t *testing.T) {
				b, err := way.s.Append([]byte("before"), &tt.in)
				if err != nil {
					t.Fatal(err)
				}
				if string(b[:6]) != "before" {
					t.Fatalf("Append changed what was there: %q", b[:6])
				}
				way.w.Write(b[6:])
				var got codec.Message
				next(t, way.r, &got)
				want := tt.in
				if tt.want != nil {
					want = *tt.want
				}
				want.Size = len(b) - 6
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
		if err := way.r.Next(new(codec.Message)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: Next at the end = %v, want EOF", way.name, err)
		}
	}
}

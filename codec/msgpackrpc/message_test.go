package msgpackrpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
)

// read returns the messages of a stream up to its end.
func read(t testing.TB, b []byte) []codec.Message {
	t.Helper()
	r := open(codec.Limits{}).NewReader(bytes.NewReader(b))
	var out []codec.Message
	for {
		var m codec.Message
		if err := r.Next(&m); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
}

func TestMessagesOfPeers(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want codec.Message
	}{
		{"request", "94 00 07 a3 61736b 91 01", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\x91\x01")}},
		{"request of id 0", "94 00 00 a3 61736b 90", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\x90")}},
		{"request of the largest id", "94 00 ce ffffffff a3 61736b 90", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\x90")}},
		{"method as bin", "94 00 07 c4 03 61736b 90", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\x90")}},
		{"method as bin with a length of 16 bits", "94 00 07 c5 0003 61736b 90", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\x90")}},
		{"method as bin with a length of 32 bits", "94 00 07 c6 00000003 61736b 90", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\x90")}},
		{"everything in its longest form", "dd 00000004 cf 0000000000000000 cf 0000000000000007 db 00000003 61736b dd 00000000", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\xdd\x00\x00\x00\x00")}},
		{"params that are nil", "94 00 07 a3 61736b c0", codec.Message{Kind: codec.Request, ID: 1, Method: "ask"}},
		{"params that are a map", "94 00 07 a3 61736b 80", codec.Message{Kind: codec.Request, ID: 1, Method: "ask", Params: codec.Raw("\x80")}},
		{"notification", "93 02 a3 736179 91 c0", codec.Message{Kind: codec.Notification, Method: "say", Params: codec.Raw("\x91\xc0")}},
		{"result", "94 01 07 c0 92 01 02", codec.Message{Kind: codec.Response, ID: 7, Result: codec.Raw("\x92\x01\x02")}},
		{"result that is nil", "94 01 07 c0 c0", codec.Message{Kind: codec.Response, ID: 7}},
		{"result that is a handle", "94 01 07 c0 d4 00 01", codec.Message{Kind: codec.Response, ID: 7, Result: codec.Raw("\xd4\x00\x01")}},
		{"result beside an error", "94 01 07 a1 78 01", codec.Message{Kind: codec.Response, ID: 7, Err: &codec.Error{Message: "x"}}},
		{"error as false", "94 01 07 c2 01", codec.Message{Kind: codec.Response, ID: 7, Err: &codec.Error{Message: "false", Data: codec.Raw("\xc2")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.in)
			tt.want.Size = len(b)
			if diff := cmp.Diff([]codec.Message{tt.want}, read(t, b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The texts are those that Neovim 0.7.2, pynvim 0.4.2 and the node host 5.5.0
// answered.
func TestErrorsOfPeers(t *testing.T) {
	type list []any
	const missing = codec.NameMethodNotFound
	tests := []struct {
		in   any
		want codec.Error
	}{
		{list{0, "Vim:E117: Unknown function: nosuch"}, codec.Error{Message: "Vim:E117: Unknown function: nosuch"}},
		{list{1, "Invalid buffer id: 99"}, codec.Error{Message: "Invalid buffer id: 99", Code: 1}},
		{list{-32601, "x"}, codec.Error{Message: "x", Code: -32601}},
		{list{0, []byte("as bin")}, codec.Error{Message: "as bin"}},
		{list{0, "Invalid method: nope"}, codec.Error{Message: "Invalid method: nope", Name: missing}},
		{list{0, "Vim:Error invoking 'ask' on channel 1:\nInvalid method: ask"}, codec.Error{Message: "Vim:Error invoking 'ask' on channel 1:\nInvalid method: ask"}},
		{`no request handler registered for "nope"`, codec.Error{Message: `no request handler registered for "nope"`, Name: missing}},
		{"Error: Could not load plugin: nope", codec.Error{Message: "Error: Could not load plugin: nope", Name: missing}},
		{"Error: Could not load plugin: /srv/p.js", codec.Error{Message: "Error: Could not load plugin: /srv/p.js"}},
		{"Error: Could not load plugin: C:/p.js", codec.Error{Message: "Error: Could not load plugin: C:/p.js"}},
		{"\xff\xfe", codec.Error{Message: "\ufffd"}},
		{"", codec.Error{}},
		{strings.Repeat("x", 100<<10), codec.Error{Message: strings.Repeat("x", 64<<10)}},
		{7, codec.Error{Message: "7", Data: codec.Raw("\x07")}},
		{list{}, codec.Error{Message: "[]", Data: codec.Raw("\x90")}},
		{list{0, "x", 1}, codec.Error{Message: `[0,"x",1]`, Data: codec.Raw("\x93\x00\xa1x\x01")}},
		{list{0, 1}, codec.Error{Message: "[0,1]", Data: codec.Raw("\x92\x00\x01")}},
		{list{uint64(math.MaxUint64), "x"}, codec.Error{Message: `[18446744073709551615,"x"]`, Data: codec.Raw("\x92\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xa1x")}},
		{map[string]int{"code": 5}, codec.Error{Message: `{"code":5}`, Data: codec.Raw("\x81\xa4code\x05")}},
		{make([]int, 10000), codec.Error{Message: "an error of 10003 bytes", Data: append(codec.Raw("\xdc\x27\x10"), make([]byte, 10000)...)}},
	}
	for _, tt := range tests {
		raw, err := mpack.Encoding{}.Marshal(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, append(append([]byte("\x94\x01\x07"), raw...), 0xc0))
		if diff := cmp.Diff(&tt.want, got[0].Err); diff != "" {
			t.Errorf("%.80v: %s", tt.in, diff)
		}
		if want := tt.want.Name == missing; codec.IsMethodNotFound(got[0].Err) != want && tt.want.Code != -32601 {
			t.Errorf("%.80v: no such method: %v", tt.in, !want)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	tests := []struct {
		name string
		in   string
		err  error
		want string
	}{
		{"text", "hello, world\n", codec.ErrShape, `not a message of this protocol: an array expected, the byte 0x68 found; these bytes are text: "hello, world\n" at byte 0`},
		{"text behind a message", "\x93\x02\xa1a\x90Traceback (most recent call last):\n", codec.ErrShape, `these bytes are text: "Traceback (most recent call last):\n"`},
		{"a rune cut in two", "caf\xc3", codec.ErrShape, `text: "caf"`},
		{"no array, no text", "\x80\x01", codec.ErrShape, "an array expected, the byte 0x80 found at byte 0"},
		{"the byte without meaning", "\x93\x02\xc1", codec.ErrByte, "0xc1 at byte 2"},
		{"empty array", "\x90", codec.ErrShape, "an empty array at byte 0"},
		{"type that is text", "\x92\xa1a\xa1b", codec.ErrShape, "type: int expected, str found at byte 1"},
		{"type 3", "\x92\x03\xa1b", codec.ErrShape, "type: an int from 0 to 2 expected, 3 found at byte 1"},
		{"request without params", "\x93\x00\x01\xa1a", codec.ErrShape, "request of 3 elements, 4 expected at byte 0"},
		{"response without a result", "\x93\x01\x01\xc0", codec.ErrShape, "response of 3 elements, 4 expected"},
		{"notification with an id", "\x94\x02\x01\xa1a\x90", codec.ErrShape, "notification of 4 elements, 3 expected"},
		{"id that is negative", "\x94\x00\xff\xa1a\x90", codec.ErrShape, "msgid: an int from 0 to 4294967295 expected, -1 found at byte 2"},
		{"id of more than 32 bits", "\x94\x01\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xc0\xc0", codec.ErrShape, "msgid: an int from 0 to 4294967295 expected, 4294967296 found"},
		{"id that is a string", "\x94\x00\xa1x\xa1a\x90", codec.ErrShape, "msgid: int expected, str found at byte 2"},
		{"method that is a number", "\x93\x02\x07\x90", codec.ErrShape, "method: str expected, int found at byte 2"},
		{"method that is empty", "\x93\x02\xa0\x90", codec.ErrShape, "method: empty or not UTF-8"},
		{"method that is an empty bin", "\x93\x02\xc4\x00\x90", codec.ErrShape, "method: empty or not UTF-8"},
		{"method that is not UTF-8", "\x93\x02\xa1\xff\x90", codec.ErrShape, `method: empty or not UTF-8: "\xff" at byte 2`},
		{"method too long", "\x93\x02\xda\x20\x01" + strings.Repeat("m", 8193) + "\x90", codec.ErrString, "method: 8193 bytes, limit 8192 at byte 2"},
		{"the longest method", "\x93\x02\xda\x20\x00" + strings.Repeat("m", 8192) + "\x90", io.EOF, ""},
		{"a request twice", "\x94\x00\x05\xa1a\x90\x94\x00\xcc\x05\xa1b\x90", codec.ErrID, "request 5 of the peer, another with this id is not answered yet"},
		{"4096 requests", requests(4096), io.EOF, ""},
		{"4097 requests", requests(4097), codec.ErrElements, "request 4096 of the peer, 4096 others are not answered yet"},
		// pynvim's way to say that it failed over a message.
		{"response to nothing", "\x94\x01\x00\xa4ouch\xc0", codec.ErrID, "response to request 0, which was never made: ouch"},
		{"result of nothing", "\x94\x01\x00\xc0\xc0", codec.ErrID, "response to request 0, which was never made: no error"},
		{"cut", "\x94\x00", codec.ErrTruncated, "the stream ended within a message, after 2 bytes of it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := open(codec.Limits{}).NewReader(strings.NewReader(tt.in))
			var err error
			for err == nil {
				err = r.Next(new(codec.Message))
			}
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v with %q", err, tt.err, tt.want)
			}
			if again := r.Next(new(codec.Message)); again != err {
				t.Errorf("the reader goes on after an error: %v", again)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	long := strings.Repeat("m", 300)
	tests := []struct {
		name string
		m    codec.Message
		want string
	}{
		{"request", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\x92\x01\x02")}, "\x94\x00\x07\xa3ask\x92\x01\x02"},
		{"largest id", codec.Message{Kind: codec.Request, ID: math.MaxUint32, Method: "ask"}, "\x94\x00\xce\xff\xff\xff\xff\xa3ask\x90"},
		{"no params", codec.Message{Kind: codec.Request, ID: 7, Method: "ask"}, "\x94\x00\x07\xa3ask\x90"},
		{"params that are nil", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\xc0")}, "\x94\x00\x07\xa3ask\x90"},
		{"params that are a number", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\x2a")}, "\x94\x00\x07\xa3ask\x91\x2a"},
		{"params that are a map", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\x81\xa1a\x01")}, "\x94\x00\x07\xa3ask\x91\x81\xa1a\x01"},
		{"params that are a handle", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\xd4\x00\x01")}, "\x94\x00\x07\xa3ask\x91\xd4\x00\x01"},
		{"params that are an empty array", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\x90")}, "\x94\x00\x07\xa3ask\x90"},
		{"params that are a long array", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\xdc\x00\x01\x05")}, "\x94\x00\x07\xa3ask\xdc\x00\x01\x05"},
		{"params that are a longer array", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Params: codec.Raw("\xdd\x00\x00\x00\x01\x05")}, "\x94\x00\x07\xa3ask\xdd\x00\x00\x00\x01\x05"},
		{"notification", codec.Message{Kind: codec.Notification, Method: "say", Params: codec.Raw("\x05")}, "\x93\x02\xa3say\x91\x05"},
		{"trace and progress stay at home", codec.Message{Kind: codec.Request, ID: 7, Method: "ask", Progress: true, Trace: codec.Trace{Parent: "p"}}, "\x94\x00\x07\xa3ask\x90"},
		{"long method", codec.Message{Kind: codec.Notification, Method: long}, "\x93\x02\xda\x01\x2c" + long + "\x90"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := open(codec.Limits{}).Append([]byte("before"), &tt.m)
			if err != nil || string(got) != "before"+tt.want {
				t.Errorf("got % x, %v; want % x", got, err, tt.want)
			}
		})
	}
}

// What cannot be sent leaves the buffer as it was.
func TestAppendErrors(t *testing.T) {
	tests := []struct {
		name string
		m    codec.Message
		err  error
		want string
	}{
		{"request without an id", codec.Message{Kind: codec.Request, Method: "a"}, codec.ErrShape, "request without an id"},
		{"no method", codec.Message{Kind: codec.Request, ID: 1}, codec.ErrShape, "method: empty"},
		{"method that is not UTF-8", codec.Message{Kind: codec.Notification, Method: "\xff"}, codec.ErrShape, "not UTF-8"},
		{"method too long", codec.Message{Kind: codec.Notification, Method: strings.Repeat("a", 8193)}, codec.ErrString, "8193 bytes, limit 8192"},
		{"payload over the frame", codec.Message{Kind: codec.Request, ID: 1, Method: "a", Params: bin(200, 1)}, codec.ErrTooLarge, "202 bytes, limit 100"},
		{"payload and envelope over the frame", codec.Message{Kind: codec.Request, ID: 1, Method: "a", Params: bin(94, 1)}, codec.ErrTooLarge, "102 bytes, limit 100"},
		{"response to nothing", codec.Message{Kind: codec.Response, ID: 1}, codec.ErrID, "response to request 1, which is not open"},
		{"ack", codec.Message{Kind: codec.Ack, ID: 1}, codec.ErrShape, "the protocol has no ack"},
		{"cancel", codec.Message{Kind: codec.Cancel, ID: 1}, codec.ErrShape, "the protocol has no cancel"},
		{"item", codec.Message{Kind: codec.Item, ID: 1}, codec.ErrShape, "the protocol has no item"},
		{"credit", codec.Message{Kind: codec.Credit, ID: 1}, codec.ErrShape, "the protocol has no credit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dst := []byte("before")
			got, err := open(codec.Limits{Frame: 100}).Append(dst, &tt.m)
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %v with %q", err, tt.err, tt.want)
			}
			if !bytes.Equal(got, dst) {
				t.Errorf("dst became %q", got)
			}
		})
	}
}

// A peer's own ids are replaced while its requests are open, and come back
// with the answers.
func TestIDsOfThePeer(t *testing.T) {
	s := open(codec.Limits{Frame: 100})
	var wire bytes.Buffer
	r := s.NewReader(&wire)
	var m codec.Message
	ask := func(id uint32) uint32 {
		t.Helper()
		wire.Write(append(mpack.AppendUint([]byte("\x94\x00"), uint64(id)), "\xa1a\x90"...))
		next(t, r, &m)
		return m.ID
	}
	answer := func(m codec.Message, want string) {
		t.Helper()
		got, err := s.Append(nil, &m)
		if err != nil || string(got) != want {
			t.Errorf("got % x, %v; want % x", got, err, want)
		}
	}
	for i, id := range []uint32{0, math.MaxUint32, 7} {
		if got := ask(id); got != uint32(i+1) {
			t.Errorf("request %d is handed out as %d", id, got)
		}
	}
	answer(codec.Message{Kind: codec.Response, ID: 2, Result: codec.Raw("\x2a")}, "\x94\x01\xce\xff\xff\xff\xff\xc0\x2a")
	answer(codec.Message{Kind: codec.Response, ID: 1, Err: &codec.Error{Name: "A", Message: "b", Code: 3, Data: codec.Raw("\x01")}}, "\x94\x01\x00\x92\x00\xa4A: b\xc0")
	// An answer that is too large leaves the request open for another.
	if _, err := s.Append(nil, &codec.Message{Kind: codec.Response, ID: 3, Result: bin(100, 1)}); !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	answer(codec.Message{Kind: codec.Response, ID: 3, Err: &codec.Error{Message: "too large\xff"}}, "\x94\x01\x07\x92\x00\xactoo large\ufffd\xc0")
	for id := range uint32(5) {
		if _, err := s.Append(nil, &codec.Message{Kind: codec.Response, ID: id}); !errors.Is(err, codec.ErrID) {
			t.Errorf("a second answer to %d: %v", id, err)
		}
	}
	// An id that was answered may come again, any number of times.
	for i := range 10000 {
		id := ask(7)
		if id != uint32(4+i) {
			t.Fatalf("handed out as %d, want %d", id, 4+i)
		}
		answer(codec.Message{Kind: codec.Response, ID: id}, "\x94\x01\x07\xc0\xc0")
	}
}

func TestProtocol(t *testing.T) {
	p := msgpackrpc.New(msgpackrpc.Options{})
	if p != msgpackrpc.New(msgpackrpc.Options{Ping: "poll"}) || p == msgpackrpc.New(msgpackrpc.Options{Ping: "x"}) {
		t.Error("protocols are not compared by their options")
	}
	if want := (codec.Defaults{Transport: "stdio", NeverKill: true}); p.Name() != "msgpack-rpc" || p.Defaults() != want {
		t.Errorf("%s, %+v", p.Name(), p.Defaults())
	}
	s := msgpackrpc.New(msgpackrpc.Options{Ping: "nvim_get_mode"}).Open(codec.Limits{})
	if s.Ping() != "nvim_get_mode" || p.Open(codec.Limits{}).Ping() != msgpackrpc.DefaultPing {
		t.Errorf("Ping() = %q, %q", s.Ping(), p.Open(codec.Limits{}).Ping())
	}
	hs := s.Handshake(codec.Hello{Supervisor: "hostsup", Init: make(chan int)})
	if out, done := hs.Start(); len(out) != 0 || !done {
		t.Errorf("Start() = %v, %v", out, done)
	}
	if diff := cmp.Diff(codec.Peer{Caps: codec.CapPing | codec.CapAbandon}, hs.Peer()); diff != "" {
		t.Error(diff)
	}
	if _, done, err := hs.Handle(&codec.Message{Kind: codec.Notification, Method: "a"}); !done || !errors.Is(err, codec.ErrUnrelated) {
		t.Errorf("Handle: %v, %v", done, err)
	}
	if ask, last := s.Goodbye(); ask != nil || last != nil {
		t.Errorf("Goodbye() = %v, %v", ask, last)
	}
	// Neovim's handles can be read.
	if text, err := p.ToJSON(codec.Raw("\x92\xd4\x00\x01\xa1x")); err != nil || string(text) != `[{"$ext":0,"data":"AQ=="},"x"]` {
		t.Errorf("ToJSON = %s, %v", text, err)
	}
}

func ExampleNew() {
	p := msgpackrpc.New(msgpackrpc.Options{Ping: "nvim_get_mode"})
	s := p.Open(codec.Limits{})
	params, err := p.Marshal([]any{"6*7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := s.Append(nil, &codec.Message{Kind: codec.Request, ID: 1, Method: "nvim_eval", Params: params})
	fmt.Printf("%q %v\n", b, err)

	// What Neovim answers.
	var m codec.Message
	err = s.NewReader(strings.NewReader("\x94\x01\x01\xc0\x2a")).Next(&m)
	text, _ := p.ToJSON(m.Result)
	fmt.Println(m.Kind, m.ID, string(text), err)
	// Output:
	// "\x94\x00\x01\xa9nvim_eval\x91\xa36*7" <nil>
	// response 1 42 <nil>
}

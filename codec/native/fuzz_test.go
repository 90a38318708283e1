package native_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

// Whatever a host writes, the reader returns messages whose payloads are
// well-formed, then one error that says what is wrong, and sets no memory
// aside that the bytes do not justify.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "\x00", "\x00\x00\x00\x00", "\xff\xff\xff\xff", "hello, world\n",
		"\x00\x00\x00\x03\x92\x03\x02",
		"\x00\x00\x00\x0c\x94\x00\x02\xa4echo\x93\x01\x02\x03\x00\x00\x00\x03\x92\x04\x02",
		"\x00\x00\x00\x08\x94\x01\x02\xc0\x93\x01\x02\x03",
		"\x00\x00\x00\x09\x94\x01\x02\x81\xa4name\xc0\xc0",
		"\x00\x00\x00\x13\x94\x01\x02\x81\xa5cause\x81\xa5cause\xc0",
		"\x00\x00\x00\x06\x94\x05\x02\x00\xa1a\x00\x00\x00\x06\x93\x06\x02\xcd\x01\x2c",
		"\x00\x00\x00\x14\x94\x02\xa1a\xc0\x81\xabtraceparent\xa1b",
		"\x00\x00\x00\x0a\x93\x02\xa1a\xdd\xff\xff\xff\xff\xc0",
	} {
		f.Add([]byte(s), uint64(1))
	}
	lim := codec.Limits{Frame: 1 << 20}
	f.Fuzz(func(t *testing.T, b []byte, chunks uint64) {
		sup := native.Open(lim)
		r := sup.NewReader(io.MultiReader(bytes.NewReader(opened), &ragged{r: bytes.NewReader(b), rng: rand.New(rand.NewPCG(chunks, 0))}))
		var m codec.Message
		next(t, r, &m)
		read := 0
		var err error
		got := allocated(func() {
			for {
				if err = r.Next(&m); err != nil {
					return
				}
				read += m.Size
				inspect(t, &m)
			}
		})
		if got > 256<<10+100*uint64(len(b)) {
			t.Fatalf("%d bytes set aside for %d", got, len(b))
		}
		var frame *codec.FrameError
		switch {
		case errors.Is(err, io.EOF):
			if read != len(b) {
				t.Fatalf("EOF after %d of %d bytes", read, len(b))
			}
		case !errors.As(err, &frame):
			t.Fatalf("neither EOF nor a FrameError: %v", err)
		case len(frame.Bytes) > 64 || frame.Detail == "":
			t.Fatalf("error without evidence: %#v", frame)
		}
		if again := r.Next(&m); again != err {
			t.Fatalf("after %v: %v", err, again)
		}
	})
}

// opened is a host's answer that puts everything in force.
var opened = func() []byte {
	host := native.Open(codec.Limits{})
	out, _, err := host.Accept(native.Self{Caps: codec.CapAll}).Handle(&codec.Message{
		Kind: codec.Request, ID: 1, Method: native.MethodInitialize, Params: codec.Raw("\x81\xa8protocol\x01"),
	})
	if err != nil {
		panic(err)
	}
	b, err := host.Append(nil, &out[0])
	if err != nil {
		panic(err)
	}
	return b
}()

// inspect holds a message against what a Reader promises.
func inspect(t *testing.T, m *codec.Message) {
	t.Helper()
	for _, raw := range []codec.Raw{m.Params, m.Result} {
		if raw == nil {
			continue
		}
		if err := mpack.CheckAll(raw, codec.Limits{}); err != nil {
			t.Fatalf("%s: payload: %v", m.Kind, err)
		}
	}
	switch {
	case m.Kind > codec.Credit, (m.ID == 0) != (m.Kind == codec.Notification):
		t.Fatalf("kind %d, id %d", m.Kind, m.ID)
	case (m.Method == "") != (m.Kind != codec.Request && m.Kind != codec.Notification), !utf8.ValidString(m.Method), len(m.Method) > native.MaxMethod:
		t.Fatalf("%s: method %q", m.Kind, m.Method)
	}
	depth := 0
	for e := m.Err; e != nil; e = e.Cause {
		if depth++; depth > 16 || !utf8.ValidString(e.Name+e.Message+e.Stack) {
			t.Fatalf("error %d: %v", depth, e)
		}
	}
}

// What one side appends the other reads, to the last field.
func FuzzMessageRoundTrip(f *testing.F) {
	f.Add(uint8(0), uint32(2), "echo", []byte("\x93\x01\x02\x03"), uint32(0), "00-1-2-01", "a=b", int64(0))
	f.Add(uint8(1), uint32(1<<31), "", []byte("\xc0"), uint32(0), "", "", int64(0))
	f.Add(uint8(1), uint32(9), "E", []byte("\xa1x"), uint32(3), "message", "stack", int64(-32601))
	f.Add(uint8(2), uint32(0), "log", []byte{}, uint32(0), "", "", int64(0))
	f.Add(uint8(5), uint32(9), "", []byte("\x80"), uint32(1<<32-1), "", "", int64(0))
	f.Add(uint8(6), uint32(9), "", []byte{}, uint32(300), "", "", int64(0))
	sup, _, _, toHost, _, fromSup := pair(f, codec.CapAll)
	f.Fuzz(func(t *testing.T, kind uint8, id uint32, name string, value []byte, n uint32, a, b string, code int64) {
		m := codec.Message{Kind: codec.Kind(kind % 7), ID: max(id, 1)}
		raw := codec.Raw(value)
		if mpack.CheckAll(raw, codec.Limits{Depth: 100}) != nil || string(raw) == "\xc0" {
			raw = nil
		}
		switch m.Kind {
		case codec.Request, codec.Notification:
			m.Method, m.Params, m.Trace = name, raw, codec.Trace{Parent: a, State: b}
		case codec.Response:
			m.Result = raw
			if n > 0 {
				m.Result, m.Err = nil, &codec.Error{Name: name, Message: a, Stack: b, Code: code, Data: raw}
				for range n % 20 {
					m.Err = &codec.Error{Name: name, Cause: m.Err}
				}
			}
		case codec.Item:
			m.Result, m.Seq = raw, n
		case codec.Credit:
			m.Credit = n
		}
		if m.Kind == codec.Notification {
			m.ID = 0
		}
		out, err := sup.Append(nil, &m)
		if err != nil {
			if m.Method != "" && len(m.Method) <= native.MaxMethod && utf8.ValidString(m.Method) {
				t.Fatalf("Append: %v", err)
			}
			return
		}
		for _, s := range []string{name, a, b} {
			if len(s) > 1024 || !utf8.ValidString(s) {
				return // refused in a trace; cut and mended in an error
			}
		}
		toHost.Write(out)
		var got codec.Message
		if err := fromSup.Next(&got); err != nil {
			t.Fatalf("Next: %v of % x", err, out)
		}
		want := m
		want.Size = len(out)
		depth := 0
		for e := want.Err; e != nil; e = e.Cause {
			if depth++; depth == 16 {
				e.Cause = nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Whatever the first message is, either handshake ends in an answer or an
// error, and takes no capability that was not offered.
func FuzzHandshake(f *testing.F) {
	f.Add([]byte("\x81\xa8protocol\x01"), uint8(31))
	f.Add([]byte("\x82\xa8protocol\x01\xaccapabilities\x92\xa3ack\xa4ping"), uint8(1))
	f.Add([]byte("\x82\xa8protocol\x01\xa4host\x82\xa4name\xa1x\xa4life\x03"), uint8(0))
	f.Add([]byte("\x93\x01\x02\x03"), uint8(0))
	f.Add([]byte("\x83\xa8protocol\x01\xaccapabilities\x91\xaaextensions\xaaextensions\x91\x82\xa2id\xa3a.b\xa7methods\x91\xa1m"), uint8(63))
	f.Fuzz(func(t *testing.T, value []byte, able uint8) {
		raw := codec.Raw(value)
		if len(raw) > 64<<10 || mpack.CheckAll(raw, codec.Limits{}) != nil {
			raw = nil
		}
		caps := codec.Caps(able) & (codec.CapAll | codec.CapExtensions)
		host := native.Open(codec.Limits{})
		out, done, err := host.Accept(native.Self{Caps: caps}).Handle(&codec.Message{Kind: codec.Request, ID: 1, Method: native.MethodInitialize, Params: raw})
		if done || len(out) != 1 || (err != nil) != (out[0].Err != nil) {
			t.Fatalf("host: %v, %v, %v", out, done, err)
		}
		if !caps.Has(host.Caps()) {
			t.Fatalf("host: able to do %05b, in force %05b", caps, host.Caps())
		}
		sup := native.Open(codec.Limits{})
		hs := sup.Handshake(codec.Hello{Extended: caps.Has(codec.CapExtensions)})
		out, done, err = hs.Handle(&codec.Message{Kind: codec.Response, ID: 1, Result: raw})
		if done != (err == nil) || done != (len(out) == 1) || hs.Peer().Caps != sup.Caps() {
			t.Fatalf("supervisor: %v, %v, %v", out, done, err)
		}
		if list, ok := sup.Announced(); ok != sup.Caps().Has(codec.CapExtensions) || list != nil && !ok || ok && !caps.Has(codec.CapExtensions) {
			t.Fatalf("supervisor: %t, %v, in force %06b", ok, list, sup.Caps())
		}
	})
}

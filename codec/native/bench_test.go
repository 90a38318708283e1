package native_test

import (
	"bytes"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

// hundred is a payload of 100 bytes.
var hundred = codec.Raw(mpack.AppendBin(nil, make([]byte, 98)))

// BenchmarkAppend is the cost of encoding one frame.
func BenchmarkAppend(b *testing.B) {
	sup, _, _, _, _, _ := pair(b, codec.CapAll)
	for _, bm := range []struct {
		name string
		m    codec.Message
	}{
		{"request", codec.Message{Kind: codec.Request, ID: 123456, Method: "echo", Params: hundred}},
		{"response", codec.Message{Kind: codec.Response, ID: 123456, Result: hundred}},
		{"ack", codec.Message{Kind: codec.Ack, ID: 123456}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			buf := make([]byte, 0, 64<<10)
			var err error
			b.ReportAllocs()
			for b.Loop() {
				if len(buf) > 60<<10 {
					buf = buf[:0]
				}
				if buf, err = sup.Append(buf, &bm.m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// endless repeats the same bytes, at most burst of them in one read.
type endless struct {
	b     []byte
	at    int
	burst int
}

func (e *endless) Read(p []byte) (int, error) {
	p = p[:min(len(p), e.burst)]
	n := 0
	for n < len(p) {
		k := copy(p[n:], e.b[e.at:])
		n += k
		if e.at += k; e.at == len(e.b) {
			e.at = 0
		}
	}
	return n, nil
}

// BenchmarkNext is the cost of taking one message off a stream: framing,
// check and envelope.
func BenchmarkNext(b *testing.B) {
	for _, bm := range []struct {
		name  string
		m     codec.Message
		burst int
	}{
		{"request, 64 a read", codec.Message{Kind: codec.Request, ID: 123456, Method: "echo", Params: hundred}, 64 * 117},
		{"request, 1 a read", codec.Message{Kind: codec.Request, ID: 123456, Method: "echo", Params: hundred}, 117},
		{"response, 64 a read", codec.Message{Kind: codec.Response, ID: 123456, Result: hundred}, 64 * 113},
		{"ack, 64 a read", codec.Message{Kind: codec.Ack, ID: 123456}, 64 * 12},
		{"request of 1 MiB", codec.Message{Kind: codec.Request, ID: 2, Method: "put", Params: mpack.AppendBin(nil, make([]byte, 1<<20))}, 64 << 10},
	} {
		b.Run(bm.name, func(b *testing.B) {
			sup, _, _, toHost, _, _ := pair(b, codec.CapAll)
			frame, err := sup.Append(nil, &bm.m)
			if err != nil {
				b.Fatal(err)
			}
			// The reader has to see the handshake first.
			host := native.Open(codec.Limits{})
			host.Accept(native.Self{Caps: codec.CapAll})
			send(b, sup, toHost, initialize(b))
			src := &endless{b: frame, burst: bm.burst}
			r := host.NewReader(&after{first: toHost, then: src})
			var m codec.Message
			next(b, r, &m)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Next(&m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// after reads one source to its end, then another.
type after struct {
	first *bytes.Buffer
	then  *endless
}

func (a *after) Read(p []byte) (int, error) {
	if a.first.Len() > 0 {
		return a.first.Read(p)
	}
	return a.then.Read(p)
}

func initialize(t testing.TB) codec.Message {
	t.Helper()
	out, _ := native.Open(codec.Limits{}).Handshake(codec.Hello{Supervisor: "hostsup", Host: "h", Life: 1}).Start()
	return out[0]
}

package msgpackrpc_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// BenchmarkReader takes small answers, a thousand to a stream, and large ones.
func BenchmarkReader(b *testing.B) {
	small := bytes.Repeat([]byte("\x94\x01\xcd\x01\x00\xc0\x2a"), 1000)
	for name, in := range map[string][]byte{
		"answers":         small,
		"10 MB of string": append([]byte("\x94\x01\x05\xc0"), bin(10<<20, 'x')...),
		"3 MB of parts":   append([]byte("\x94\x01\x05\xc0"), dense(3<<20, 1)...),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				r := open(codec.Limits{}).NewReader(&pieces{in, 64 << 10})
				var m codec.Message
				for {
					if err := r.Next(&m); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	s := open(codec.Limits{})
	m := &codec.Message{Kind: codec.Request, ID: 300, Method: "nvim_eval", Params: codec.Raw("\x91\xa36*7")}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = s.Append(buf[:0], m); err != nil {
			b.Fatal(err)
		}
	}
}

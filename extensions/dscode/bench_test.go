//go:build unix

package dscode

import (
	"bytes"
	"io"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// BenchmarkEcho is requests over the stream, answered by a host that is bytes
// only: what a call costs on top of its host. 64 are on their way at once.
func BenchmarkEcho(b *testing.B) {
	h := newHarness(b)
	main := h.accept()
	go func() {
		var n [4]byte
		for {
			if _, err := io.ReadFull(main, n[:]); err != nil {
				return
			}
			body := make([]byte, int(n[2])<<8|int(n[3]))
			if _, err := io.ReadFull(main, body); err != nil {
				return
			}
			body = bytes.Replace(body, []byte(`"type":"echo"`), []byte(`"type":"echo-response"`), 1)
			if _, err := main.Write(framed(string(body))); err != nil {
				return
			}
		}
	}()
	free := make(chan uint32, 64)
	for id := range uint32(64) {
		free <- id + 2
	}
	m := codec.Message{Kind: codec.Request, Method: "echo", Params: codec.Raw(`{"text":"hello"}`)}
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		var buf []byte
		for range b.N {
			m.ID = <-free
			buf = must(b, h.s, buf[:0], m)
			if _, err := h.st.Write(buf); err != nil {
				b.Error(err)
				return
			}
		}
	}()
	for range b.N {
		free <- h.next().ID
	}
}

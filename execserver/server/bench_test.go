//go:build unix

package server

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// rawWS is a client that costs as little as it can: it counts.
type rawWS struct {
	c  net.Conn
	br *bufio.Reader
}

func dialRaw(t testing.TB, url string) *rawWS {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	w := &rawWS{c, bufio.NewReaderSize(c, 256<<10)}
	r, err := http.ReadResponse(w.br, nil) //nolint:bodyclose // a switch of protocols has no body
	if err != nil || r.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(r, err)
	}
	w.send(t, `{"id":1,"method":"initialize","params":{"clientName":"bench"}}`)
	w.until(t, `"id":1,`)
	w.send(t, `{"method":"initialized"}`)
	return w
}

func (w *rawWS) send(t testing.TB, text string) {
	b := []byte{0x81}
	switch n := len(text); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	default:
		b = append(b, 0x80|126, byte(n>>8), byte(n))
	}
	b = append(b, 0, 0, 0, 0) // a mask that changes nothing
	if _, err := w.c.Write(append(b, text...)); err != nil {
		t.Fatal(err)
	}
}

// next reads a message.
func (w *rawWS) next(t testing.TB, buf []byte) []byte {
	var h [10]byte
	if _, err := io.ReadFull(w.br, h[:2]); err != nil {
		t.Fatal(err)
	}
	n := int(h[1])
	switch n {
	case 126:
		_, _ = io.ReadFull(w.br, h[2:4])
		n = int(binary.BigEndian.Uint16(h[2:4]))
	case 127:
		_, _ = io.ReadFull(w.br, h[2:10])
		n = int(binary.BigEndian.Uint64(h[2:10]))
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	if _, err := io.ReadFull(w.br, buf[:n]); err != nil {
		t.Fatal(err)
	}
	if h[0] == opPing|opFin {
		pong := append([]byte{opPong | opFin, 0x80 | byte(n), 0, 0, 0, 0}, buf[:n]...)
		if _, err := w.c.Write(pong); err != nil {
			t.Fatal(err)
		}
		return w.next(t, buf)
	}
	return buf[:n]
}

func (w *rawWS) until(t testing.TB, text string) {
	var buf []byte
	for {
		buf = w.next(t, buf[:cap(buf)])
		if strings.Contains(string(buf), text) {
			return
		}
	}
}

// benchURL is a server's in this process, or of another that is to be compared.
func benchURL(b *testing.B) string {
	if url := os.Getenv("HOSTSUP_BENCH_URL"); url != "" {
		return url
	}
	return startServer(b, Options{}).URL()
}

const startTrue = `{"id":%d,"method":"process/start","params":{"processId":"%s%d","argv":["/bin/true"],"cwd":"file:///tmp","env":{},"tty":false}}`

func BenchmarkStatus(b *testing.B) {
	w := dialRaw(b, benchURL(b))
	var buf []byte
	for b.Loop() {
		w.send(b, `{"id":7,"method":"environment/status"}`)
		buf = w.next(b, buf[:cap(buf)])
	}
}

func BenchmarkTrue(b *testing.B) {
	w := dialRaw(b, benchURL(b))
	n := 0
	for b.Loop() {
		n++
		w.send(b, fmt.Sprintf(startTrue, n, newID(), n))
		w.until(b, "process/exited")
	}
}

func BenchmarkTrueSixteenAtOnce(b *testing.B) {
	w := dialRaw(b, benchURL(b))
	sent := 0
	for range 16 {
		sent++
		w.send(b, fmt.Sprintf(startTrue, sent, newID(), sent))
	}
	var buf []byte
	for b.Loop() {
		for {
			buf = w.next(b, buf[:cap(buf)])
			if strings.Contains(string(buf), "process/closed") {
				break
			}
		}
		sent++
		w.send(b, fmt.Sprintf(startTrue, sent, newID(), sent))
	}
}

func BenchmarkOutput(b *testing.B) {
	w := dialRaw(b, benchURL(b))
	const size = 256 << 20
	b.SetBytes(size)
	n := 0
	var buf []byte
	for b.Loop() {
		n++
		w.send(b, fmt.Sprintf(`{"id":%d,"method":"process/start","params":{"processId":"%s%d","argv":["/usr/bin/head","-c","%d","/dev/zero"],"cwd":"file:///tmp","env":{},"tty":false}}`, n, newID(), n, size))
		for {
			buf = w.next(b, buf[:cap(buf)])
			if len(buf) < 200 && strings.Contains(string(buf), "process/closed") {
				break
			}
		}
	}
}

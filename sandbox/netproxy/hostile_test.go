package netproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHostileClients(t *testing.T) {
	g := newRig(t, "127.0.0.1:1", names, "public.example:1")
	g.HeadTimeout = 200 * time.Millisecond
	g.MaxHead = 2048
	g.serve()
	long := strings.Repeat("x", 100)
	for in, want := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n":                "400 ",
		"GET / HTTP/1.1\n\n":                    "400 ",
		"\x00\x00\x00\x00":                      "400 ",
		"CONNECT public.example:1 HTTP/1.1\r\n": "408 ",
		"C":                                     "408 ",
		"CONNECT public.example:1 HTTP/1.1\r\n" + strings.Repeat("A: "+long+"\r\n", 100): "431 ",
		strings.Repeat("A", 1<<20):                     "431 ",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":             "505 ",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03": "\x15\x03\x01",
		"\x04\x01\x00\x50\x7f\x00\x00\x01\x00":         "\x00\x5b",
		"\x05\x01\x02":                                 "\x05\xff",
		"\x05\x00":                                     "\x05\xff",
		"\x05":                                         "",
		"\x05\x01\x00":                                 "\x05\x00\x05\x06",
		"\x05\x01\x00\x05\x02":                         "\x05\x00\x05\x07",
		"\x05\x01\x00\x05\x01\x00\x07a":                "\x05\x00\x05\x08",
		"\x05\x01\x00\x05\x01\x00\x03\xff" + long:      "\x05\x00\x05\x06",
		"\x05\x01\x00\x06":                             "\x05\x00\x05\x01",
	} {
		c := dial(t, g.addr)
		_, _ = io.WriteString(c, in)
		b, _ := io.ReadAll(c)
		got := strings.TrimPrefix(string(b), "HTTP/1.1 ")
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%.40q: %.60q, want %q", in, got, want)
		}
		if a := g.attempt(); a.Allowed || a.Reason == "" {
			t.Errorf("%.40q: %+v", in, a)
		}
	}
	// A client that sends nothing is not logged.
	_ = dial(t, g.addr).Close()
	c, status, _ := g.connectVia("other.example:1")
	_ = c
	if a := g.attempt(); status != 403 || a.Host != "other.example" {
		t.Errorf("%d %+v", status, a)
	}
}

func TestTooManyConnections(t *testing.T) {
	server := echo(t)
	g := newRig(t, server, names, "public.example:1")
	g.MaxConns = 2
	g.serve()
	var open []*net.TCPConn
	for range 2 {
		c, status, _ := g.connectVia("public.example:1")
		if status != 200 {
			t.Fatal(status)
		}
		g.attempt()
		open = append(open, c)
	}
	c := dial(t, g.addr)
	contains(t, readAll(t, c), "503 Service Unavailable")
	if a := g.attempt(); a.Reason != "too many connections" {
		t.Errorf("%+v", a)
	}
	_ = open[0].Close()
	for end := time.Now().Add(30 * time.Second); ; {
		c := dial(t, g.addr)
		_, _ = io.WriteString(c, "CONNECT public.example:1 HTTP/1.1\r\n\r\n")
		b := make([]byte, 12)
		_, _ = io.ReadFull(c, b)
		_ = c.Close()
		if string(b) == "HTTP/1.1 200" {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the closed connection still counts")
		}
	}
}

// Close must end connections in every state: before the request, while resolving,
// while dialling, and in the tunnel.
func TestCloseEndsEverything(t *testing.T) {
	server := echo(t)
	z := zone{"slow.example.": {"wait"}, "silent.example.": {"1.1.1.1"}, "public.example.": {"8.8.8.8"}}
	g := newRig(t, server, z, "*:*")
	inDial := make(chan struct{})
	dialer := g.Dial
	g.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		if a.Addr() == netip.MustParseAddr("1.1.1.1") {
			close(inDial)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dialer(ctx, a)
	}
	g.serve()
	conns := []*net.TCPConn{dial(t, g.addr), dial(t, g.addr), dial(t, g.addr), dial(t, g.addr)}
	_, _ = io.WriteString(conns[1], "CONN")
	_, _ = io.WriteString(conns[2], "CONNECT slow.example:1 HTTP/1.1\r\n\r\n")
	_, _ = io.WriteString(conns[3], "CONNECT silent.example:1 HTTP/1.1\r\n\r\n")
	<-inDial
	c, status, _ := g.connectVia("public.example:1")
	if status != 200 {
		t.Fatal(status)
	}
	_ = g.Close()
	for _, c := range slices.Concat(conns, []*net.TCPConn{c}) {
		_, err := io.Copy(io.Discard, c)
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			t.Error("left open")
		}
	}
}

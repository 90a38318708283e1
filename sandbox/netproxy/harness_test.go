package netproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/sandbox/allow"
)

// zone is a name server for tests.
type zone map[string][]string

func (z zone) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	list, ok := z[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, s := range list {
		if s == "wait" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// rig is a proxy on loopback that dials one server for all public addresses.
type rig struct {
	*Proxy
	t      testing.TB
	addr   string
	server string // host:port that is dialled for every public address

	mu       sync.Mutex
	attempts []Attempt
	dialled  []netip.AddrPort
	came     chan struct{}
}

func newRig(t testing.TB, server string, z zone, list ...string) *rig {
	t.Helper()
	rules, err := allow.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, server: server, came: make(chan struct{}, 1000)}
	g.Proxy = New(rules, func(a Attempt) {
		g.mu.Lock()
		g.attempts = append(g.attempts, a)
		g.mu.Unlock()
		g.came <- struct{}{}
	})
	g.Lookup = z.LookupNetIP
	g.Own = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("9.9.9.9")}, nil }
	var d net.Dialer
	g.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		g.mu.Lock()
		g.dialled = append(g.dialled, a)
		g.mu.Unlock()
		if allow.Class(a.Addr()) == "" {
			return d.DialContext(ctx, "tcp", g.server)
		}
		return d.DialContext(ctx, "tcp", a.String())
	}
	return g
}

// serve starts the proxy; its fields must be set before.
func (g *rig) serve() *rig {
	g.t.Helper()
	l := listen(g.t)
	g.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	g.t.Cleanup(func() {
		_ = g.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			g.t.Errorf("Serve: %v", err)
		}
	})
	return g
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// attempt waits for the next logged attempt.
func (g *rig) attempt() Attempt {
	g.t.Helper()
	select {
	case <-g.came:
	case <-time.After(30 * time.Second):
		g.t.Fatal("no attempt was logged")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.attempts[0]
	g.attempts = g.attempts[1:]
	return a
}

func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return c.(*net.TCPConn)
}

// connectVia opens a tunnel with CONNECT.
func (g *rig) connectVia(target string) (*net.TCPConn, int, string) {
	g.t.Helper()
	c := dial(g.t, g.addr)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	resp, err := http.ReadResponse(bufio.NewReaderSize(oneByte{c}, 16), &http.Request{Method: "CONNECT"})
	if err != nil {
		g.t.Fatal(err)
	}
	body := ""
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(io.LimitReader(c, resp.ContentLength))
		body = string(b)
	}
	_ = resp.Body.Close()
	return c, resp.StatusCode, body
}

// oneByte keeps a buffered reader from reading bytes of the tunnel.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.r.Read(b[:1]) }

// echo writes "hello\n" to every connection, echoes until the client closes its
// side, and then writes "bye".
func echo(t testing.TB) string {
	l := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(30 * time.Second))
				_, _ = io.WriteString(c, "hello\n")
				_, _ = io.Copy(c, c)
				_, _ = io.WriteString(c, "bye\n")
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// socksVia sends a SOCKS5 request and returns the code of the reply.
func (g *rig) socksVia(host string, port uint16) (*net.TCPConn, byte) {
	g.t.Helper()
	c := dial(g.t, g.addr)
	_, _ = c.Write([]byte{5, 1, 0})
	b := make([]byte, 2)
	if _, err := io.ReadFull(c, b); err != nil || b[1] != 0 {
		g.t.Fatal(b, err)
	}
	req := []byte{5, 1, 0, 3, byte(len(host))}
	req = append(req, host...)
	_, _ = c.Write(append(req, byte(port>>8), byte(port)))
	b = make([]byte, 10)
	if _, err := io.ReadFull(c, b); err != nil || b[0] != 5 {
		g.t.Fatal(b, err)
	}
	return c, b[1]
}

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Errorf("%v after %q", err, b)
	}
	return string(b)
}

func contains(t testing.TB, s, part string) {
	t.Helper()
	if !strings.Contains(s, part) {
		t.Errorf("%q does not contain %q", s, part)
	}
}

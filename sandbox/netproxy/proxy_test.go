package netproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/sandbox/allow"
)

var names = zone{
	"public.example.":  {"8.8.8.8"},
	"inside.example.":  {"10.0.0.5"},
	"loop.example.":    {"127.0.0.1"},
	"mixed.example.":   {"10.0.0.5", "::ffff:127.0.0.1", "8.8.4.4"},
	"mapped.example.":  {"::ffff:169.254.169.254"},
	"nat64.example.":   {"64:ff9b::7f00:1"},
	"zero.example.":    {"0.0.0.0"},
	"own.example.":     {"9.9.9.9"},
	"nothing.example.": {},
}

func TestConnectAndSocksReachWhatIsAllowed(t *testing.T) {
	server := echo(t)
	g := newRig(t, server, names, "public.example:443", "mixed.example:*", server).serve()
	_, port, _ := net.SplitHostPort(server)

	for _, target := range []string{"public.example:443", "PUBLIC.example.:443", "mixed.example:7", server, "[::ffff:127.0.0.1]:" + port} {
		c, status, body := g.connectVia(target)
		if status != 200 {
			t.Fatal(target, status, body)
		}
		_, _ = io.WriteString(c, "through\n")
		_ = c.CloseWrite()
		if got := readAll(t, c); got != "hello\nthrough\nbye\n" {
			t.Errorf("%q", got)
		}
		if a := g.attempt(); !a.Allowed || a.Reason != "" || a.Protocol != Connect || !a.Addr.IsValid() || a.Entry != "" {
			t.Errorf("%+v", a)
		}
	}
	c, code := g.socksVia("public.example", 443)
	if code != replyOK {
		t.Fatal(code)
	}
	_ = c.CloseWrite()
	if got := readAll(t, c); got != "hello\nbye\n" {
		t.Errorf("%q", got)
	}
	if a := g.attempt(); a.Protocol != SOCKS5 || a.Host != "public.example" || a.Port != 443 || a.Addr.String() != "8.8.8.8:443" {
		t.Errorf("%+v", a)
	}
	// Of the addresses of a name, only public ones are dialled.
	if want := netip.MustParseAddrPort("8.8.4.4:7"); g.dialled[2] != want {
		t.Errorf("%v", g.dialled)
	}
}

func TestRefused(t *testing.T) {
	z := zone{}
	entries := []string{"10.0.0.6:*", "nowhere.example:*"}
	for name, list := range names {
		z[name] = list
		entries = append(entries, strings.TrimSuffix(name, ".")+":80")
	}
	g := newRig(t, "127.0.0.1:1", z, entries...)
	g.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("dialled") }
	g.serve()
	for _, c := range []struct {
		host   string
		port   uint16
		status int
		reply  byte
		reason string
		entry  string
	}{
		{"other.example", 80, 403, replyNotAllowed, "not in the allow list", "other.example:80"},
		{"public.example", 81, 403, replyNotAllowed, "not in the allow list", "public.example:81"},
		{"8.8.8.8", 80, 403, replyNotAllowed, "not in the allow list", "8.8.8.8:80"},
		{"localhost", 80, 403, replyNotAllowed, "not in the allow list", "localhost:80"},
		{"inside.example", 80, 403, replyNotAllowed, "resolves to 10.0.0.5, a private address", "10.0.0.5:80"},
		{"loop.example", 80, 403, replyNotAllowed, "127.0.0.1, a loopback address", "127.0.0.1:80"},
		{"mapped.example", 80, 403, replyNotAllowed, "169.254.169.254, a link-local address", "169.254.169.254:80"},
		{"nat64.example", 80, 403, replyNotAllowed, "64:ff9b::7f00:1, a loopback address", "[64:ff9b::7f00:1]:80"},
		{"zero.example", 80, 403, replyNotAllowed, "0.0.0.0, an unspecified address", ""},
		{"own.example", 80, 403, replyNotAllowed, "9.9.9.9, this machine's own address", "9.9.9.9:80"},
		{"nowhere.example", 80, 502, replyHost, "no such name", ""},
		{"nothing.example", 80, 502, replyHost, "no addresses", ""},
		{"public.example", 80, 502, replyFailed, "dialled", ""},
		{"10.0.0.6", 1, 502, replyFailed, "dialled", ""},
	} {
		conn, status, body := g.connectVia(allow.HostPort(c.host, c.port))
		if status != c.status {
			t.Errorf("%s: %d %s", c.host, status, body)
		}
		contains(t, body, c.reason)
		readAll(t, conn) // the connection ends without a reset
		a := g.attempt()
		if a.Allowed != (c.status == 502) || !strings.Contains(a.Reason, c.reason) || a.Entry != c.entry || a.Addr.IsValid() || a.Host != c.host || a.Port != c.port {
			t.Errorf("%+v", a)
		}
		if a.Entry != "" {
			if _, err := allow.Parse([]string{a.Entry}); err != nil {
				t.Error(err)
			}
		}
		if _, reply := g.socksVia(c.host, c.port); reply != c.reply {
			t.Errorf("%s: reply %d", c.host, reply)
		}
		g.attempt()
	}
}

func TestDialErrors(t *testing.T) {
	z := zone{"two.example.": {"8.8.8.8", "8.8.4.4"}, "slow.example.": {"wait"}, "silent.example.": {"1.1.1.1"}}
	g := newRig(t, "", z, "two.example:80", "slow.example:80", "silent.example:80", "127.0.0.1:1")
	g.DialTimeout = 100 * time.Millisecond
	g.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		switch a.Addr().String() {
		case "8.8.8.8", "1.1.1.1":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &netErr{syscall.ECONNREFUSED}}
	}
	g.serve()
	for _, c := range []struct {
		host   string
		port   uint16
		status int
		reply  byte
		reason string
	}{
		{"127.0.0.1", 1, 502, replyRefused, "connection refused"},
		{"silent.example", 80, 504, replyTimeout, "no answer in time"},
		{"two.example", 80, 504, replyTimeout, "no answer in time"}, // the failure of the first address is reported
		{"slow.example", 80, 502, replyHost, "cannot resolve"},
	} {
		if _, status, body := g.connectVia(allow.HostPort(c.host, c.port)); status != c.status || !strings.Contains(body, c.reason) {
			t.Errorf("%s: %d %q", c.host, status, body)
		}
		if a := g.attempt(); !a.Allowed || a.Addr.IsValid() {
			t.Errorf("%+v", a)
		}
		if _, reply := g.socksVia(c.host, c.port); reply != c.reply {
			t.Errorf("%s: %d", c.host, reply)
		}
		g.attempt()
	}
}

type netErr struct{ error }

func (e *netErr) Unwrap() error { return e.error }

func TestHTTPRequests(t *testing.T) {
	type seen struct{ host, uri, conn, auth, body string }
	got := make(chan seen, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- seen{r.Host, r.RequestURI, fmt.Sprint(r.Close), r.Header.Get("Proxy-Authorization"), string(b)}
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	}))
	defer server.Close()
	g := newRig(t, strings.TrimPrefix(server.URL, "http://"), names, "public.example:80").serve()
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("u", "p"), Host: g.addr})}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, Timeout: 30 * time.Second}
	for range 2 {
		resp, err := client.Post("http://public.example/a?b", "text/plain", strings.NewReader(strings.Repeat("y", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(readAll(t, resp.Body)); n != 1<<20 || resp.StatusCode != 200 {
			t.Error(n, resp.Status)
		}
		_ = resp.Body.Close()
		if s := <-got; s.host != "public.example" || s.uri != "/a?b" || s.conn != "true" || s.auth != "" || len(s.body) != 100_000 {
			t.Errorf("%.200v", s)
		}
		if a := g.attempt(); a.Protocol != HTTP || !a.Allowed {
			t.Errorf("%+v", a)
		}
	}
	resp, err := client.Post("http://other.example/", "text/plain", strings.NewReader(strings.Repeat("y", 200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Error(resp.Status)
	}
	contains(t, readAll(t, resp.Body), "hostsup: other.example:80: not in the allow list")
}

// A client that never closes its side gets only its one request.
func TestHTTPEndsWithTheServer(t *testing.T) {
	l := listen(t)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nbody")
	}()
	g := newRig(t, l.Addr().String(), names, "public.example:80").serve()
	c := dial(t, g.addr)
	_, _ = io.WriteString(c, "GET http://public.example/ HTTP/1.1\r\n\r\n")
	contains(t, readAll(t, c), "body")
	if a := g.attempt(); !a.Allowed {
		t.Errorf("%+v", a)
	}
}

func TestForward(t *testing.T) {
	server := echo(t)
	g := newRig(t, server, names, server, "public.example:5432")
	for target, ok := range map[string]bool{server: true, "public.example:5432": true, "public.example:1": false, "inside.example:5432": false} {
		l := listen(t)
		done := make(chan error, 1)
		go func() { done <- g.Forward(l, target) }()
		var b []byte
		c, err := net.Dial("tcp", l.Addr().String()) // a reset may come this early
		if err == nil {
			_ = c.SetDeadline(time.Now().Add(30 * time.Second))
			_ = c.(*net.TCPConn).CloseWrite()
			b, err = io.ReadAll(c)
			_ = c.Close()
		}
		if ok && string(b) != "hello\nbye\n" || !ok && (err == nil || len(b) > 0) {
			t.Errorf("%s: %q %v", target, b, err)
		}
		if a := g.attempt(); a.Protocol != Forwards || a.Allowed != ok {
			t.Errorf("%+v", a)
		}
		_ = l.Close()
		if err := <-done; err == nil || errors.Is(err, ErrClosed) && g.ctx.Err() != nil {
			t.Errorf("a listener that others closed: %v", err)
		}
	}
	_ = g.Close()
	if err := g.Forward(listen(t), server); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := g.Forward(listen(t), "nonsense"); err == nil {
		t.Error("an invalid target is accepted")
	}
	if err := g.Serve(listen(t)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestHalfClose(t *testing.T) {
	l := listen(t)
	g := newRig(t, l.Addr().String(), names, "public.example:1").serve()
	c, status, _ := g.connectVia("public.example:1")
	if status != 200 {
		t.Fatal(status)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(30 * time.Second))
	// The server closes its side first; the client's stays open.
	_, _ = io.WriteString(s, "done")
	_ = s.(*net.TCPConn).CloseWrite()
	if got := readAll(t, c); got != "done" {
		t.Errorf("%q", got)
	}
	for range 3 {
		_, _ = io.WriteString(c, "still here")
		if _, err := io.ReadFull(s, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.CloseWrite()
	if got := readAll(t, s); got != "" {
		t.Errorf("%q", got)
	}
}

func TestResetIsPassedOn(t *testing.T) {
	l := listen(t)
	g := newRig(t, l.Addr().String(), names, "public.example:1").serve()
	c, _, _ := g.connectVia("public.example:1")
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_ = c.SetLinger(0)
	_ = c.Close()
	_ = s.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := s.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// Data that arrives with the request is not lost.
func TestEarlyData(t *testing.T) {
	server := echo(t)
	g := newRig(t, server, names, "public.example:1").serve()
	c := dial(t, g.addr)
	_, _ = io.WriteString(c, "CONNECT public.example:1 HTTP/1.1\r\n\r\nearly")
	_ = c.CloseWrite()
	if got := readAll(t, c); !strings.HasSuffix(got, "\r\n\r\nhello\nearlybye\n") {
		t.Errorf("%q", got)
	}
	c = dial(t, g.addr)
	_, _ = io.WriteString(c, "\x05\x01\x00\x05\x01\x00\x03\x0epublic.example\x00\x01early")
	_ = c.CloseWrite()
	if got := readAll(t, c); !strings.HasSuffix(got, "hello\nearlybye\n") {
		t.Errorf("%q", got)
	}
}

func TestIdle(t *testing.T) {
	l := listen(t)
	g := newRig(t, l.Addr().String(), names, "public.example:1")
	g.IdleTimeout = 300 * time.Millisecond
	g.serve()
	c, _, _ := g.connectVia("public.example:1")
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(30 * time.Second))
	// Traffic in one direction keeps both open.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 12 {
		<-tick.C
		if _, err := s.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an idle tunnel stays")
	}
	// A receiver that reads nothing is idle too, even if data is pending.
	c, _, _ = g.connectVia("public.example:1")
	s2, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	_ = s2.SetDeadline(time.Now().Add(30 * time.Second))
	for err == nil {
		_, err = s2.Write(make([]byte, 1<<16))
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		t.Error("a stuck tunnel stays")
	}
	_ = c
}

func TestOwnAddrs(t *testing.T) {
	own, err := ownAddrs()
	if err != nil || !slices.Contains(own, netip.MustParseAddr("127.0.0.1")) {
		t.Error(own, err)
	}
	g := newRig(t, "", names, "public.example:1")
	g.Own = func() ([]netip.Addr, error) { return nil, errors.New("broken") }
	g.serve()
	if _, status, body := g.connectVia("public.example:1"); status != 403 {
		t.Error(status, body)
	}
	if a := g.attempt(); a.Allowed || a.Entry != "" && a.Entry != "8.8.8.8:1" {
		t.Errorf("%+v", a)
	}
}

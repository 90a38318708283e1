package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

func TestHeadersGoOutInOrder(t *testing.T) {
	at := serve(t, echo)
	c := client(t, Options{LookupEnv: func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "secret", "EMPTY": "", "BAD": "a\nb"}[name]
		return v, ok
	}})
	p := get("http://" + at + "/x?q=a b#part")
	p.Method = "POST"
	p.Body = ptr([]byte("x"))
	p.Headers = []wire.HTTPHeader{
		{Name: "X-Zed", Value: "1"}, {Name: "accept", Value: "q"}, {Name: "X-Zed", Value: "2"}, {Name: "Host", Value: "other"},
		{Name: "Authorization", Value: "Bearer ", ValueEnvVar: ptr("TOKEN")},
	}
	r, bad := do(t, c, p)
	want := "POST /x?q=a%20b HTTP/1.1\r\nx-zed: 1\r\nx-zed: 2\r\naccept: q\r\nhost: other\r\nauthorization: Bearer secret\r\ncontent-length: 1\r\n\r\nx"
	if bad != nil || string(r.Body) != want {
		t.Errorf("%v\n got %q\nwant %q", bad, r.Body, want)
	}
	p = get("http://user:pw@" + at)
	want = "GET / HTTP/1.1\r\nauthorization: Basic dXNlcjpwdw==\r\naccept: */*\r\nhost: " + at + "\r\n\r\n"
	if r, bad := do(t, c, p); bad != nil || string(r.Body) != want {
		t.Errorf("%v\n got %q\nwant %q", bad, r.Body, want)
	}
	for v, want := range map[string]string{
		"NOPE":  "http/request header A requires executor environment variable NOPE",
		"EMPTY": "http/request header A requires a non-empty executor environment variable EMPTY",
		"BAD":   "http/request header value is invalid for A: failed to parse header value",
	} {
		p := get("http://" + at)
		p.Headers = []wire.HTTPHeader{{Name: "A", Value: "x", ValueEnvVar: &v}}
		if _, bad := do(t, c, p); bad == nil || bad.Code != wire.CodeInvalidParams || bad.Message != want {
			t.Errorf("%s: %v", v, bad)
		}
	}
	for _, h := range [][]wire.HTTPHeader{
		{{Name: "content-length", Value: "5"}},
		{{Name: "content-length", Value: "0"}, {Name: "content-length", Value: "3"}},
		{{Name: "transfer-encoding", Value: "gzip"}},
	} {
		p := get("http://" + at)
		p.Headers = h
		if _, bad := do(t, c, p); bad == nil || bad.Code != wire.CodeInternal {
			t.Errorf("%v was sent: %v", h, bad)
		}
	}
}

func TestAnswers(t *testing.T) {
	answers := map[string]string{
		"/dup":     "HTTP/1.1 200 OK\r\nZ: 1\r\nA: 2\r\nz: 3\r\nM: 4\r\nA: 5\r\nContent-Length: 2\r\n\r\nok",
		"/100":     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nL: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"/latin":   "HTTP/1.1 200 OK\r\nx: caf\xe9\r\ny: 1\r\n\r\nto the end",
		"/obs":     "HTTP/1.1 200 OK\r\nA: x  \r\nB:\r\nContent-Length: 0\r\n\r\n",
		"/10":      "HTTP/1.0 200 OK\r\n\r\nbody",
		"/trailer": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: v\r\n\r\n",
		"/lf":      "HTTP/1.1 200\nA: 1\nContent-Length: 1\n\nx",
		"/204":     "HTTP/1.1 204 No\r\nA: 1\r\n\r\nnot a body",
		"/gzip":    "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x8b",

		"/garbage":  "garbage\r\n\r\n",
		"/close":    "",
		"/badhead":  "HTTP/1.1 200 OK\r\nbad name: 1\r\n\r\n",
		"/badlen":   "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\nx",
		"/twolens":  "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
		"/many":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("a: b\r\n", maxLines+1) + "\r\n",
		"/long":     "HTTP/1.1 200 OK\r\na: " + strings.Repeat("b", 1<<20),
		"/short":    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
		"/badchunk": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n",
		"/toolong":  "HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n" + strings.Repeat("x", 2000000),
	}
	at := serve(t, func(w net.Conn, q *seen) { _, _ = io.WriteString(w, answers[q.path]) })
	c := client(t, Options{Body: 1 << 20})
	for path, want := range map[string]string{
		"/dup": "200 z=1 z=3 a=2 a=5 m=4 content-length=2 ok", "/100": "200 content-length=2 ok", "/latin": "200 x=café y=1 to the end",
		"/obs": "200 a=x b= content-length=0 ", "/10": "200 body", "/trailer": "200 transfer-encoding=chunked hello",
		"/lf": "200 a=1 content-length=1 x", "/204": "204 a=1 ", "/gzip": "200 content-encoding=gzip content-length=2 \x1f\x8b",
	} {
		r, bad := do(t, c, get("http://"+at+path))
		got := fmt.Sprint(r.Status)
		for _, h := range r.Headers {
			got += " " + h.Name + "=" + h.Value
		}
		if got += " " + string(r.Body); bad != nil || got != want {
			t.Errorf("%s: %v\n got %q\nwant %q", path, bad, got, want)
		}
	}
	sending := "http/request failed: error sending request for url (http://" + at
	for path, want := range map[string]string{
		"/garbage": sending + "/garbage)", "/close": sending + "/close)", "/badhead": sending + "/badhead)", "/badlen": sending + "/badlen)",
		"/twolens": sending + "/twolens)", "/many": sending + "/many)", "/long": sending + "/long)",
		"/short":    "failed to read http/request response body: error decoding response body",
		"/badchunk": "failed to read http/request response body: error decoding response body",
		"/toolong":  "failed to read http/request response body: response body is too large: ask for a streamed response",
	} {
		if r, bad := do(t, c, get("http://"+at+path)); bad == nil || bad.Code != wire.CodeInternal || bad.Message != want {
			t.Errorf("%s: %+v %v, want %s", path, r, bad, want)
		}
	}
	p := get("http://" + at + "/short")
	p.StreamResponse = true
	if r, bad := do(t, c, p); bad == nil || bad.Message != "error decoding response body" || string(r.Body) != "half" {
		t.Errorf("%+v %v", r, bad)
	}
	p = get("http://" + at + "/toolong")
	p.StreamResponse = true
	if r, bad := do(t, c, p); bad != nil || len(r.Body) != 2000000 {
		t.Errorf("%d bytes, %v", len(r.Body), bad)
	}
}

func TestURLs(t *testing.T) {
	c := client(t, Options{})
	for in, want := range map[string]string{
		"":                        "http/request url is invalid: relative URL without a base",
		"not a url":               "http/request url is invalid: relative URL without a base",
		"//x/y":                   "http/request url is invalid: relative URL without a base",
		"http://127.0.0.1:99999/": "http/request url is invalid: invalid port number",
		"http://":                 "http/request url is invalid: empty host",
		"http://a b/":             "http/request url is invalid: invalid international domain name",
		"http://%/":               "http/request url is invalid: invalid international domain name",
		"http://[bad/":            "http/request url is invalid: invalid IPv6 address",
		"http://1.2.3.256/":       "http/request url is invalid: invalid IPv4 address",
		"file:///x":               "http/request only supports http and https URLs, got file",
		"mailto:x":                "http/request only supports http and https URLs, got mailto",
		"ws://x":                  "http/request only supports http and https URLs, got ws",
	} {
		if _, bad := do(t, c, get(in)); bad == nil || bad.Code != wire.CodeInvalidParams || bad.Message != want {
			t.Errorf("%q: %v, want %s", in, bad, want)
		}
	}
	for in, want := range map[string]string{
		"HTTP://Example.COM:80/a/../b?x'y": "http://example.com/b?x%27y",
		"http:127.1:8080/é":                "http://127.0.0.1:8080/%C3%A9",
		`https:\\h\a b`:                    "https://h/a%20b",
		"http://0x7f000001/":               "http://127.0.0.1/",
		"http://0177.1/%2e%2e/":            "http://127.0.0.1/",
		"http://u:p@[::1]:443":             "http://[::1]:443/",
	} {
		if u, err := parseTarget(in); err != nil || u.String() != want {
			t.Errorf("%q: %v %v, want %s", in, u, err, want)
		}
	}
	base, _ := parseTarget("http://h:8080/a/b?q")
	for in, want := range map[string]string{
		"/x": "http://h:8080/x", "x": "http://h:8080/a/x", "?y": "http://h:8080/a/b?y", "../z#f": "http://h:8080/z", "//o/p": "http://o/p",
		"": "http://h:8080/a/b?q", "https://s": "https://s/",
	} {
		if u, err := base.resolve(in); err != nil || u.String() != want {
			t.Errorf("%q: %v %v, want %s", in, u, err, want)
		}
	}
}

func TestRedirects(t *testing.T) {
	other := serve(t, echo)
	at := serve(t, func(w net.Conn, q *seen) {
		switch f := strings.Split(q.path, "/"); f[1] {
		case "r":
			say(w, map[string]int{"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}[f[2]], "location: /echo\r\n", "")
		case "loop":
			say(w, 302, "location: /loop\r\n", "")
		case "ftp":
			say(w, 302, "location: ftp://x/\r\n", "")
		case "bad":
			say(w, 302, "location: http://[bad\r\n", "body")
		case "none":
			say(w, 302, "", "body")
		case "other":
			say(w, 307, "location: http://"+other+"/there\r\n", "")
		case "300":
			say(w, 300, "location: /echo\r\n", "body")
		default:
			echo(w, q)
		}
	})
	c := client(t, Options{})
	secret := []wire.HTTPHeader{{Name: "Authorization", Value: "B"}, {Name: "Content-Type", Value: "t"}, {Name: "Cookie", Value: "c"}, {Name: "X", Value: "1"}}
	for _, tt := range []struct{ code, method, want string }{
		{"301", "POST", "GET"}, {"302", "POST", "GET"}, {"303", "POST", "GET"}, {"303", "PUT", "GET"},
		{"301", "PUT", "PUT"}, {"302", "DELETE", "DELETE"}, {"307", "POST", "POST"}, {"308", "POST", "POST"},
	} {
		p := get("http://" + at + "/r/" + tt.code)
		p.Method, p.Body, p.Headers = tt.method, ptr([]byte("pay")), secret
		want := tt.want + " /echo HTTP/1.1\r\nauthorization: B\r\n"
		tail := "\r\n"
		if tt.want == tt.method {
			want += "content-type: t\r\n"
			tail = "content-length: 3\r\n\r\npay"
		}
		want += "cookie: c\r\nx: 1\r\nreferer: http://" + at + "/r/" + tt.code + "\r\naccept: */*\r\nhost: " + at + "\r\n" + tail
		if r, bad := do(t, c, p); bad != nil || string(r.Body) != want {
			t.Errorf("%+v: %v\n got %q\nwant %q", tt, bad, r.Body, want)
		}
	}
	p := get("http://user:pw@" + at + "/other")
	p.Headers = secret
	want := "GET /there HTTP/1.1\r\ncontent-type: t\r\nx: 1\r\nreferer: http://" + at + "/\r\naccept: */*\r\nhost: " + other + "\r\n\r\n"
	if r, bad := do(t, c, p); bad != nil || string(r.Body) != want {
		t.Errorf("%v\n got %q\nwant %q", bad, r.Body, want)
	}
	for path, status := range map[string]uint16{"/bad": 302, "/none": 302, "/300": 300} {
		if r, bad := do(t, c, get("http://"+at+path)); bad != nil || r.Status != status || string(r.Body) != "body" {
			t.Errorf("%s: %+v %v", path, r, bad)
		}
	}
	for path, want := range map[string]string{
		"/loop": "http/request failed: too many redirects", "/ftp": "http/request failed: redirect target uses unsupported URL scheme: ftp",
	} {
		if _, bad := do(t, c, get("http://"+at+path)); bad == nil || bad.Code != wire.CodeInternal || bad.Message != want {
			t.Errorf("%s: %v", path, bad)
		}
	}
}

// TestPrivateAddressesAreRefused also when a redirect or a strange way to write
// them leads there.
func TestPrivateAddressesAreRefused(t *testing.T) {
	at := serve(t, echo)
	_, port, _ := net.SplitHostPort(at)
	c := client(t, Options{RefusePrivate: true, Proxy: func(*http.Request) (*url.URL, error) {
		t.Error("the proxy was asked for")
		return nil, nil
	}})
	for _, host := range []string{"127.0.0.1", "127.1", "0x7f.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1"} {
		_, bad := do(t, c, get("http://"+host+":"+port+"/"))
		if bad == nil || bad.Code != wire.CodeInvalidRequest || !strings.HasPrefix(bad.Message, "http/request refused: ") {
			t.Errorf("%s: %v", host, bad)
		}
	}
}

func TestTimeouts(t *testing.T) {
	at := serve(t, func(w net.Conn, q *seen) {
		if q.path == "/body" {
			_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
		}
		_, _ = w.Read(make([]byte, 1)) // until the client leaves
	})
	c := client(t, Options{})
	for _, tt := range []struct {
		path   string
		ms     uint64
		stream bool
		want   string
	}{
		{"/head", 20, false, "http/request failed: error sending request for url (http://" + at + "/head)"},
		{"/head", 0, false, "http/request failed: route-aware request timed out"},
		{"/body", 20, false, "failed to read http/request response body: error decoding response body"},
		{"/body", 20, true, "error decoding response body"},
	} {
		p := get("http://" + at + tt.path)
		p.TimeoutMs, p.StreamResponse = &tt.ms, tt.stream
		if _, bad := do(t, c, p); bad == nil || bad.Message != tt.want {
			t.Errorf("%+v: %v", tt, bad)
		}
	}
	p := get("http://" + serve(t, echo) + "/")
	p.TimeoutMs = ptr(^uint64(0))
	if _, bad := do(t, c, p); bad != nil {
		t.Error(bad)
	}
}

func TestCancelAndClose(t *testing.T) {
	arrived := make(chan struct{}, 8)
	at := serve(t, func(w net.Conn, q *seen) {
		if q.path == "/body" {
			_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
		}
		arrived <- struct{}{}
		_, _ = w.Read(make([]byte, 1))
	})
	c := client(t, Options{})
	ended := make(chan *wire.Error, 1)
	go func() {
		_, _, bad := c.Do(context.Background(), get("http://"+at+"/head"))
		ended <- bad
	}()
	<-arrived
	if c.Cancel("no such") || !c.Cancel("r") {
		t.Error("Cancel does not know what there is")
	}
	if bad := <-ended; bad == nil || bad.Message != "http/request failed: cancelled" {
		t.Error(bad)
	}
	p := get("http://" + at + "/body")
	p.StreamResponse = true
	for _, end := range []func(){func() { c.Cancel("r") }, c.Close} {
		_, b, bad := c.Do(context.Background(), p)
		if bad != nil {
			t.Fatal(bad)
		}
		if _, _, bad := c.Do(context.Background(), p); bad == nil || bad.Message != "http/request streamResponse requestId `r` is already active" {
			t.Error(bad)
		}
		<-arrived
		end()
		if _, text := collect(b); text != "cancelled" {
			t.Error(text)
		}
	}
	if _, _, bad := c.Do(context.Background(), p); bad == nil {
		t.Error("a closed client makes requests")
	}
}

// TestReaderStallsTheServer: what nobody takes is not read, and a reader who
// leaves ends the connection.
func TestReaderStallsTheServer(t *testing.T) {
	left := make(chan int, 1)
	at := serve(t, func(w net.Conn, _ *seen) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\n")
		total, piece := 0, make([]byte, 64<<10)
		for {
			n, err := w.Write(piece)
			if total += n; err != nil {
				left <- total
				return
			}
		}
	})
	c := client(t, Options{})
	p := get("http://" + at + "/")
	p.StreamResponse = true
	_, b, bad := c.Do(t.Context(), p)
	if bad != nil {
		t.Fatal(bad)
	}
	pieces := 0
	b.Run(func(d *wire.HTTPBodyDelta) error {
		if pieces++; len(d.Delta) > wire.MaxHTTPDelta || d.Seq != uint64(pieces) {
			t.Errorf("piece %d has %d bytes", d.Seq, len(d.Delta))
		}
		if pieces == 3 {
			return errors.New("the client has left")
		}
		return nil
	})
	if total := <-left; total > 64<<20 {
		t.Errorf("%d bytes were taken from the server", total)
	}
	if pieces != 3 {
		t.Errorf("%d pieces", pieces)
	}
}

func TestTooManyAtATime(t *testing.T) {
	at := serve(t, func(w net.Conn, _ *seen) { _, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\nx") })
	c := client(t, Options{Active: 1})
	p := get("http://" + at + "/")
	p.StreamResponse = true
	_, b, bad := c.Do(t.Context(), p)
	if bad != nil {
		t.Fatal(bad)
	}
	if _, _, bad := c.Do(t.Context(), get("http://"+at+"/")); bad == nil || bad.Message != "at most 1 http requests may be active per connection" {
		t.Error(bad)
	}
	b.Close()
	b.Close()
	if _, bad := do(t, c, p); bad != nil {
		t.Error(bad)
	}
}

func TestTLSAndProxy(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Proto, r.URL)
	}))
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	conf := &tls.Config{RootCAs: pool}
	c := client(t, Options{TLS: conf})
	if r, bad := do(t, c, get(s.URL+"/x")); bad != nil || string(r.Body) != "HTTP/1.1 /x" {
		t.Errorf("%+v %v", r, bad)
	}
	if _, bad := do(t, client(t, Options{}), get(s.URL+"/x")); bad == nil {
		t.Error("a certificate of nobody was accepted")
	}
	at := serve(t, func(w net.Conn, q *seen) {
		if q.method != "CONNECT" {
			echo(w, q)
			return
		}
		if q.get("proxy-authorization") != basic("u", "p") {
			_, _ = io.WriteString(w, "HTTP/1.1 407 No\r\n\r\n")
			return
		}
		up, err := net.Dial("tcp", q.path)
		if err != nil {
			return
		}
		defer up.Close()
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\n")
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(up, w)
			_ = up.Close()
		}()
		_, _ = io.Copy(w, up)
		_ = w.Close()
		<-done
	})
	through := func(s string) func(*http.Request) (*url.URL, error) {
		u, err := url.Parse(s)
		return func(*http.Request) (*url.URL, error) { return u, err }
	}
	c = client(t, Options{TLS: conf, Proxy: through("http://u:p@" + at)})
	if r, bad := do(t, c, get(s.URL+"/y")); bad != nil || string(r.Body) != "HTTP/1.1 /y" {
		t.Errorf("%+v %v", r, bad)
	}
	want := "GET http://nowhere.invalid/z HTTP/1.1\r\naccept: */*\r\nhost: nowhere.invalid\r\nproxy-authorization: " + basic("u", "p") + "\r\n\r\n"
	if r, bad := do(t, c, get("http://nowhere.invalid/z")); bad != nil || string(r.Body) != want {
		t.Errorf("%q %v", r.Body, bad)
	}
	for _, proxy := range []string{"http://" + at, "socks5://" + at, "http://127.0.0.1:1"} {
		if _, bad := do(t, client(t, Options{TLS: conf, Proxy: through(proxy)}), get(s.URL)); bad == nil || bad.Code != wire.CodeInternal {
			t.Errorf("%s: %v", proxy, bad)
		}
	}
}

// TestEarlyAnswer: a server may answer without reading the body.
func TestEarlyAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		say(conn, 413, "connection: close\r\n", "no")
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}()
	p := get("http://" + l.Addr().String())
	p.Method, p.Body = "POST", ptr(bytes.Repeat([]byte("x"), 8<<20))
	if r, bad := do(t, client(t, Options{}), p); bad != nil || r.Status != 413 || string(r.Body) != "no" {
		t.Errorf("%+v %v", r, bad)
	}
}

func TestConnectionGoesWithTheContext(t *testing.T) {
	at := serve(t, func(w net.Conn, _ *seen) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\nx")
		_, _ = w.Read(make([]byte, 1))
	})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	c := client(t, Options{})
	p := get("http://" + at)
	p.StreamResponse = true
	_, b, bad := c.Do(ctx, p)
	if bad != nil {
		t.Fatal(bad)
	}
	cancel()
	if _, text := collect(b); text == "" {
		t.Error("the stream ended as if it were whole")
	}
}

package netproxy

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/allow"
)

func crlf(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }

func TestParseHead(t *testing.T) {
	for in, want := range map[string]string{ // method target path
		"CONNECT db.example:443 HTTP/1.1\nHost: other\n\n":     "CONNECT db.example:443 ",
		"CONNECT [::1]:443 HTTP/1.0\n\n":                       "CONNECT [::1]:443 ",
		"CONNECT DB.example.:443 HTTP/1.1\n\n":                 "CONNECT db.example:443 ",
		"GET http://a.example/x?y=1 HTTP/1.1\n\n":              "GET a.example:80 /x?y=1",
		"GET HTTP://a.example:8080 HTTP/1.1\n\n":               "GET a.example:8080 /",
		"GET http://a.example:?q HTTP/1.1\n\n":                 "GET a.example:80 /?q",
		"GET http://[::1]/ HTTP/1.1\n\n":                       "GET [::1]:80 /",
		"GET http://[::ffff:127.0.0.1]:1/ HTTP/1.1\n\n":        "GET 127.0.0.1:1 /",
		"OPTIONS http://a.example HTTP/1.1\n\n":                "OPTIONS a.example:80 *",
		"PROPFIND http://a.example/http://b/ HTTP/1.1\nA:\n\n": "PROPFIND a.example:80 /http://b/",
	} {
		q, r := parseHead(crlf(in))
		if r != nil {
			t.Errorf("%q: %s", in, r.reason)
			continue
		}
		if got := q.method + " " + q.target.String() + " " + q.path; got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"GET / HTTP/1.1\n\n":                           "full URL",
		"GET  http://a/ HTTP/1.1\n\n":                  "not an HTTP request",
		"GET http://a/\n\n":                            "not an HTTP request",
		"GET http://a/ HTTP/2.0\n\n":                   "only HTTP/1.0",
		"GET http://a/ FTP/1\n\n":                      "not an HTTP request",
		"G(T http://a/ HTTP/1.1\n\n":                   "not an HTTP request",
		"GET https://a/ HTTP/1.1\n\n":                  "CONNECT",
		"GET ftp://a/ HTTP/1.1\n\n":                    "only http",
		"GET http://u:p@a/ HTTP/1.1\n\n":               "a user",
		"GET http://a@b:80/ HTTP/1.1\n\n":              "a user",
		"GET http://a/#f HTTP/1.1\n\n":                 "fragment",
		"GET http:/// HTTP/1.1\n\n":                    "not host:port",
		"GET http://a/\x01 HTTP/1.1\n\n":               "not allowed",
		"GET http://\xc3\xa4/ HTTP/1.1\n\n":            "not allowed",
		"CONNECT db.example HTTP/1.1\n\n":              "not host:port",
		"CONNECT db.example:0 HTTP/1.1\n\n":            "port 0",
		"CONNECT db.example:99999 HTTP/1.1\n\n":        "not a port",
		"CONNECT http://db.example:80 HTTP/1.1\n\n":    "not host:port",
		"CONNECT 127.1:80 HTTP/1.1\n\n":                "ends in a number",
		"CONNECT [fe80::1%25lo]:80 HTTP/1.1\n\n":       "zone",
		"CONNECT [fe80::1%lo]:80 HTTP/1.1\n\n":         "zone",
		"GET http://a/ HTTP/1.1\nA: b\n folded\n\n":    "header field",
		"GET http://a/ HTTP/1.1\nno colon\n\n":         "header field",
		"GET http://a/ HTTP/1.1\nA : b\n\n":            "header field",
		"GET http://a/ HTTP/1.1\nA: b\x01c\n\n":        "control byte",
		"GET http://a/ HTTP/1.1\nA: b\rHost: evil\n\n": "control byte",
	} {
		_, r := parseHead(crlf(in))
		if r == nil || !strings.Contains(r.reason, want) || r.status < 400 {
			t.Errorf("%q: %+v, want %q", in, r, want)
		}
	}
}

func TestHeadEnd(t *testing.T) {
	whole := []byte("A\r\nB: c\r\n\r\nrest\n")
	for n := range whole {
		end, r := headEnd(whole[:n], max(n-1, 0))
		if r != nil || (end != 0) != (n >= 11) && n == 11 {
			t.Fatal(n, end, r)
		}
	}
	if end, r := headEnd(whole[:13], 0); end != 11 || r != nil {
		t.Error(end, r)
	}
	for _, s := range []string{"A\nB", "\n", "A\r\n\n", "A\x00"} {
		if _, r := headEnd([]byte(s), 0); r == nil {
			t.Errorf("%q", s)
		}
	}
}

func TestOrigin(t *testing.T) {
	q, r := parseHead(crlf("POST http://a.example:8080/x HTTP/1.1\nHost: evil\nProxy-Authorization: secret\nProxy-Connection: keep-alive\n" +
		"Connection: keep-alive, X-Hop, content-length\nX-Hop: 1\nX-Keep: 2\nContent-Length: 3\nTE: trailers\n\n"))
	if r != nil {
		t.Fatal(r.reason)
	}
	want := string(crlf("POST /x HTTP/1.1\nHost: a.example:8080\nX-Keep: 2\nContent-Length: 3\nConnection: close\n\n"))
	if got := string(q.origin()); got != want {
		t.Errorf("%q", got)
	}
	q, r = parseHead(crlf("GET http://[::1]/ HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket\n\n"))
	if r != nil {
		t.Fatal(r.reason)
	}
	want = string(crlf("GET / HTTP/1.1\nHost: [::1]\nConnection: upgrade\nUpgrade: websocket\n\n"))
	if got := string(q.origin()); got != want {
		t.Errorf("%q", got)
	}
}

func FuzzHead(f *testing.F) {
	f.Add(crlf("CONNECT db.example:443 HTTP/1.1\nHost: x\n\n"))
	f.Add(crlf("GET http://a.example/x HTTP/1.1\nConnection: a, b\nA: 1\nUpgrade: x\n\nbody"))
	f.Add([]byte("GET / HTTP/1.1\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		end, r := headEnd(b, 0)
		if r != nil || end == 0 {
			return
		}
		q, r := parseHead(b[:end])
		if r != nil {
			if r.status < 400 || r.reason == "" {
				t.Fatalf("%+v", r)
			}
			return
		}
		if q.target.Port == 0 || q.target.Name == "" == !q.target.Addr.IsValid() {
			t.Fatalf("%+v", q.target)
		}
		if q.connect {
			return
		}
		// The origin server gets one request, for the checked target.
		out := bufio.NewReader(bytes.NewReader(q.origin()))
		req, err := http.ReadRequest(out)
		if err != nil {
			return // net/http, like a server, may be stricter
		}
		t2, err := allow.ParseTarget(addPort(req.Host))
		if err != nil || t2 != q.target {
			t.Fatalf("%q is not %v", req.Host, q.target)
		}
	})
}

func addPort(host string) string {
	if _, _, ok := allow.SplitHostPort(host); ok {
		return host
	}
	return host + ":80"
}

func TestParseSocks(t *testing.T) {
	for in, want := range map[string]string{
		"\x05\x01\x00\x01\x0a\x00\x00\x05\x15\x38":                       "10.0.0.5:5432",
		"\x05\x01\x00\x03\x0aDB.example\x00\x50":                         "db.example:80",
		"\x05\x01\x00\x03\x09127.0.0.1\x00\x50":                          "127.0.0.1:80",
		"\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50": "[::1]:80",
	} {
		tg, n, r := parseSocks([]byte(in + "more"))
		if r != nil || n != len(in) || tg.String() != want {
			t.Errorf("%q: %v %d %+v", in, tg, n, r)
		}
		for i := range in {
			if _, n, r := parseSocks([]byte(in[:i])); n != 0 || r != nil {
				t.Errorf("%q: the prefix parses as %d %+v", in[:i], n, r)
			}
		}
	}
	for in, reply := range map[string]byte{
		"\x04\x01\x00":                             replyFailed,
		"\x05\x02":                                 replyCommand,
		"\x05\x03\x00":                             replyCommand,
		"\x05\x01\x01":                             replyFailed,
		"\x05\x01\x00\x02\x00":                     replyAddressType,
		"\x05\x01\x00\x03\x00\x00\x50":             replyFailed,
		"\x05\x01\x00\x03\x01\x00\x00\x50":         replyFailed,
		"\x05\x01\x00\x01\x0a\x00\x00\x05\x00\x00": replyFailed,
		"\x05\x01\x00\x03\x05127.1\x00\x50":        replyFailed,
	} {
		if _, _, r := parseSocks([]byte(in)); r == nil || r.reply != reply {
			t.Errorf("%q: %+v", in, r)
		}
	}
	if n, ok := parseGreeting([]byte("\x05\x02\x02\x00rest")); n != 4 || !ok {
		t.Error(n, ok)
	}
	if n, ok := parseGreeting([]byte("\x05\x01\x02")); n != 3 || ok {
		t.Error(n, ok)
	}
	if n, _ := parseGreeting([]byte("\x05\x02\x00")); n != 0 {
		t.Error(n)
	}
}

func FuzzSocks(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x03\x0adb.example\x00\x50"))
	f.Add([]byte("\x05\x01\x00\x04aaaabbbbccccdddd\x00\x50"))
	f.Add([]byte("\x05\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, _ := parseGreeting(b); n > len(b) || n > 257 {
			t.Fatal(n)
		}
		tg, n, r := parseSocks(b)
		switch {
		case r != nil && (n != 0 || r.reply == replyOK):
			t.Fatal("both refused and parsed", n, r)
		case n > len(b):
			t.Fatal(n)
		case n > 0 && (tg.Port == 0 || tg.Name == "" == !tg.Addr.IsValid()):
			t.Fatalf("%+v", tg)
		case n == 0 && r == nil && len(b) >= 4+256+2:
			t.Fatal("waits for more bytes than a request can have")
		}
	})
}

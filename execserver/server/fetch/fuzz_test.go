package fetch

import (
	"bufio"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hostsup/hostsup/execserver/wire"
)

// FuzzAnswer: bytes of a server are answered, or refused, however they come in
// pieces, and never more than the limit is taken for a head.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nA: b\r\ncontent-length: 2\r\n\r\nok", "HTTP/1.1 200\n\nx", "HTTP/1.0 404 No\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
	} {
		f.Add([]byte(s), "GET")
	}
	f.Fuzz(func(t *testing.T, in []byte, method string) {
		read := func(r io.Reader) (string, error) {
			a, err := readAnswer(bufio.NewReaderSize(r, 16), method, 4096)
			if err != nil {
				return "", err
			}
			for _, h := range a.visible() {
				if h.Name != strings.ToLower(h.Name) || !isToken(h.Name) || !isValue(h.Value) {
					t.Fatalf("header %q: %q", h.Name, h.Value)
				}
			}
			body, err := io.ReadAll(io.LimitReader(a.body, 1<<20))
			return string(body), err
		}
		whole, err := read(strings.NewReader(string(in)))
		pieces, err2 := read(iotest.OneByteReader(strings.NewReader(string(in))))
		if whole != pieces || (err == nil) != (err2 == nil) {
			t.Fatalf("%q, %v in one, %q, %v in pieces", whole, err, pieces, err2)
		}
	})
}

// FuzzRequest: what is sent is one request, whatever the params are.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "http://h/x?y#z", "A", "b", []byte("x"))
	f.Add("POST", "http://u:p@127.1:8080/é", "content-length", "1", []byte("x"))
	f.Add("PUT", `https:\\[::1]\a`, "transfer-encoding", "chunked", []byte{})
	f.Fuzz(func(t *testing.T, method, url, name, value string, body []byte) {
		c := New(Options{})
		r, bad := c.prepare(wire.HTTPRequestParams{Method: method, URL: url, Headers: []wire.HTTPHeader{{Name: name, Value: value}}, Body: &body})
		if bad != nil {
			return
		}
		out, err := r.encode(nil)
		if errors.Is(err, errLength) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		head, _, ok := strings.Cut(string(out), "\r\n\r\n")
		if !ok || strings.Count(head, "\n") != strings.Count(head, "\r\n") {
			t.Fatalf("%q", out)
		}
		first, _, _ := strings.Cut(head, "\r\n")
		if n := strings.Count(first, " "); n != 2 || !strings.HasSuffix(first, " HTTP/1.1") {
			t.Fatalf("%q", first)
		}
		for _, line := range strings.Split(head, "\r\n")[1:] {
			if n, v, ok := strings.Cut(line, ": "); !ok || !isToken(n) || !isValue(v) {
				t.Fatalf("%q", line)
			}
		}
		// The normal form is stable, and an address is written as what it is.
		again, err := parseTarget(r.url.String())
		if err != nil || again.String() != r.url.String() {
			t.Fatalf("%q became %q, %v", r.url, again, err)
		}
		// A host is an address when its last label, but for a dot behind it, is a number.
		last := strings.TrimSuffix(r.url.host, ".")
		last = last[strings.LastIndexByte(last, '.')+1:]
		if last != "" && strings.Trim(last, "0123456789") == "" {
			if _, err := netip.ParseAddr(r.url.host); err != nil {
				t.Fatalf("%q is no address: %v", r.url.host, err)
			}
		}
	})
}

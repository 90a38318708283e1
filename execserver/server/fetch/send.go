package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox/allow"
)

// send makes one request and returns when there is the head of an answer. The
// connection lasts until the answer is closed or ctx ends.
func (c *Client) send(ctx context.Context, r *request) (*answer, error) {
	proxy, err := c.proxy(r.url)
	if err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx, r.url, proxy)
	if err != nil {
		return nil, err
	}
	raw := conn
	// Ends what waits for the other side when the call ends.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	var once sync.Once
	end := func() {
		once.Do(func() {
			stop()
			_ = raw.Close()
		})
	}
	a, err := c.exchange(ctx, conn, r, proxy)
	if err != nil {
		end()
		return nil, err
	}
	a.close = end
	return a, nil
}

func (c *Client) exchange(ctx context.Context, conn net.Conn, r *request, proxy *url.URL) (*answer, error) {
	if r.url.scheme == "https" {
		if proxy != nil {
			if err := c.tunnel(conn, r.url, proxy); err != nil {
				return nil, err
			}
		}
		secure := tls.Client(conn, c.tlsConfig(r.url.host))
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn, proxy = secure, nil
	}
	out, err := r.encode(proxy)
	if err != nil {
		return nil, err
	}
	_, wrote := conn.Write(out)
	// A server may answer, and close, before it has read everything.
	a, err := readAnswer(bufio.NewReaderSize(conn, 16<<10), r.method, headBytes)
	if err != nil && wrote != nil {
		err = wrote
	}
	return a, err
}

func (c *Client) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{}
	if c.o.TLS != nil {
		cfg = c.o.TLS.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	cfg.NextProtos = []string{"http/1.1"}
	return cfg
}

// proxy is the proxy for a URL, or nil.
func (c *Client) proxy(to *target) (*url.URL, error) {
	if c.o.RefusePrivate || c.o.Dial != nil {
		return nil, nil
	}
	u, _ := url.Parse(to.String())
	if u == nil { // no proxy is configured for what it cannot read
		return nil, nil
	}
	proxy, err := c.o.Proxy(&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}})
	if err != nil || proxy == nil {
		return nil, err
	}
	if proxy.Scheme != "http" {
		return nil, wire.Internal("http/request failed: proxies with %s:// are not supported", proxy.Scheme)
	}
	return proxy, nil
}

func (c *Client) dial(ctx context.Context, to *target, proxy *url.URL) (net.Conn, error) {
	if c.o.Dial != nil {
		return c.o.Dial(ctx, to.host, to.toPort())
	}
	address := to.address()
	if proxy != nil {
		port := proxy.Port()
		if port == "" {
			port = "80"
		}
		address = net.JoinHostPort(proxy.Hostname(), port)
	}
	d := net.Dialer{}
	if c.o.RefusePrivate {
		d.Control = public
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	var no *privateError
	if errors.As(err, &no) {
		return nil, wire.InvalidRequest("http/request refused: %s", no)
	}
	return conn, err
}

// privateError says that an address is not of the public internet.
type privateError struct {
	addr  netip.Addr
	class string
}

func (e *privateError) Error() string {
	return fmt.Sprintf("%s is not a public address (%s)", e.addr, e.class)
}

// public judges the very address that is about to be connected to.
func public(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if class := allow.Class(at.Addr()); class != "" {
		return &privateError{at.Addr().Unmap(), class}
	}
	return nil
}

// tunnel asks a proxy for a connection to the server.
func (c *Client) tunnel(conn net.Conn, to *target, proxy *url.URL) error {
	b := fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nhost: %s\r\n", to.address(), to.address())
	b = appendLogin(b, proxy)
	if _, err := conn.Write(append(b, "\r\n"...)); err != nil {
		return err
	}
	// One byte at a time, as what comes after the head is the server's.
	a, err := readAnswer(bufio.NewReaderSize(oneByte{conn}, 16), http.MethodConnect, headBytes)
	if err != nil {
		return err
	}
	if a.status/100 != 2 {
		return fmt.Errorf("the proxy answered %d", a.status)
	}
	return nil
}

// oneByte reads a byte at a time.
type oneByte struct{ net.Conn }

func (o oneByte) Read(p []byte) (int, error) { return o.Conn.Read(p[:min(len(p), 1)]) }

func appendLogin(b []byte, proxy *url.URL) []byte {
	if proxy == nil || proxy.User == nil {
		return b
	}
	password, _ := proxy.User.Password()
	b = append(b, "proxy-authorization: "...)
	return append(append(b, basic(proxy.User.Username(), password)...), "\r\n"...)
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

var errLength = errors.New("content-length is not that of the body")

// encode returns the request as it is sent: the client's headers, then ours.
func (r *request) encode(proxy *url.URL) ([]byte, error) {
	headers := r.headers.grouped()
	add := func(name, value string) {
		if _, given := r.headers.get(name); !given {
			headers = append(headers, header{name, value})
		}
	}
	if r.url.login {
		add("authorization", basic(r.url.user, r.url.password))
	}
	add("accept", "*/*")
	add("host", r.url.hostport())
	for _, name := range []string{"content-length", "transfer-encoding"} {
		if len(r.headers)-len(r.headers.without(name)) > 1 {
			return nil, errLength
		}
	}
	te, chunked := r.headers.get("transfer-encoding")
	if chunked {
		if lastCoding(te) != "chunked" {
			return nil, errLength
		}
		headers = headers.without("content-length")
	} else if length, ok := r.headers.get("content-length"); ok {
		// Another length would make a part of the body another request.
		if n, err := strconv.ParseUint(length, 10, 63); err != nil || n != uint64(len(r.body)) {
			return nil, errLength
		}
	} else if len(r.body) > 0 {
		add("content-length", strconv.Itoa(len(r.body)))
	}
	at := r.url.path
	if proxy != nil {
		at = r.url.String()
	}
	b := make([]byte, 0, 512+len(r.body))
	b = fmt.Appendf(b, "%s %s HTTP/1.1\r\n", r.method, at)
	for _, h := range headers {
		b = append(b, h.name...)
		b = append(b, ": "...)
		b = append(b, h.value...)
		b = append(b, "\r\n"...)
	}
	b = append(appendLogin(b, proxy), "\r\n"...)
	switch {
	case !chunked:
		b = append(b, r.body...)
	case len(r.body) > 0:
		b = fmt.Appendf(b, "%x\r\n%s\r\n0\r\n\r\n", len(r.body), r.body)
	default:
		b = append(b, "0\r\n\r\n"...)
	}
	return b, nil
}

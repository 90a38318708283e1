package netproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hostsup/hostsup/sandbox/allow"
)

// client serves one connection to the proxy.
func (p *Proxy) client(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(p.HeadTimeout))
	h := &reader{c: c, max: p.MaxHead}
	if err := h.more(); err != nil {
		if h.n > 0 || !errors.Is(err, io.EOF) {
			p.giveUp(c, err, nil)
		}
		return
	}
	switch h.buf[0] {
	case socksVersion:
		p.socks(c, h)
	case 4:
		p.log(Attempt{Time: time.Now(), Protocol: SOCKS5, Reason: "SOCKS4 is not supported"})
		refuse(c, []byte{0, 91, 0, 0, 0, 0, 0, 0})
	case 0x16:
		p.log(Attempt{Time: time.Now(), Protocol: HTTP, Reason: "TLS to the proxy itself is not supported"})
		refuse(c, []byte{0x15, 3, 1, 0, 2, 2, 40}) // alert: fatal, handshake failure
	default:
		p.http(c, h)
	}
}

// http serves CONNECT, or one request in absolute form.
func (p *Proxy) http(c net.Conn, h *reader) {
	proto := HTTP
	no := func(r *refusal) {
		p.log(Attempt{Time: time.Now(), Protocol: proto, Reason: r.reason})
		refuse(c, httpRefusal(r.status, r.reason))
	}
	var end int
	for from := 0; ; {
		var r *refusal
		if end, r = headEnd(h.buf[:h.n], from); r != nil {
			no(r)
			return
		} else if end > 0 {
			break
		}
		from = h.n
		switch err := h.more(); {
		case errors.Is(err, errFull):
			no(&refusal{http.StatusRequestHeaderFieldsTooLarge, 0, fmt.Sprintf("the head of the request is longer than %d bytes", h.max)})
			return
		case err != nil:
			p.giveUp(c, err, httpRefusal(http.StatusRequestTimeout, "no complete request in time"))
			return
		}
	}
	q, r := parseHead(h.buf[:end])
	if r != nil {
		no(r)
		return
	}
	rest := h.buf[end:h.n]
	if q.connect {
		proto = Connect
	}
	_ = c.SetDeadline(time.Time{})
	server, r := p.connect(p.ctx, proto, q.target)
	if r != nil {
		refuse(c, httpRefusal(r.status, q.target.String()+": "+r.reason))
		return
	}
	defer p.drop(server)
	if q.connect {
		_ = c.SetWriteDeadline(time.Now().Add(p.IdleTimeout))
		if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			return
		}
	} else {
		rest = append(q.origin(), rest...)
	}
	p.tunnel(c, server, rest, !q.connect)
}

func (p *Proxy) socks(c net.Conn, h *reader) {
	no := func(r *refusal, answer []byte) {
		p.log(Attempt{Time: time.Now(), Protocol: SOCKS5, Reason: r.reason})
		refuse(c, answer)
	}
	n, noAuth := parseGreeting(h.buf[:h.n])
	for n == 0 {
		if err := h.more(); err != nil {
			p.giveUp(c, err, nil)
			return
		}
		n, noAuth = parseGreeting(h.buf[:h.n])
	}
	if !noAuth {
		no(&refusal{reason: "the SOCKS5 client requires a password"}, []byte{socksVersion, socksNone})
		return
	}
	if _, err := c.Write([]byte{socksVersion, socksNoAuth}); err != nil {
		return
	}
	h.drop(n)
	t, n, r := parseSocks(h.buf[:h.n])
	for n == 0 && r == nil {
		if err := h.more(); err != nil {
			p.giveUp(c, err, socksReply(replyTimeout))
			return
		}
		t, n, r = parseSocks(h.buf[:h.n])
	}
	if r != nil {
		no(r, socksReply(r.reply))
		return
	}
	_ = c.SetDeadline(time.Time{})
	server, r := p.connect(p.ctx, SOCKS5, t)
	if r != nil {
		refuse(c, socksReply(r.reply))
		return
	}
	defer p.drop(server)
	_ = c.SetWriteDeadline(time.Now().Add(p.IdleTimeout))
	if _, err := c.Write(socksReply(replyOK)); err != nil {
		return
	}
	p.tunnel(c, server, h.buf[n:h.n], false)
}

// forward serves one connection to a listener of Forward.
func (p *Proxy) forward(c net.Conn, t allow.Target) {
	server, r := p.connect(p.ctx, Forwards, t)
	if r != nil {
		reset(c)
		return
	}
	defer p.drop(server)
	p.tunnel(c, server, nil, false)
}

// reset closes a connection with a TCP reset, the only error that a client of an
// unknown protocol can get.
func reset(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0)
	}
}

// giveUp ends the connection of a client that sent no complete request.
func (p *Proxy) giveUp(c net.Conn, err error, answer []byte) {
	if p.ctx.Err() != nil {
		return
	}
	reason := "the client disconnected during its request"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		reason = "no complete request in time"
	}
	p.log(Attempt{Time: time.Now(), Reason: reason})
	if answer != nil {
		refuse(c, answer)
	}
}

// refuse answers and closes. It first reads what the client still sends for a
// moment: closing with unread data would reset the connection and lose the answer.
func refuse(c net.Conn, answer []byte) {
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write(answer); err != nil {
		return
	}
	if w, ok := c.(closeWriter); ok && w.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, 256<<10)
	}
}

var errFull = errors.New("no room")

// reader collects the first bytes of a client, up to max.
type reader struct {
	c   net.Conn
	buf []byte
	n   int
	max int
}

// more reads once.
func (h *reader) more() error {
	if h.n == len(h.buf) {
		if h.n >= h.max {
			return errFull
		}
		grown := make([]byte, min(max(1024, 2*len(h.buf)), h.max))
		copy(grown, h.buf[:h.n])
		h.buf = grown
	}
	n, err := h.c.Read(h.buf[h.n:])
	h.n += n
	if n > 0 {
		return nil
	}
	return err
}

// drop removes the first n bytes.
func (h *reader) drop(n int) { h.n = copy(h.buf, h.buf[n:h.n]) }

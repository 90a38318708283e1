package netproxy

import (
	"context"
	"fmt"
	"net"

	"github.com/hostsup/hostsup/sandbox/allow"
)

// RefusedError means that a host and port may not be reached.
type RefusedError struct {
	Host   string
	Port   uint16
	Reason string // lower case: "not in the allow list"
}

// Error returns a line such as `db.example:5432: not in the allow list`.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: %s", allow.HostPort(e.Host, e.Port), e.Reason)
}

// Connect connects to a host, which is a name or an address without brackets, under
// the rules for clients of the proxy: it applies the allow list and the check of
// the address, and logs the attempt. The error is a *RefusedError if these forbid
// it. Close of the Proxy closes the connection.
func (p *Proxy) Connect(ctx context.Context, host string, port uint16) (net.Conn, error) {
	t, reason := allow.NewTarget(host, port)
	if reason != "" {
		return nil, &RefusedError{host, port, reason}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	c, r := p.connect(ctx, Direct, t)
	switch {
	case r == nil:
		return &heldConn{c, p}, nil
	case r.reply == replyNotAllowed:
		return nil, &RefusedError{t.Host(), port, r.reason}
	}
	return nil, fmt.Errorf("connect to %s: %s", t, r.reason)
}

// heldConn is a connection that Close of its Proxy closes.
type heldConn struct {
	net.Conn
	p *Proxy
}

func (c *heldConn) Close() error {
	c.p.forget(c.Conn)
	return c.Conn.Close()
}

package control

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/hostsup/hostsup/internal/busypoll"
)

// dial connects to the control socket, whatever the address. See dialSocket.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := c.dialSocket(ctx)
	if err != nil {
		return nil, err
	}
	return &outlived{Conn: conn, closed: make(chan struct{})}, nil
}

// connect returns a connection to the supervisor that is for one request to the URL.
func (c *Client) connect(ctx context.Context, to *url.URL) (net.Conn, error) {
	if c.token == "" {
		return c.dialSocket(ctx)
	}
	transport, _ := c.http.Transport.(*http.Transport) // see NewURLClient
	port := to.Port()
	if port == "" {
		port = to.Scheme // a name that has a port
	}
	conn, err := transport.DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil || to.Scheme == "http" {
		return conn, err
	}
	conf := &tls.Config{}
	if c.tls != nil {
		conf = c.tls.Clone()
	}
	if conf.ServerName == "" {
		conf.ServerName = to.Hostname()
	}
	secure := tls.Client(busypoll.Conn(conn), conf)
	bounded, cancel := context.WithTimeout(ctx, transport.TLSHandshakeTimeout)
	defer cancel()
	if err := secure.HandshakeContext(bounded); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// dialSocket connects to the control socket, and returns an error for people if it cannot.
func (c *Client) dialSocket(ctx context.Context) (net.Conn, error) {
	if err := checkPath(c.socket); err != nil {
		return nil, invalid(err.Error())
	}
	trusted := c.anyOwner && os.Geteuid() == 0
	if err := checkFolder(filepath.Dir(c.socket)); err != nil && !trusted {
		return nil, &Error{Class: Forbidden, Message: err.Error()}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.socket)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrPermission):
		return nil, &Error{Class: Forbidden, Message: denied(c.socket)}
	case isNoSocket(c.socket):
		return nil, &Error{Class: NoSupervisor,
			Message: fmt.Sprintf(`no supervisor at %s: it is no socket; "hostsup run" prints the path of its own`, c.socket)}
	default:
		return nil, &Error{Class: NoSupervisor,
			Message: fmt.Sprintf(`no supervisor at %s: start one with "hostsup run"`, c.socket)}
	}
	if err := checkServer(conn, c.socket); err != nil && !trusted {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// outlived is a connection whose failed writes return when it is closed. A transport gives
// up a connection whose write has failed, and with it what the supervisor sent before it
// closed its end, such as why it detached a program.
type outlived struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (o *outlived) Write(b []byte) (int, error) {
	n, err := o.Conn.Write(b)
	if err != nil {
		<-o.closed // soon: a read finds the end
	}
	return n, err
}

// Close is idempotent.
func (o *outlived) Close() error {
	o.once.Do(func() { close(o.closed) })
	return o.Conn.Close()
}

// isNoSocket reports whether the file at a path is not a socket.
func isNoSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() != os.ModeSocket
}

// denied describes who may use the socket.
func denied(socket string) string {
	info, err := os.Stat(socket)
	if err != nil {
		return fmt.Sprintf("permission denied on %s: you (uid %d) may not enter its folder", socket, os.Geteuid())
	}
	text := fmt.Sprintf("permission denied on %s (mode %#o)", socket, info.Mode().Perm())
	if uid := ownerOf(info); uid >= 0 {
		text += fmt.Sprintf(": it belongs to uid %d and you are uid %d; run this as that user or as root", uid, os.Geteuid())
	}
	return text
}

package control

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/hostsup/hostsup/internal/sys"
)

// defaultMaxConns returns how many connections are served at once: 256, and at most
// a quarter of the descriptors, because hosts need some too.
func defaultMaxConns() int { return min(256, sys.DescriptorLimit()/4) }

// maxRefused is how many connections above the limit get an error response; those
// above are closed without one.
const maxRefused = 16

// bounded is a listener that closes connections over the server's limit.
type bounded struct {
	net.Listener
	s *Server
}

// Accept returns the next connection that can be served or refused with a reason.
func (l bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.s.conns.Load() < int64(l.s.opt.MaxConns+maxRefused) {
			return c, err
		}
		_ = c.Close() // nothing was sent on it
	}
}

// opened counts a connection and returns the context of its requests, in which guard
// finds the reason to refuse them.
func (s *Server) opened(ctx context.Context, c net.Conn) context.Context {
	if n := s.conns.Add(1); n > int64(s.opt.MaxConns) {
		return context.WithValue(ctx, callerKey{}, error(&Error{Class: Overloaded, Message: fmt.Sprintf(
			"the control socket has %d connections, its limit; each attach, events -f and logs -f holds one", s.opt.MaxConns)}))
	}
	return withCaller(ctx, c)
}

// changed stops counting a connection that has ended.
func (s *Server) changed(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		s.conns.Add(-1)
	}
}

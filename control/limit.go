package control

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/hostsup/hostsup/internal/sys"
)

// defaultMaxConns is how many connections are served at once: 256, and at most
// a quarter of the descriptors, of which hosts need some, too.
func defaultMaxConns() int { return min(256, sys.DescriptorLimit()/4) }

// turnedAway is how many connections above the limit are told so; those above
// that are closed without a word.
const turnedAway = 16

// bounded is a listener that closes what a server has no place for.
type bounded struct {
	net.Listener
	s *Server
}

// Accept returns the next connection that can be served or told why it is not.
func (l bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.s.conns.Load() < int64(l.s.opt.MaxConns+turnedAway) {
			return c, err
		}
		_ = c.Close() // nothing was said on it
	}
}

// opened counts a connection and returns the context of its requests, in which
// guard finds why they are refused.
func (s *Server) opened(ctx context.Context, c net.Conn) context.Context {
	if n := s.conns.Add(1); n > int64(s.opt.MaxConns) {
		return context.WithValue(ctx, callerKey{}, error(&Error{Class: Overloaded, Message: fmt.Sprintf(
			"the control socket has %d connections, its limit; each attach, events -f and logs -f holds one", s.opt.MaxConns)}))
	}
	return withCaller(ctx, c)
}

// changed takes a connection that has ended off the count.
func (s *Server) changed(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		s.conns.Add(-1)
	}
}

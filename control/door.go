package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// door is one listener of a Server: its connections, and who may come through it.
type door struct {
	server *Server
	access *Access // nil: the control socket, whose callers the kernel knows
	max    int     // connections served at once
	conns  atomic.Int64
	http   *http.Server
}

func (s *Server) newDoor(access *Access) *door {
	d := &door{server: s, access: access, max: s.opt.MaxConns}
	if access != nil {
		d.max = max(1, d.max/2) // others on the network must not keep the command line out
		if access.MaxConns > 0 {
			d.max = min(access.MaxConns, max(1, sys.DescriptorLimit()/4))
		}
	}
	d.http = &http.Server{
		Handler:                      http.HandlerFunc(d.handle),
		BaseContext:                  func(net.Listener) context.Context { return s.ctx },
		ConnContext:                  d.opened,
		ConnState:                    d.changed,
		ReadHeaderTimeout:            min(10*time.Second, s.opt.Patience),
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               64 << 10,
		DisableGeneralOptionsHandler: true,
		Protocols:                    new(http.Protocols),
		ErrorLog:                     standardLog(s.opt.Logger),
	}
	d.http.Protocols.SetHTTP1(true) // attach is not made for another one
	return d
}

// maxRefused is how many connections above the limit get an error response; those
// above are closed without one.
const maxRefused = 16

// bounded is a listener that closes connections over the door's limit.
type bounded struct {
	net.Listener
	d *door
}

// Accept returns the next connection that can be served or refused with a reason.
func (l bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.d.conns.Load() < int64(l.d.max+maxRefused) {
			return c, err
		}
		_ = c.Close() // nothing was sent on it
	}
}

// refusalKey holds, in the context of a connection, why its requests are refused.
type refusalKey struct{}

// opened counts a connection and returns the context of its requests, in which handle
// finds the reason to refuse them.
func (d *door) opened(ctx context.Context, c net.Conn) context.Context {
	var err error
	if n := d.conns.Add(1); n > int64(d.max) {
		name := "control socket"
		if d.access != nil {
			name = strings.TrimPrefix(d.access.setting(), "supervisor.")
		}
		err = &Error{Class: Overloaded, Message: fmt.Sprintf("the %s has %d connections, its limit; each attach, events -f and logs -f holds one", name, d.max)}
	} else if d.access == nil {
		err = checkCaller(c)
	}
	if err != nil {
		return context.WithValue(ctx, refusalKey{}, err)
	}
	return ctx
}

// changed stops counting a connection that has ended. One that was upgraded ends with its
// handler, see handle.
func (d *door) changed(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		d.conns.Add(-1)
		d.server.connClosed()
	}
}

// handle serves a request of those that may make it.
func (d *door) handle(w http.ResponseWriter, r *http.Request) {
	s := d.server
	s.handlers.Add(1)
	defer s.handlers.Done()
	c := caller{role: RoleFull}
	err, _ := r.Context().Value(refusalKey{}).(error)
	// The server looks at its own request to see whether the body of one with Expect was read:
	// it must not find another body there.
	r = r.WithContext(r.Context())
	t := newTimed(w, r, s.opt.Patience, s.opt.Patience)
	w = t
	defer func() {
		if t.upgraded {
			d.conns.Add(-1)
			s.connClosed()
			return
		}
		t.endBody(r)
	}()
	if d.access == nil {
		t.lull = s.opt.StreamPatience
	} else {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err == nil {
			var done bool
			if c, done, err = d.access.admit(w, r); done && err == nil {
				return
			}
		}
	}
	if err != nil {
		s.refused(d, r, err)
		w.Header().Set("Connection", "close")
		s.fail(w, r, err)
		// The rest of a body is waited for as long as callers that send one at once need to
		// read the answer.
		_ = t.control.SetReadDeadline(time.Now().Add(lastWrite))
		return
	}
	w.Header().Set(versionHeader, s.opt.Version)
	if !plain(r.URL) {
		s.fail(w, r, s.unknown(r))
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
	if d.access != nil && d.access.Handler != nil {
		d.access.Handler.ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// refused logs that a caller was refused: anybody on a network can be, as often as they
// like.
func (s *Server) refused(d *door, r *http.Request, err error) {
	if d.access != nil {
		s.opt.Logger.Debug("refused a caller", "from", r.RemoteAddr, "error", err)
		return
	}
	s.opt.Logger.Warn("refused a caller", "error", err)
}

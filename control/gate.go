package control

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// gate holds the requests of a Server while another supervisor takes over.
type gate struct {
	mu      sync.Mutex
	opened  chan struct{} // closed when requests need not wait any longer; nil: they do not
	handler http.Handler  // of requests from then on; nil: the server itself
	passed  bool          // another supervisor has taken over
	active  int           // requests that Drained waits for
	idle    chan struct{} // closed when no request runs; nil: no caller waits
	late    bool          // the time of Drained was over before requests had ended
}

// lasting are the operations that Drained does not wait for, besides streams: they go on for as long as their
// callers like.
var lasting = map[string]bool{"wait": true, "profile": true, "heap": true, "runTests": true, "upgrade": true}

// isLasting reports whether an operation may go on for any time.
func (op *operation) isLasting() bool {
	return op.endless || lasting[op.name] || op.name != "call" && len(op.answers) > 0 && op.answers[0].media == typeNDJSON
}

// enter waits until a request may be served. It returns the handler that serves it in place of the server, or
// nil and what is to be called after it was served.
func (g *gate) enter(ctx context.Context, op *operation) (instead http.Handler, leave func(), err error) {
	if op.name == "upgrade" {
		return nil, func() {}, nil
	}
	for {
		g.mu.Lock()
		wait := g.opened
		if wait == nil {
			break
		}
		g.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	defer g.mu.Unlock()
	if g.passed {
		return g.handler, nil, nil
	}
	if op.isLasting() {
		return nil, func() {}, nil
	}
	g.active++
	return nil, g.leave, nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	if g.active == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Hold makes requests wait from now on, until [Server.Release] or [Server.Pass]. Connections are accepted as before.
func (s *Server) Hold() {
	g := &s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
}

// Drained waits until no request runs that came before Hold, or ctx is done. It returns how many still run. Streams, such
// as events that are followed, and requests that wait for something or take a profile, do not count.
func (s *Server) Drained(ctx context.Context) int {
	g := &s.gate
	g.mu.Lock()
	if g.active == 0 {
		g.mu.Unlock()
		return 0
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.late = g.active > 0
	return g.active
}

// cutOff returns the error of a request that was under way for longer than Drained has waited, if its own is
// that its host was stopped: the host may go on with another supervisor.
func (g *gate) cutOff(e *Error) *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.late || e.Class != Stopped && e.Class != Closed {
		return e
	}
	return &Error{Class: Closed, Host: e.Host, Message: "another process has taken over from the supervisor before the answer; the host may have done what it was asked for"}
}

// Release serves the requests that wait, as if Hold had not been called.
func (s *Server) Release() { s.gate.open(nil, false) }

// Pass hands the requests that wait, and later ones of the same connections, to the supervisor that now listens at
// the control socket. Callers on a network have tokens that it does not know, and are told to connect again: they
// get an error of class [Closed].
func (s *Server) Pass(socket string) {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "hostsup"})
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", socket)
			},
			DisableCompression: true, DisableKeepAlives: true,
		},
		FlushInterval: -1,
		ErrorLog:      standardLog(s.opt.Logger),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			s.opt.Logger.Warn("the supervisor that has taken over does not answer", "path", cut(r.URL.Path), "error", err)
			s.fail(w, r, &Error{Class: Closed, Message: "the supervisor that has taken over does not answer"})
		},
	}
	s.gate.open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // the next request goes to the other supervisor
		if callerOf(r.Context()).token != "" {
			w.Header().Set("Retry-After", "0")
			s.fail(w, r, &Error{Class: Closed, Message: "another process has taken over from the supervisor: connect again"})
			return
		}
		forward.ServeHTTP(w, r)
	}), true)
}

// open lets the requests go that wait.
func (g *gate) open(handler http.Handler, passed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
	}
	g.opened, g.handler, g.passed = nil, handler, passed
	g.late = g.late && passed
}

// Left waits until no connection is open any more, or ctx is done. After [Server.Pass] connections end with
// their next request, or when they are idle for two minutes.
func (s *Server) Left(ctx context.Context) {
	for {
		s.mu.Lock()
		open := int64(0)
		for _, d := range s.doors {
			open += d.conns.Load()
		}
		changed := s.closed
		s.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// connClosed wakes Left.
func (s *Server) connClosed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.closed)
	s.closed = make(chan struct{})
}

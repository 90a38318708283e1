package netproxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hostsup/hostsup/sandbox/allow"
)

// LookupFunc looks up the addresses of a name, like [net.Resolver.LookupNetIP]. It is
// a function because an interface would keep all methods of net.Resolver in programs.
type LookupFunc func(ctx context.Context, network, host string) ([]netip.Addr, error)

// Proxy serves listeners under one allow list. It must be made by [New] and closed.
// The fields must not be changed after the first Serve or Forward.
type Proxy struct {
	// Lookup resolves names; by default with net.DefaultResolver.
	Lookup LookupFunc
	// Dial connects to a checked address; by default with a net.Dialer.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Own lists the machine's own addresses, which names may not resolve to; by
	// default those of its interfaces.
	Own func() ([]netip.Addr, error)

	MaxConns    int           // concurrent connections; more are refused; default 128
	MaxHead     int           // bytes of a request before its body; more are refused; default 16 KiB
	HeadTimeout time.Duration // for a client to send its request; default 10 s
	DialTimeout time.Duration // to resolve and connect; default 30 s
	IdleTimeout time.Duration // without a byte in either direction; default 10 min

	rules *allow.Rules
	log   func(Attempt)
	ctx   context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[net.Conn]struct{}
	clients   int
}

// New returns a Proxy that allows what rules allow (nil: nothing) and calls log, if
// it is not nil, for every attempt.
func New(rules *allow.Rules, log func(Attempt)) *Proxy {
	if log == nil {
		log = func(Attempt) {}
	}
	p := &Proxy{
		Lookup:      net.DefaultResolver.LookupNetIP,
		Own:         ownAddrs,
		MaxConns:    128,
		MaxHead:     16 << 10,
		HeadTimeout: 10 * time.Second,
		DialTimeout: 30 * time.Second,
		IdleTimeout: 10 * time.Minute,

		rules:     rules,
		log:       log,
		listeners: map[net.Listener]struct{}{},
		conns:     map[net.Conn]struct{}{},
	}
	var d net.Dialer
	p.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", addr.String())
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// ErrClosed is the error of Serve and Forward after Close.
var ErrClosed = net.ErrClosed

// Serve serves the clients of l until Close, or until l fails; it closes l. Several
// listeners may be served concurrently. The error is never nil; after Close it is
// [ErrClosed].
func (p *Proxy) Serve(l net.Listener) error { return p.accept(l, p.client) }

// Forward connects every client of l to hostport until Close, or until l fails; it
// closes l. It applies the allow list and the check of the address. The error is
// never nil; after Close it is [ErrClosed].
func (p *Proxy) Forward(l net.Listener, hostport string) error {
	t, err := allow.ParseTarget(hostport)
	if err != nil {
		_ = l.Close()
		return err
	}
	return p.accept(l, func(c net.Conn) { p.forward(c, t) })
}

// Inward connects every client of l with dial until Close, or until l fails; it
// closes l. It does not apply the allow list. The error is never nil; after Close it
// is [ErrClosed].
func (p *Proxy) Inward(l net.Listener, dial func(context.Context) (net.Conn, error)) error {
	return p.accept(l, func(c net.Conn) {
		ctx, cancel := context.WithTimeout(p.ctx, p.DialTimeout)
		server, err := dial(ctx)
		cancel()
		if err != nil || !p.hold(server) {
			reset(c)
			return
		}
		defer p.drop(server)
		p.tunnel(c, server, nil, false)
	})
}

func (p *Proxy) accept(l net.Listener, serve func(net.Conn)) error {
	defer l.Close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.listeners[l] = struct{}{}
	p.wg.Add(1)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.listeners, l)
		p.mu.Unlock()
		p.wg.Done()
	}()
	var pause pause
	for {
		c, err := l.Accept()
		if err != nil {
			if p.ctx.Err() != nil {
				return ErrClosed
			}
			// A connection that was aborted before it was accepted, or a temporary
			// lack of descriptors, must not end the loop.
			if temporary(err) && pause.wait(p.ctx) {
				continue
			}
			return err
		}
		pause.reset()
		switch full, closed := p.enter(c); {
		case closed:
			_ = c.Close()
			return ErrClosed
		case full:
			p.log(Attempt{Time: time.Now(), Reason: "too many connections"})
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(httpRefusal(503, "too many connections"))
			_ = c.Close()
			continue
		}
		go func() {
			defer p.leave(c)
			serve(c)
		}()
	}
}

// enter counts a client, unless the Proxy is full or closed.
func (p *Proxy) enter(c net.Conn) (full, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return false, true
	case p.clients >= p.MaxConns:
		return true, false
	}
	p.clients++
	p.conns[c] = struct{}{}
	p.wg.Add(1)
	return false, false
}

func (p *Proxy) leave(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	p.clients--
	delete(p.conns, c)
	p.mu.Unlock()
	p.wg.Done()
}

// hold makes Close close c too.
func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.forget(c)
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// Close closes the listeners and every connection, and waits until Serve,
// Forward and all goroutines have ended. It is idempotent.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.stop()
	for l := range p.listeners {
		_ = l.Close()
	}
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return nil
}

// pause waits between failing accepts, longer each time.
type pause struct{ d time.Duration }

func (w *pause) reset() { w.d = 0 }

func (w *pause) wait(ctx context.Context) bool {
	w.d = min(max(5*time.Millisecond, 2*w.d), time.Second)
	t := time.NewTimer(w.d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func temporary(err error) bool {
	var ne interface{ Temporary() bool }
	return errors.As(err, &ne) && ne.Temporary() && !errors.Is(err, net.ErrClosed)
}

func ownAddrs() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				own = append(own, ip.Unmap())
			}
		}
	}
	return own, nil
}

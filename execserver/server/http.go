package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/hostsup/hostsup/execserver/server/fetch"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox/allow"
	"github.com/hostsup/hostsup/sandbox/netproxy"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func (c *conn) fetcher() *fetch.Client {
	if c.fetch == nil {
		c.fetch = fetch.New(fetch.Options{RefusePrivate: c.srv.opt.NoPrivateHTTP, LookupEnv: c.srv.lookupEnv, Dial: c.srv.dial})
	}
	return c.fetch
}

// reach sets up how HTTP requests of clients connect: like processes in the server's
// sandbox. Without a sandbox, or with the network of the machine, they connect
// directly.
func (s *Server) reach() error {
	if s.opt.Sandbox == nil {
		return nil
	}
	switch s.opt.Sandbox.Network {
	case policy.NetworkHost:
	case policy.NetworkAllow:
		rules, err := allow.Parse(s.opt.Sandbox.Allow)
		if err != nil {
			return err
		}
		s.proxy = netproxy.New(rules, func(a netproxy.Attempt) {
			if !a.Allowed {
				s.opt.Log.Warn("an HTTP request of a client was refused by the sandbox", "host", a.Host, "port", a.Port, "reason", a.Reason)
			}
		})
		if s.opt.NoPrivateHTTP {
			connect := s.proxy.Dial
			s.proxy.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				if class := allow.Class(addr.Addr()); class != "" {
					return nil, fmt.Errorf("%s is not a public address (%s)", addr.Addr(), class)
				}
				return connect(ctx, addr)
			}
		}
		s.dial = func(ctx context.Context, host string, port uint16) (net.Conn, error) {
			c, err := s.proxy.Connect(ctx, host, port)
			var no *netproxy.RefusedError
			if errors.As(err, &no) {
				return nil, wire.InvalidRequest("http/request refused by the sandbox of this server: %s", no)
			}
			return c, err
		}
	default:
		s.dial = func(context.Context, string, uint16) (net.Conn, error) {
			return nil, wire.InvalidRequest("http/request refused by the sandbox of this server: it has no network")
		}
	}
	return nil
}

func (c *conn) httpRequest(q *wire.HTTPRequestParams, r reply) {
	// Requests take their ids in the order in which they came.
	one, bad := c.fetcher().Begin(c.ctx, *q)
	if bad != nil {
		r.fail(bad)
		return
	}
	if waits, ok := r.park(); ok {
		r = waits
	}
	c.handlers.Go(func() {
		res, body, err := one.Do()
		r.either(&res, err)
		if body != nil {
			body.Run(func(d *wire.HTTPBodyDelta) error { return c.stream(wire.AppendBodyDelta(nil, d)) })
		}
	})
}

func (c *conn) httpCancel(q *wire.HTTPCancelParams, r reply) {
	r.result(&wire.HTTPCancelResult{Cancelled: c.fetcher().Cancel(q.RequestID)})
}

// stream queues one of many notifications. It blocks while the client is too far
// behind.
func (c *conn) stream(b []byte) error {
	c.mu.Lock()
	for !c.over && c.waiting >= queueBytes {
		c.admit.Wait()
	}
	over := c.over
	c.mu.Unlock()
	if over {
		return errEnd
	}
	c.respond(b)
	return nil
}

package server

import (
	"github.com/hostsup/hostsup/execserver/server/fetch"
	"github.com/hostsup/hostsup/execserver/wire"
)

func (c *conn) fetcher() *fetch.Client {
	if c.fetch == nil {
		c.fetch = fetch.New(fetch.Options{RefusePrivate: c.srv.opt.NoPrivateHTTP})
	}
	return c.fetch
}

func (c *conn) httpRequest(q *wire.HTTPRequestParams, r reply) {
	// Requests take their ids in the order in which they came.
	one, bad := c.fetcher().Begin(c.ctx, *q)
	if bad != nil {
		r.fail(bad)
		return
	}
	c.spawn(func() {
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

// stream queues a notification that is one of many, and waits before that while
// the client is too far behind.
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

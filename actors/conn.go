package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/link"
)

// conn is the connection of one life: the link to the host, and what the tree makes
// of what is told on it (it is the link's [link.Owner]). Callers send over it without
// a mailbox in between. All of it is safe for concurrent use.
type conn struct {
	*link.Conn
	ref  *Ref
	spec *config // of the life
	life uint64
	line Line // to this connection

	// Who is told; nil before [Connection] opens the link.
	root         *actor.RootContext
	self, parent *actor.PID
}

func newConn(ref *Ref, life uint64, session codec.Session, w link.Wire) *conn {
	c := &conn{ref: ref, spec: ref.spec(), life: life}
	c.line.c = c
	c.Conn = link.New(link.Options{
		Session: session, Wire: w, Owner: c, Env: ref.world.env(), FirstID: 2, // id 1 is the handshake's
		Bounds: link.PeerBounds, Collect: link.Limit, Serving: &ref.world.serving,
	})
	return c
}

// send hands a request to the link, after what was sent before it. While the outbox
// holds limit bytes or more, send waits until ctx ends or the request has an outcome.
// link.ErrClosed means that the request was not sent and may be sent elsewhere.
func (c *conn) send(ctx context.Context, q *Request, limit int) error {
	if !q.spec.speaks(c.spec) {
		return c.ref.outdated()
	}
	before := q.life.Swap(c.life)
	if list := c.ref.chain.Load().write; len(list) > 0 {
		m := &codec.Message{Kind: codec.Request, Method: q.Method, Params: q.Params}
		for _, f := range list {
			f(&c.line, m, link.NoLimit)
		}
	}
	err := c.Send(ctx, &q.Pending, limit)
	switch {
	case err == nil: // NOTE: q may be on its way to the next life by now
		return nil
	case errors.Is(err, link.ErrMoved):
		q.moveOn()
		return nil
	case errors.Is(err, link.ErrClosed):
		q.life.Store(before)
	}
	return err
}

// sendNow is send for actors, which must not wait: it goes over the outbox's
// limit instead.
func (c *conn) sendNow(q *Request) error { return c.send(context.Background(), q, link.NoLimit) }

// internal sends a request of the supervisor's own.
func (c *conn) internal(method string) *link.Pending {
	p := new(link.Pending)
	p.Init(nil, nil, method, nil)
	p.Internal = true
	if err := c.Send(context.Background(), p, link.NoLimit); err != nil {
		p.Settle(nil, err)
	}
	return p
}

// say hands a notification to the connection, unless an interceptor does. space says
// when to try again after link.ErrFull.
func (c *conn) say(m *codec.Message, limit int) (space <-chan struct{}, err error) {
	for _, f := range c.ref.chain.Load().write {
		v := f(&c.line, m, limit)
		switch {
		case v.Hold != nil:
			return v.Hold, link.ErrFull
		case v.Err != nil, v.Taken:
			return nil, v.Err
		case v.Message != nil:
			m = v.Message
		}
	}
	return c.Put(m, limit)
}

// cutOff ends the requests that were not answered in time; the host is told.
func (c *conn) cutOff(after time.Duration) {
	for _, p := range c.CutOff() {
		p.Cancel(&HostError{Host: c.ref.spec().Name, Life: c.life, Err: ErrCutOff, Reason: fmt.Sprintf("not answered within %s of the stop", after)})
	}
}

// leaving tells the interceptors that the life is about to be asked to end.
func (c *conn) leaving() {
	for _, i := range c.ref.chain.Load().list {
		if i.Leaving != nil {
			i.Leaving(&c.line)
		}
	}
}

// Opened implements [link.Owner].
func (c *conn) Opened(p codec.Peer) { c.tell(c.self, &handshakeDone{p}) }

// Ended implements [link.Owner].
func (c *conn) Ended(err error) { c.tell(c.parent, &connEnded{life: c.life, err: err}) }

// Broke implements [link.Owner].
func (c *conn) Broke(error) { c.tell(c.parent, &hostDeaf{}) }

// Sign implements [link.Owner].
func (c *conn) Sign() { c.tell(c.self, &signOfLife{}) }

// Replied implements [link.Owner].
func (c *conn) Replied(p *link.Pending) { c.tell(c.self, &internalReply{p}) }

func (c *conn) tell(to *actor.PID, message any) {
	if to != nil {
		safeactor.Tell(c.root, to, message)
	}
}

// Noise implements [link.Owner].
func (c *conn) Noise(line []byte) { c.ref.noise(c.life, line) }

// Pace implements [link.Owner].
func (c *conn) Pace(ctx context.Context) {
	for _, f := range c.ref.chain.Load().reading {
		if hold := f(); hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
			}
		}
	}
}

// Sent implements [link.Owner].
func (c *conn) Sent(p *link.Pending, m *codec.Message, again bool) {
	if p.Internal {
		return
	}
	for _, f := range c.ref.chain.Load().sent {
		f(c.life, m, again)
	}
}

// Answered implements [link.Owner].
func (c *conn) Answered(id uint32, p *link.Pending, since, now int64) {
	if p != nil && p.Internal {
		return
	}
	took := time.Duration(-1)
	if p != nil && since != 0 {
		took = time.Duration(now - since)
	}
	for _, f := range c.ref.chain.Load().answered {
		f(c.life, id, took)
	}
}

// Notified implements [link.Owner].
func (c *conn) Notified(m *codec.Message) {
	for _, f := range c.ref.chain.Load().inbound {
		v := f(c.life, m)
		if v.Err != nil || v.Taken {
			return
		}
		if v.Message != nil {
			m = v.Message
		}
	}
}

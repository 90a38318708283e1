package link

import (
	"context"
	"errors"

	"github.com/hostsup/hostsup/codec"
)

// Put puts a message that is no request into the outbox, unless that holds limit bytes
// or more: then the error is ErrFull, and space is closed when it is worth to try again.
func (c *Conn) Put(m *codec.Message, limit int) (space <-chan struct{}, err error) {
	return c.out.put(m, byLoop, limit)
}

// Tell puts a message that is no request into the outbox, and waits for room there until
// ctx ends; then it returns the cause. A message of the read loop, inTurn, leaves at the
// end of the turn.
func (c *Conn) Tell(ctx context.Context, m *codec.Message, inTurn bool) error {
	w := byLoop
	if inTurn {
		w = held
	}
	for {
		space, err := c.out.put(m, w, c.limit)
		if !errors.Is(err, ErrFull) {
			return err
		}
		if inTurn {
			c.out.letGo() // NOTE: an owner may have handed the turn's context to another goroutine
		}
		select {
		case <-space:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Flush waits until all that was put before is written, or cannot be any more, or ctx
// ends.
func (c *Conn) Flush(ctx context.Context) {
	flushed := c.out.flushed()
	if flushed == nil {
		return
	}
	select {
	case <-flushed:
	case <-ctx.Done():
	}
}

// Room returns nil if Put would accept a message, else what Put would return.
func (c *Conn) Room(limit int) (space <-chan struct{}, err error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.room(limit)
}

// Post puts a small message of the link's own into the outbox, and never waits. An
// outbox that is full means that the peer does not read. Cancels and credit may exceed
// the limit by as much again, since the peer may read again; answers to the peer are
// dropped. What exceeds that is dropped, too.
func (c *Conn) Post(m *codec.Message) { c.post(m, byLoop) }

// post is Post with a choice of who writes. What the read loop answers is held: it
// leaves in one write before the loop reads more, or with a write of another sender.
func (c *Conn) post(m *codec.Message, w when) {
	limit := 2 * Limit
	if m.Kind == codec.Response {
		limit = c.limit
	}
	// An error is the end of the connection, which the read loop reports.
	_, _ = c.out.put(m, w, limit)
}

// IsFull reports whether the outbox holds [Limit] bytes or more.
func (c *Conn) IsFull() bool { return c.out.full() }

// IsBroken reports whether nothing can be written any more.
func (c *Conn) IsBroken() bool { return c.out.broken() }

package sdk

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/hostsup/hostsup/codec"
)

// note is one notification on its way to its handler.
type note struct {
	method string
	fn     noteHandler
	params codec.Raw
	trace  codec.Trace
}

// notify hands a notification to the goroutine of deliver.
func (c *conn) notify(m *codec.Message) error {
	fn := c.srv.noteHandler(m.Method)
	if fn == nil {
		return nil
	}
	c.mu.Lock()
	refusing := c.refusing
	if !refusing {
		c.busy++
	}
	c.mu.Unlock()
	if refusing {
		return nil
	}
	n := note{method: m.Method, fn: fn, params: m.Params, trace: m.Trace}
	select {
	case c.notes <- n:
		return nil
	default:
	}
	if err := c.endTurn(); err != nil { // the loop is about to wait
		return err
	}
	select {
	case c.notes <- n:
	case <-c.ctx.Done():
		c.doneOne()
	}
	return nil
}

// deliver calls the handlers of notifications, in order, until the receive
// loop has ended.
func (c *conn) deliver() {
	returned := false
	defer func() {
		if !returned { // a handler has ended this goroutine
			c.doneOne()
			c.helpers.Go(c.deliver)
		}
	}()
	for n := range c.notes {
		if c.ctx.Err() == nil {
			c.handleNote(n)
		}
		c.doneOne()
	}
	returned = true
}

func (c *conn) handleNote(n note) {
	defer func() {
		if v := recover(); v != nil {
			c.opt.log.Error("notification handler panicked", "method", n.method, "panic", v, slog.String("stack", string(debug.Stack())))
		}
	}()
	if err := n.fn(&handling{Context: c.ctx, trace: n.trace}, n.params); err != nil {
		c.opt.log.Error("notification handler failed", "method", n.method, "error", err)
	}
}

func (c *conn) doneOne() {
	c.mu.Lock()
	c.doneLocked()
	c.mu.Unlock()
}

// Notify sends a notification to the supervisor. It waits for the handshake
// and for room to send, as long as ctx allows, and returns when the message is
// on its way, not when it has arrived.
func (s *Server) Notify(ctx context.Context, method string, in any) error {
	params, err := s.enc.Marshal(in)
	if err != nil {
		return err
	}
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	m := &codec.Message{Kind: codec.Notification, Method: method, Params: params, Trace: TraceFrom(ctx)}
	if h := handlingOf(ctx); h == nil || !h.inline {
		return c.w.send(ctx, m)
	}
	// An inline handler: what it sends leaves with its turn's answers.
	if err := c.w.lock(ctx); err != nil {
		return err
	}
	defer c.w.mu.Unlock()
	return c.w.addLocked(m)
}

package sdk

import (
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

// Notified implements [link.Owner]: it hands a notification to the goroutine of deliver.
func (c *conn) Notified(m *codec.Message) {
	fn := c.srv.noteHandler(m.Method)
	if fn == nil || c.refusing.Load() {
		return
	}
	c.busy.Add(1)
	n := note{method: m.Method, fn: fn, params: m.Params, trace: m.Trace}
	select {
	case c.notes <- n:
		return
	default:
	}
	c.EndTurn() // the loop is about to wait
	select {
	case c.notes <- n:
	case <-c.ctx.Done():
		c.busy.Done()
	}
}

// deliver calls the handlers of notifications, in order, until the receive
// loop has ended.
func (c *conn) deliver() {
	returned := false
	defer func() {
		if !returned { // a handler has ended this goroutine
			c.busy.Done()
			c.helpers.Go(c.deliver)
		}
	}()
	for n := range c.notes {
		if c.ctx.Err() == nil {
			c.handleNote(n)
		}
		c.busy.Done()
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

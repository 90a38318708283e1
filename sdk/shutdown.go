package sdk

import (
	"context"
	"slices"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// settleWait is how long those whose contexts have ended get to return, and
// how long the last bytes get to leave.
const settleWait = 500 * time.Millisecond

// goodbye takes a shutdown request. It is answered when the drain is over.
func (c *conn) goodbye() (*codec.Message, link.Handler) {
	c.parting.Store(true)
	select {
	case <-c.over:
		return c.replyWith(nil, nil), nil
	default:
	}
	c.startDrain()
	return nil, goodbye{c}
}

type goodbye struct{ *conn }

// Urgent implements [link.Urgent].
func (goodbye) Urgent() {}

// Serve implements [link.Handler].
func (g goodbye) Serve(*link.Incoming) (codec.Raw, *codec.Error) {
	g.busy.stepAside() // the drain waits for all others
	<-g.over
	return nil, nil
}

// startDrain begins the end of the connection, once.
func (c *conn) startDrain() {
	c.drainOnce.Do(func() {
		c.refusing.Store(true)
		close(c.srv.stopping)
		c.helpers.Go(c.drain)
	})
}

// drain waits for the handlers, ends the contexts of those that take too long,
// runs the hooks, and answers the goodbyes.
func (c *conn) drain() {
	defer close(c.drained)
	if c.busy.idle(c.opt.drain, c.ctx.Done()) > 0 {
		wait := settleWait
		if c.ctx.Err() != nil { // the peer is gone: they have had no time yet
			wait = max(wait, c.opt.drain)
		}
		c.cancel(ErrShuttingDown)
		c.busy.idle(wait, nil)
	}
	c.settle() // the answers of handlers leave before a hook can end the process
	c.runHooks()
	c.busy.recall()
	close(c.over)
	c.busy.idle(settleWait, c.ctx.Done()) // for the answers to goodbyes
}

// runHooks runs the functions of OnShutdown, and leaves them behind when they
// outlast their time.
func (c *conn) runHooks() {
	c.srv.mu.Lock()
	hooks := slices.Clone(c.srv.hooks)
	if len(c.srv.extensions) > 0 {
		hooks = append(hooks, c.srv.deactivateAll) // before all others
	}
	c.srv.mu.Unlock()
	if len(hooks) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), c.opt.drain)
	c.busy.Add(1) // one left behind is noticed by Serve
	done := make(chan struct{})
	go func() {
		defer stop()
		defer c.busy.Done()
		defer close(done)
		for _, fn := range slices.Backward(hooks) {
			if err := protected(func() error { return fn(ctx) }); err != nil {
				c.opt.log.Error("shutdown function failed", "error", err)
			}
		}
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(settleWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

package sdk

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// settleWait is how long those whose contexts have ended get to return, and
// how long the last bytes get to leave.
const settleWait = 500 * time.Millisecond

// goodbye takes a shutdown request. It is answered when the drain is over.
func (c *conn) goodbye(id uint32) error {
	r := &request{handling: handling{id: id}}
	c.mu.Lock()
	c.parting = true
	over := c.over
	if !over {
		c.goodbyes = append(c.goodbyes, r)
	}
	c.mu.Unlock()
	if over {
		return c.answer(id, nil, nil)
	}
	c.turn = append(c.turn, r) // acknowledged like any other
	c.startDrain()
	return nil
}

// startDrain begins the end of the connection, once.
func (c *conn) startDrain() {
	c.drainOnce.Do(func() {
		c.mu.Lock()
		c.refusing = true
		c.mu.Unlock()
		close(c.srv.stopping)
		c.helpers.Go(c.drain)
	})
}

// drain waits for the handlers, ends the contexts of those that take too long,
// runs the hooks, and answers the goodbyes.
func (c *conn) drain() {
	defer close(c.drained)
	if !c.idle(c.opt.drain, c.ctx.Done()) {
		wait := settleWait
		if c.ctx.Err() != nil { // the peer is gone: they have had no time yet
			wait = max(wait, c.opt.drain)
		}
		c.cancel(ErrShuttingDown)
		c.idle(wait, nil)
	}
	c.settle() // the answers of handlers leave before a hook can end the process
	c.runHooks()
	c.mu.Lock()
	c.over = true
	goodbyes := c.goodbyes
	c.mu.Unlock()
	if len(goodbyes) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), settleWait)
	defer stop()
	if c.w.lock(ctx) != nil {
		return // the peer does not read
	}
	for _, r := range goodbyes {
		r.answered = true
		c.respondLocked(r.id, nil, nil)
	}
	c.w.mu.Unlock()
	c.w.poke()
}

// idle waits until nothing is running. It gives up after d or when abort is
// closed, and says which it was.
func (c *conn) idle(d time.Duration, abort <-chan struct{}) bool {
	c.mu.Lock()
	if c.busy == 0 {
		c.mu.Unlock()
		return true
	}
	if c.quiet == nil {
		c.quiet = make(chan struct{})
	}
	quiet := c.quiet
	c.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-quiet:
		return true
	case <-timer.C:
		return false
	case <-abort:
		return false
	}
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
	c.mu.Lock()
	c.busy++ // one left behind is noticed by Serve
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer stop()
		defer c.doneOne()
		defer close(done)
		for _, fn := range slices.Backward(hooks) {
			if err := runHook(ctx, fn); err != nil {
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

func runHook(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &codec.Error{Name: codec.NamePanic, Message: fmt.Sprint(v), Stack: string(debug.Stack())}
		}
	}()
	return fn(ctx)
}

package extension

import (
	"context"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// request is one request of the supervisor on a goroutine of its own, or
// waiting for one.
type request struct {
	handling
	c      *conn
	h      *handler
	params codec.Raw
	cancel context.CancelCauseFunc
	stream *stream // when the handler sends items

	started   bool // guarded by conn.mu
	cancelled bool // guarded by conn.mu
	answered  bool // guarded by writer.mu
}

// invoke runs a handler that answers with one value. Panics become errors.
func (h *handler) invoke(ctx context.Context, params codec.Raw) (result codec.Raw, failure *codec.Error) {
	defer func() {
		if v := recover(); v != nil {
			result, failure = nil, panicked(v)
		}
	}()
	result, err := h.call(ctx, params)
	if err != nil {
		return nil, answerOf(err)
	}
	return result, nil
}

// dispatch hands a request to a goroutine, or lets it wait for one.
func (c *conn) dispatch(h *handler, m *codec.Message) error {
	ctx, cancel := context.WithCancelCause(c.ctx)
	r := &request{
		handling: handling{Context: ctx, id: m.ID, trace: m.Trace},
		c:        c, h: h, params: m.Params, cancel: cancel,
	}
	if h.stream != nil {
		r.stream = newStream(r, time.Now())
	}
	c.hold()
	c.mu.Lock()
	c.open[m.ID] = r
	c.busy++
	start := c.running < c.opt.concurrent
	if start {
		r.started = true
		c.running++
		c.yield = c.running <= fewRunning
	} else {
		c.waiting = append(c.waiting, r)
	}
	c.mu.Unlock()
	c.turn = append(c.turn, r)
	if start {
		go c.work(r)
	}
	return nil
}

// work handles r, and after it those that wait.
func (c *conn) work(r *request) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// The handler has ended this goroutine (runtime.Goexit).
		if next := c.next(); next != nil {
			go c.work(next)
		}
	}()
	for r != nil {
		r.run()
		r = c.next()
	}
	returned = true
}

// next counts one request as done and returns one that waits, if any.
func (c *conn) next() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doneLocked()
	for len(c.waiting) > 0 {
		r := c.waiting[0]
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		if !r.cancelled { // those are answered
			r.started = true
			return r
		}
	}
	c.running--
	return nil
}

// run calls the handler and answers, whatever the handler does.
func (r *request) run() {
	var result codec.Raw
	failure := &codec.Error{Name: codec.NamePanic, Message: "the handler ended its goroutine"}
	defer func() {
		r.finish(result, failure)
		_ = r.c.w.flush() // the receive loop sees the end of the stream too
	}()
	switch {
	case r.Err() != nil: // the time for draining is over
		failure = shuttingDown()
	case r.stream != nil:
		result, failure = r.stream.invoke()
	default:
		result, failure = r.h.invoke(r, r.params)
	}
}

// finish answers a request and forgets it. It does not write.
func (r *request) finish(result codec.Raw, failure *codec.Error) {
	r.cancel(nil)
	c := r.c
	c.mu.Lock()
	delete(c.open, r.id)
	if r.cancelled {
		result, failure = nil, cancelled()
	}
	c.mu.Unlock()
	if c.w.lock(context.Background()) != nil {
		return // the connection is over: nobody is there to hear it
	}
	r.answered = true
	c.respondLocked(r.id, result, failure)
	c.w.mu.Unlock()
}

// withdraw takes a cancellation of an open request.
func (c *conn) withdraw(r *request) {
	c.mu.Lock()
	again, started := r.cancelled, r.started
	r.cancelled = true
	c.mu.Unlock()
	if again {
		return
	}
	r.cancel(ErrCancelled)
	if started {
		return // its handler answers
	}
	r.finish(nil, nil)
	c.mu.Lock()
	c.doneLocked()
	c.mu.Unlock()
}

// doneLocked counts one thing less to wait for.
func (c *conn) doneLocked() {
	c.busy--
	if c.busy == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

package sdk

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

// maxIdlers is how many workers are kept for later requests.
const maxIdlers = 64

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
	start := c.running < c.opt.concurrent || h.control
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
		c.begin(r)
	}
	return nil
}

// begin gives r to an idle worker, the last one that became idle, or to a new
// one. A worker that is used again has its stack already.
func (c *conn) begin(r *request) {
	c.mu.Lock()
	n := len(c.idlers)
	if n == 0 {
		c.mu.Unlock()
		c.helpers.Go(func() { c.work(r) })
		return
	}
	idler := c.idlers[n-1]
	c.idlers = c.idlers[:n-1]
	c.mu.Unlock()
	idler <- r
}

// work handles r, and after it those that wait or that begin gives it.
func (c *conn) work(r *request) {
	var mine chan *request
	returned := false
	defer func() {
		if returned {
			return
		}
		// The handler has ended this goroutine (runtime.Goexit).
		if next, _ := c.next(nil); next != nil {
			c.helpers.Go(func() { c.work(next) })
		}
	}()
	for r != nil {
		r.run()
		if mine == nil {
			mine = make(chan *request, 1)
		}
		var idle bool
		if r, idle = c.next(mine); idle {
			r = <-mine // nil at the end of the connection
		}
	}
	returned = true
}

// next counts one request as done and returns one that waits, if any. Else the
// worker behind the channel is idle, unless there are enough of them.
func (c *conn) next(worker chan *request) (r *request, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doneLocked()
	for len(c.waiting) > 0 && c.running <= c.opt.concurrent { // more than that were the protocol's own
		r := c.waiting[0]
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		if !r.cancelled { // those are answered
			r.started = true
			return r, false
		}
	}
	c.running--
	if worker == nil || c.retired || len(c.idlers) >= maxIdlers {
		return nil, false
	}
	c.idlers = append(c.idlers, worker)
	return nil, true
}

// retire ends the idle workers, and from now on those that become idle.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	for _, idler := range c.idlers {
		close(idler)
	}
	c.idlers = nil
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

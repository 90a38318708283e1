package actors

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// Request is one pending request: an actor with its own PID, a deadline and
// exactly one outcome. It is a lean actor.Process instead of a mailbox with a
// goroutine (docs/decisions has the figures): what is sent to its PID is
// handled on the sender's goroutine, and all it can understand is an outcome,
// [CancelRequest], being watched and being stopped. Its parent is
// the connection it was written to or, while it waits for one, its host; a
// parent that ends stops its requests, and a stopped request answers its
// caller.
type Request struct {
	ref     *Ref
	method  string
	params  codec.Raw
	trace   codec.Trace
	message codec.Message // as it is written; here so that sending sets no memory aside

	pid        *actor.PID // once register has been done
	register   sync.Once
	registered atomic.Bool

	entry      pending.Entry // its part of the connection's table
	idempotent bool
	patient    bool // it waits for the next life where it found none
	resent     bool // it went to a life that crashed and may not be sent a third time
	listed     bool // in ref.deadlines, where older and younger are its neighbors
	settled    atomic.Bool

	life       atomic.Uint64 // the life it was written to last
	conn       atomic.Pointer[conn]
	progressed atomic.Int64 // when the host last said that it works on it
	timer      *time.Timer
	deadline   time.Duration
	due        int64 // when it ends at the latest, unless 0 or of a stream
	older      *Request
	younger    *Request
	idle       time.Duration // the deadline is put off by this at every item or sign of progress
	stream     *stream
	replyTo    *actor.PID // an actor that gets a *Result
	replyID    any

	// Valid once done is closed.
	done   chan struct{}
	result codec.Raw
	err    error
}

// CancelRequest, sent to the PID of a Request, cancels it: the caller gets
// ErrCancelled at once, the host is told.
type CancelRequest struct{}

// Result is the outcome of a [Call] that an actor made.
type Result struct {
	ID    any       // the ID of the Call
	Value codec.Raw // in the encoding of the host's protocol
	Err   error     // nil, a *codec.Error, *HostError or *CallError
}

// requestSeq makes the names of requests unique within the program.
var requestSeq atomic.Uint64

// newRequest makes a request. Its deadline does not run before arm.
func newRequest(ref *Ref, method string, params codec.Raw) *Request {
	q := &Request{ref: ref, method: method, params: params, done: make(chan struct{})}
	q.entry.Owner = q
	return q
}

// address returns the PID, under which the request is registered from the
// first time on that somebody asks: nobody can send to an address that was
// never given out, and most requests are over before anybody would. The
// registry's buckets are spread over megabytes; going there twice for every
// call costs more than all the rest of a request (see docs/decisions).
func (q *Request) address() *actor.PID {
	q.register.Do(func() {
		registry := q.ref.world.System.ProcessRegistry
		q.pid, _ = registry.Add(q, q.ref.requestPrefix+strconv.FormatUint(requestSeq.Add(1), 36))
		q.registered.Store(true)
		if q.settled.Load() {
			registry.Remove(q.pid)
		}
	})
	return q.pid
}

// leave takes an idempotent request from a life that has ended. false: whoever
// is still writing it takes it to the next life.
func (q *Request) leave(c *conn) bool {
	if !c.step(pending.Event{Op: pending.Leave, Entry: &q.entry}, 0).Do.Has(pending.Free) {
		return false
	}
	q.resent = true
	q.conn.Store(nil)
	return true
}

// moveOn is for the writer of a request whose life has ended meanwhile: it goes to
// the next life.
func (q *Request) moveOn() {
	q.resent = true
	q.conn.Store(nil)
	if !q.ref.hand(q) {
		q.settle(nil, q.ref.goneError())
	}
}

// arm lets the deadline run, once everything else about the request is set.
func (q *Request) arm() {
	if q.idle > 0 && q.stream == nil {
		now := monotonic()
		q.progressed.Store(now)
		first := q.idle
		if q.deadline > 0 {
			q.due, first = now+int64(q.deadline), min(first, q.deadline)
		}
		q.timer = time.AfterFunc(first, q.expire)
		return
	}
	if q.deadline == q.ref.deadlines.after && q.stream == nil {
		q.ref.deadlines.add(q)
	} else if q.deadline > 0 {
		q.timer = time.AfterFunc(q.deadline, q.expire)
	}
}

// expire is the deadline. It leaves the timer alone, which arm may not have
// put into its place yet.
func (q *Request) expire() {
	after := q.deadline
	if q.idle > 0 && q.stream == nil {
		// The timer may fire before arm has put it into its place, but not for
		// a second time.
		now := monotonic()
		left := q.idle - time.Duration(now-q.progressed.Load())
		if q.due != 0 {
			left = min(left, time.Duration(q.due-now))
		}
		if left > 0 {
			q.timer.Reset(left)
			return
		}
		if q.due == 0 || now < q.due {
			after = q.idle
		}
	}
	if q.stream != nil && q.idle > 0 {
		// Nothing of a stream happens before arm has returned.
		if left := q.idle - q.silence(); left > 0 {
			q.timer.Reset(left)
			return
		}
	}
	if q.finish(nil, &CallError{q.ref.spec.Name, q.method, ErrTimeout, "after " + after.String(), nil}) {
		q.tellHost()
	}
}

// asStream makes the result one that may come as items.
func (q *Request) asStream() {
	q.stream = newStream()
	q.entry.Items = &q.stream.link
}

// silence returns how long a stream has had no item that could have come.
func (q *Request) silence() time.Duration {
	if c := q.conn.Load(); c != nil {
		return c.silence(q)
	}
	return time.Duration(monotonic() - q.stream.began)
}

// settle gives the request its outcome. Only the first call does anything.
func (q *Request) settle(result codec.Raw, err error) bool {
	if !q.finish(result, err) {
		return false
	}
	switch {
	case q.timer != nil:
		q.timer.Stop()
	case q.deadline > 0:
		q.ref.deadlines.remove(q)
	}
	return true
}

func (q *Request) finish(result codec.Raw, err error) bool {
	if !q.settled.CompareAndSwap(false, true) {
		return false
	}
	q.result, q.err = result, err
	if q.registered.Load() {
		q.ref.world.System.ProcessRegistry.Remove(q.pid)
	}
	if !q.entry.Internal {
		q.ref.pending.Add(-1)
	}
	if q.stream != nil {
		q.stream.end()
	}
	close(q.done)
	if q.replyTo != nil {
		tell(q.ref.world.System.Root, q.replyTo, &Result{ID: q.replyID, Value: result, Err: err})
	}
	return true
}

// cancel settles the request for its caller's reason and tells the host.
func (q *Request) cancel(err error) {
	if q.settle(nil, err) {
		q.tellHost()
	}
}

// tellHost asks the host to stop working on a request whose caller is gone.
func (q *Request) tellHost() {
	if c := q.conn.Load(); c != nil {
		c.sendCancel(q)
	} else {
		q.ref.forget(q)
	}
}

// ctxError turns the end of a context into an outcome.
func (q *Request) ctxError(ctx context.Context) error {
	if ctx.Err() == context.DeadlineExceeded {
		return &CallError{q.ref.spec.Name, q.method, ErrTimeout, "at its context's deadline", nil}
	}
	return &CallError{q.ref.spec.Name, q.method, ErrCancelled, "", nil}
}

// wait returns the outcome, or cancels the request when ctx ends first.
func (q *Request) wait(ctx context.Context) (codec.Raw, error) {
	select {
	case <-q.done:
	case <-ctx.Done():
		q.cancel(q.ctxError(ctx))
		<-q.done
	}
	return q.result, q.err
}

// SendUserMessage implements actor.Process.
func (q *Request) SendUserMessage(_ *actor.PID, message any) {
	_, body, _ := actor.UnwrapEnvelope(message)
	switch m := body.(type) {
	case *CancelRequest:
		q.cancel(&CallError{q.ref.spec.Name, q.method, ErrCancelled, "", nil})
	case *actor.PoisonPill:
		q.Stop(nil)
	case *Result:
		q.settle(m.Value, m.Err)
	}
}

// SendSystemMessage implements actor.Process. A watcher is told when the
// request is over; a stop is an outcome.
func (q *Request) SendSystemMessage(_ *actor.PID, message any) {
	switch m := message.(type) {
	case *actor.Stop:
		q.Stop(nil)
	case *actor.Watch:
		// A request is over soon; watching costs one goroutine that ends with it.
		go func() {
			<-q.done
			if p, ok := q.ref.world.System.ProcessRegistry.Get(m.Watcher); ok {
				p.SendSystemMessage(m.Watcher, &actor.Terminated{Who: q.pid})
			}
		}()
	}
}

// Stop implements actor.Process: the caller is answered ErrStopped.
func (q *Request) Stop(*actor.PID) {
	q.cancel(&HostError{Host: q.ref.spec.Name, Life: q.life.Load(), Err: ErrStopped, Reason: "request was stopped"})
}

var _ actor.Process = (*Request)(nil)

package actors

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/link"
)

// Request is one pending request: an actor with its own PID, a deadline and
// exactly one outcome. It is a lean actor.Process instead of a mailbox with a
// goroutine (docs/decisions has the figures): what is sent to its PID is
// handled on the sender's goroutine, and all it can understand is an outcome,
// [CancelRequest], being watched and being stopped. The link keeps it in the table
// of the connection that it was written to; while it waits for one, its host does.
// Both answer their requests when they end.
type Request struct {
	link.Pending
	ref  *Ref
	spec *config // under which it was made

	pid        *actor.PID // once register has been done
	register   sync.Once
	registered atomic.Bool

	idempotent bool
	patient    bool          // it waits for the next life where it found none
	resent     bool          // it went to a life that crashed and may not be sent a third time
	life       atomic.Uint64 // the life it was written to last
	replyTo    *actor.PID    // an actor that gets a *Result
	replyID    any
	then       func(codec.Raw, error) // nil: nothing is called
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

// newRequest makes a request. Its deadline does not run before Arm.
func newRequest(ref *Ref, spec *config, method string, params codec.Raw) *Request {
	q := &Request{ref: ref, spec: spec}
	q.Init(q, spec.deadlines, method, params)
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
		if q.IsSettled() {
			registry.Remove(q.pid)
		}
	})
	return q.pid
}

// moveOn is for the writer of a request whose life has ended meanwhile: it goes to
// the next life.
func (q *Request) moveOn() {
	q.resent = true
	if !q.ref.hand(q) {
		q.Settle(nil, q.ref.goneError())
	}
}

// Settled implements [link.Caller].
func (q *Request) Settled(result codec.Raw, err error) {
	if q.registered.Load() {
		q.ref.world.System.ProcessRegistry.Remove(q.pid)
	}
	q.ref.pending.Add(-1)
	if q.replyTo != nil {
		safeactor.Tell(q.ref.world.System.Root, q.replyTo, &Result{ID: q.replyID, Value: result, Err: err})
	}
	if q.then != nil {
		q.then(result, err)
	}
}

// Withdrawn implements [link.Caller].
func (q *Request) Withdrawn() { q.ref.forget(q) }

// Reason implements [link.Caller].
func (q *Request) Reason(cause error) error { return q.ref.reason(q.Method, cause) }

// reason puts into the words of a call's outcome why it has no result.
func (r *Ref) reason(method string, cause error) error {
	e := &CallError{Host: r.spec().Name, Method: method, Err: ErrCancelled}
	var (
		own     *codec.Error
		timeout *link.TimeoutError
		owed    *link.OverloadError
	)
	switch {
	case errors.As(cause, &own): // "no such method" has a class of its own; all else is the host's
		own = r.world.redactor().Error(r.Encoding(), own)
		if own.Name != codec.NameMethodNotFound {
			return own
		}
		e.Err, e.Cause = ErrNoSuchMethod, own
	case errors.As(cause, &timeout):
		e.Err, e.Detail = ErrTimeout, "after "+timeout.After.String()
	case errors.As(cause, &owed):
		e.Err, e.Detail = ErrOverloaded, fmt.Sprintf("(host owes %d answers to callers that are gone)", owed.Owed)
	case errors.Is(cause, context.DeadlineExceeded):
		e.Err, e.Detail = ErrTimeout, "at its context's deadline"
	case errors.As(cause, new(*codec.FrameError)):
		return r.unsendable(method, cause)
	}
	return e
}

// SendUserMessage implements actor.Process.
func (q *Request) SendUserMessage(_ *actor.PID, message any) {
	_, body, _ := actor.UnwrapEnvelope(message)
	switch m := body.(type) {
	case *CancelRequest:
		q.Cancel(q.Reason(context.Canceled))
	case *actor.PoisonPill:
		q.Stop(nil)
	case *Result:
		q.Settle(m.Value, m.Err)
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
		q.ref.world.env().Go(func() {
			<-q.Done()
			if p, ok := q.ref.world.System.ProcessRegistry.Get(m.Watcher); ok {
				p.SendSystemMessage(m.Watcher, &actor.Terminated{Who: q.pid})
			}
		})
	}
}

// Stop implements actor.Process: the caller is answered ErrStopped.
func (q *Request) Stop(*actor.PID) {
	q.Cancel(&HostError{Host: q.ref.spec().Name, Life: q.life.Load(), Err: ErrStopped, Reason: "request was stopped"})
}

var _ actor.Process = (*Request)(nil)

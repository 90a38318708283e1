package link

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// Pending is a request to the peer: a promise with exactly one outcome and a deadline.
// A caller embeds it by value, calls Init, sets the exported fields it needs, calls Arm
// and passes it to [Conn.Send]. The exported fields must not be changed after Arm. The
// methods from Arm on are safe for concurrent use.
type Pending struct {
	Method string
	Params codec.Raw
	Trace  codec.Trace
	// Timeout bounds the time from Arm to the outcome. Of a request with AllowItems it
	// bounds the time in which the peer could send an item and does not. 0 means no
	// bound.
	Timeout time.Duration
	// Idle, if not 0, ends the request when the peer has sent no sign of progress for
	// so long.
	Idle time.Duration
	// Internal marks a request of the link's owner, such as a ping: it is sent also
	// while the connection drains, and [Owner.Replied] is called at its answer.
	Internal bool

	caller Caller
	list   *Deadlines
	entry  pending.Entry
	conn   atomic.Pointer[Conn] // the last one that accepted it
	sent   bool                 // it was sent before; guarded by the lock of the Conn that has it
	stream *stream

	progressed atomic.Int64 // when the last sign of progress came
	timer      Timer
	due        int64 // when it ends at the latest; 0 for none
	listed     bool  // it is in list, where older and younger are its neighbors
	older      *Pending
	younger    *Pending

	settled atomic.Bool
	done    chan struct{}
	// Valid once done is closed.
	result codec.Raw
	err    error
}

// Caller is the owner of a [Pending]. Its methods must not block.
type Caller interface {
	// Reason returns the error with which a request ends that has no result. cause is a
	// *[TimeoutError], the error of a context, an *[OverloadError], the *[codec.Error]
	// that the peer has answered, or a *[codec.FrameError] if the wire cannot carry the
	// request.
	Reason(cause error) error
	// Settled is called once, with the outcome, before Done is closed.
	Settled(result codec.Raw, err error)
	// Withdrawn is called after Settled if this side has ended the request while no
	// connection had it.
	Withdrawn()
}

// TimeoutError is why a request ended at its deadline.
type TimeoutError struct{ After time.Duration }

// Error returns "timed out after 5s".
func (e *TimeoutError) Error() string { return "timed out after " + e.After.String() }

// OverloadError refuses a request because the peer owes too many answers to requests
// that were cancelled.
type OverloadError struct{ Owed int }

// Error returns "the peer owes 16384 answers to callers that are gone".
func (e *OverloadError) Error() string {
	return fmt.Sprintf("the peer owes %d answers to callers that are gone", e.Owed)
}

// Init prepares p for one request. caller may be nil. list may be nil for a request
// without deadline and items.
func (p *Pending) Init(caller Caller, list *Deadlines, method string, params codec.Raw) {
	p.Method, p.Params, p.caller, p.list = method, params, caller, list
	p.done = make(chan struct{})
	p.entry.Owner = p
}

// AllowItems lets the peer send the result as items. It must be called before Arm.
func (p *Pending) AllowItems() {
	p.stream = newStream(p.list.env)
	p.entry.Items = &p.stream.credit
}

// Caller returns what Init was given.
func (p *Pending) Caller() Caller { return p.caller }

// ID returns the id of the request on the last connection that accepted it, or 0. It
// must not be called while the request may be on its way to another connection.
func (p *Pending) ID() uint32 { return p.entry.ID() }

// Done is closed when there is an outcome.
func (p *Pending) Done() <-chan struct{} { return p.done }

// IsSettled reports whether the outcome is decided; Done may not be closed yet.
func (p *Pending) IsSettled() bool { return p.settled.Load() }

// Outcome returns the outcome. It must not be called before Done is closed.
func (p *Pending) Outcome() (codec.Raw, error) { return p.result, p.err }

// Wait returns the outcome. It cancels the request when ctx ends first.
func (p *Pending) Wait(ctx context.Context) (codec.Raw, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Cancel(p.reason(ctx.Err()))
		<-p.done
	}
	return p.result, p.err
}

// reason returns what the caller makes of a cause.
func (p *Pending) reason(cause error) error {
	if p.caller == nil {
		return cause
	}
	return p.caller.Reason(cause)
}

// Arm starts the deadline.
func (p *Pending) Arm() {
	first := p.Timeout
	switch {
	case p.stream != nil:
	case p.Idle > 0:
		now := p.list.env.Now()
		p.progressed.Store(now)
		if first = p.Idle; p.Timeout > 0 {
			p.due, first = now+int64(p.Timeout), min(first, p.Timeout)
		}
	case p.Timeout > 0 && p.Timeout == p.list.after:
		p.list.add(p)
		return
	}
	if first > 0 {
		p.timer = p.list.env.AfterFunc(first, p.expire)
	}
}

// expire is the deadline. It leaves the timer alone, which Arm may not have put
// into its place yet, unless it fires for a second time.
func (p *Pending) expire() {
	after := p.Timeout
	if left, idle := p.left(); left > 0 {
		p.timer.Reset(left)
		return
	} else if idle {
		after = p.Idle
	}
	if p.finish(nil, p.reason(&TimeoutError{after})) {
		p.withdraw()
	}
}

// left returns how long the request may still take, and otherwise whether a lack of
// progress ends it.
func (p *Pending) left() (left time.Duration, idle bool) {
	switch {
	case p.stream != nil: // its timer is set: nothing comes before Arm has returned
		return p.Timeout - p.silence(), false
	case p.Idle > 0:
		now := p.list.env.Now()
		left = p.Idle - time.Duration(now-p.progressed.Load())
		if p.due != 0 {
			left = min(left, time.Duration(p.due-now))
		}
		return left, p.due == 0 || now < p.due
	}
	return 0, false
}

// silence returns for how long the peer could have sent an item and has not.
func (p *Pending) silence() time.Duration {
	now := p.list.env.Now()
	if c := p.conn.Load(); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return p.stream.credit.Silence(now)
	}
	return time.Duration(now - p.stream.began)
}

// Settle gives the request its outcome and returns true, unless it has one. The peer is
// not told; see [Pending.Cancel].
func (p *Pending) Settle(result codec.Raw, err error) bool {
	if !p.finish(result, err) {
		return false
	}
	switch {
	case p.timer != nil:
		p.timer.Stop()
	case p.Timeout > 0:
		p.list.remove(p)
	}
	return true
}

func (p *Pending) finish(result codec.Raw, err error) bool {
	if !p.settled.CompareAndSwap(false, true) {
		return false
	}
	p.result, p.err = result, err
	if p.caller != nil {
		p.caller.Settled(result, err)
	}
	if p.stream != nil {
		p.stream.end()
	}
	close(p.done)
	return true
}

// Cancel ends the request with err, unless it has an outcome, and tells the peer to stop
// working on it.
func (p *Pending) Cancel(err error) {
	if p.Settle(nil, err) {
		p.withdraw()
	}
}

// withdraw tells the connection, or else the caller, that this side ended the request.
func (p *Pending) withdraw() {
	if c := p.conn.Load(); c != nil {
		c.withdraw(p)
	} else if p.caller != nil {
		p.caller.Withdrawn()
	}
}

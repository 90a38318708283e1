package link

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// Pending is a request to the peer: a promise that has exactly one outcome, and a
// deadline. Whoever makes requests embeds it by value, calls Init, sets what else
// is exported, then Arm, and hands it to [Conn.Send]; the exported fields must not
// be changed afterwards. Its methods are safe for concurrent use.
type Pending struct {
	Method string
	Params codec.Raw
	Trace  codec.Trace
	// Timeout bounds the request from Arm on, and of one with a streamed result
	// each silence of the peer; 0: nothing does.
	Timeout time.Duration
	// Idle ends the request when the peer has not told for so long that it works on
	// it; 0: it need not tell.
	Idle time.Duration
	// Internal says that the request is the link's owner's own, a ping for example:
	// it is sent while the connection drains, and [Owner.Replied] is told of its end.
	Internal bool

	caller Caller
	list   *Deadlines
	entry  pending.Entry
	conn   atomic.Pointer[Conn] // that it was given to last
	sent   bool                 // it was written to some peer; under the lock of the connection that has it
	stream *stream

	progressed atomic.Int64 // when the peer last said that it works on it
	timer      Timer
	due        int64 // when it ends at the latest, unless 0 or of a stream
	listed     bool  // it is in list, where older and younger are its neighbors
	older      *Pending
	younger    *Pending

	settled atomic.Bool
	done    chan struct{}
	// Valid once done is closed.
	result codec.Raw
	err    error
}

// Caller is who has made a request. Its methods must not block.
type Caller interface {
	// Reason returns the outcome of a request that has no result: cause is a
	// *[TimeoutError], the error of a context, an *[OverloadError], the *[codec.Error]
	// that the peer has answered, or a *[codec.FrameError] when the wire cannot carry
	// the request.
	Reason(cause error) error
	// Settled is called once, with the outcome, before Done is closed.
	Settled(result codec.Raw, err error)
	// Withdrawn is called after Settled when this side has ended the request and no
	// connection has it.
	Withdrawn()
}

// TimeoutError is why a request ended at its deadline.
type TimeoutError struct{ After time.Duration }

// Error returns "timed out after 5s".
func (e *TimeoutError) Error() string { return "timed out after " + e.After.String() }

// OverloadError refuses a request because the peer owes too many answers to callers
// that have left.
type OverloadError struct{ Owed int }

// Error says how many they are.
func (e *OverloadError) Error() string {
	return fmt.Sprintf("the peer owes %d answers to callers that are gone", e.Owed)
}

// Init makes p ready for one request. caller may be nil; the list may be nil for a
// request without deadline and items.
func (p *Pending) Init(caller Caller, list *Deadlines, method string, params codec.Raw) {
	p.Method, p.Params, p.caller, p.list = method, params, caller, list
	p.done = make(chan struct{})
	p.entry.Owner = p
}

// Streamed says that the result may come as items. It must be called before Arm.
func (p *Pending) Streamed() {
	p.stream = newStream(p.list.env)
	p.entry.Items = &p.stream.credit
}

// Caller returns who has made the request.
func (p *Pending) Caller() Caller { return p.caller }

// ID returns the id that it has, or had last, on a connection; 0 before the first.
// NOTE: it must not be called while the request may be on its way to another one.
func (p *Pending) ID() uint32 { return p.entry.ID() }

// Done is closed when there is an outcome.
func (p *Pending) Done() <-chan struct{} { return p.done }

// IsSettled reports whether there is an outcome, or is about to be.
func (p *Pending) IsSettled() bool { return p.settled.Load() }

// Outcome returns the outcome. It must not be called before Done is closed.
func (p *Pending) Outcome() (codec.Raw, error) { return p.result, p.err }

// Wait returns the outcome; when ctx ends first it cancels the request.
func (p *Pending) Wait(ctx context.Context) (codec.Raw, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Cancel(p.reason(ctx.Err()))
		<-p.done
	}
	return p.result, p.err
}

// reason is what the caller makes of a cause.
func (p *Pending) reason(cause error) error {
	if p.caller == nil {
		return cause
	}
	return p.caller.Reason(cause)
}

// Arm lets the deadline run, once everything else about the request is set.
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

// left returns how long the request may still take as far as is known by now, and
// whether it is what the peer has not told that ends it.
func (p *Pending) left() (left time.Duration, idle bool) {
	switch {
	case p.stream != nil: // nothing of which happens before Arm has returned
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

// silence returns how long a stream has had no item that could have come.
func (p *Pending) silence() time.Duration {
	now := p.list.env.Now()
	if c := p.conn.Load(); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return p.stream.credit.Silence(now)
	}
	return time.Duration(now - p.stream.began)
}

// Settle gives the request its outcome. Only the first call does anything, and
// returns true. The peer is not told; [Pending.Cancel] does that.
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

// Cancel gives the request an outcome of this side's, and tells the peer to stop
// working on it.
func (p *Pending) Cancel(err error) {
	if p.Settle(nil, err) {
		p.withdraw()
	}
}

// withdraw follows an outcome that the peer has not given.
func (p *Pending) withdraw() {
	if c := p.conn.Load(); c != nil {
		c.withdraw(p)
	} else if p.caller != nil {
		p.caller.Withdrawn()
	}
}

package actors

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// CallOption changes one call.
type CallOption func(*callOptions)

type callOptions struct {
	idempotent bool
	patient    bool
	direct     bool // no interceptor is asked of it
	unbounded  bool // somebody else sees to the deadline
	timeout    time.Duration
	trace      codec.Trace
	then       func(codec.Raw, error)
}

// Idempotent allows the call to be sent again, at most once, to the next life
// when the host crashes before it has answered.
func Idempotent() CallOption { return func(o *callOptions) { o.idempotent = true } }

// Patient lets the call wait while the host is crashed or restarting, whatever
// the host's own rule for that is.
func Patient() CallOption { return func(o *callOptions) { o.patient = true } }

// Timeout bounds the call, in addition to its context. Without either, the
// host's own time-out holds.
// The shortest of several holds.
func Timeout(d time.Duration) CallOption {
	return func(o *callOptions) {
		if o.timeout <= 0 || d > 0 && d < o.timeout {
			o.timeout = d
		}
	}
}

// Trace sends W3C trace context along, when the host understands it.
func Trace(parent, state string) CallOption {
	return func(o *callOptions) { o.trace = codec.Trace{Parent: parent, State: state} }
}

// Then calls f once with the outcome of a call that [Ref.Go] has returned, before Done is
// closed. A result comes on the goroutine that reads from the host, which f must not block;
// f may use everything else. Where the outcome is an error, f may be called at any time, also
// before Go returns.
func Then(f func(result codec.Raw, err error)) CallOption {
	return func(o *callOptions) { o.then = f }
}

// Call asks the host for something and waits for the outcome. in is encoded by
// the host's protocol (nil, values, or a codec.Raw); the result is decoded into
// the pointer out, or discarded when out is nil; a *codec.Raw gets it as it is.
//
// Errors: the host's own answer is a *codec.Error; *HostError (ErrCrashed,
// ErrUnresponsive, ErrStopped, ErrFailed) tells that the host could not take
// or finish it; *CallError is ErrTimeout, ErrCancelled, ErrOverloaded,
// ErrNoSuchMethod, ErrNoProtocol, ErrReserved or ErrUnsendable; else in could not
// be encoded or the result not be decoded. Exactly one outcome is given, and never after ctx has ended.
func (r *Ref) Call(ctx context.Context, method string, in, out any, opts ...CallOption) error {
	q, err := r.open(ctx, method, in, false, opts)
	if err != nil {
		return err
	}
	return q.result(ctx, out)
}

// result waits for the outcome and decodes it.
func (q *Request) result(ctx context.Context, out any) error {
	raw, err := q.Wait(ctx)
	if err != nil {
		return err
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *codec.Raw:
		*out = raw
		return nil
	}
	return q.spec.Protocol.Unmarshal(raw, out)
}

// Stream asks for a streamed result and yields its items as they come, and then
// the result, unless it is nil: of a host without streams it is all there is. An
// error ends the sequence; leaving the loop cancels the call. The host is let
// send a bounded number of items ahead of the loop's body. The time-out bounds
// the silence between two items, not the whole stream.
func (r *Ref) Stream(ctx context.Context, method string, in any, opts ...CallOption) iter.Seq2[codec.Raw, error] {
	return func(yield func(codec.Raw, error) bool) {
		q, err := r.open(ctx, method, in, true, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		defer q.Cancel(q.Reason(context.Canceled))
		q.Items(ctx)(yield)
	}
}

// Pending is a call whose outcome is not waited for in place.
type Pending struct{ q *Request }

// Go is Call without waiting: the outcome is taken from the Pending. ctx is
// not watched after Go has returned; its deadline is. Go itself waits only for
// room to write to a host that does not read, as long as ctx allows.
func (r *Ref) Go(ctx context.Context, method string, in any, opts ...CallOption) (*Pending, error) {
	if d, ok := ctx.Deadline(); ok {
		opts = append([]CallOption{Timeout(d.Sub(r.world.now()))}, opts...)
	}
	q, err := r.open(ctx, method, in, false, opts)
	if err != nil {
		return nil, err
	}
	return &Pending{q}, nil
}

// PID is the address of the request's actor; stopping it, or sending it a
// *CancelRequest, ends the call.
func (p *Pending) PID() *actor.PID { return p.q.address() }

// Done is closed when there is an outcome.
func (p *Pending) Done() <-chan struct{} { return p.q.Done() }

// Result waits for the outcome and decodes it like Call.
func (p *Pending) Result(out any) error { return p.q.result(context.Background(), out) }

// Cancel ends the call; its outcome is ErrCancelled unless it had one.
func (p *Pending) Cancel() {
	p.q.Cancel(p.q.Reason(context.Canceled))
}

// open makes a request and gets it on its way.
func (r *Ref) open(ctx context.Context, method string, in any, streamed bool, opts []CallOption) (*Request, error) {
	if err := ctx.Err(); err != nil {
		return nil, r.reason(method, err)
	}
	_, bounded := ctx.Deadline()
	q, d, err := r.make(method, in, streamed, bounded, opts)
	if err != nil {
		return nil, err
	}
	q.Arm()
	if d != nil {
		r.world.env().Go(func() { r.follow(q, d) }) // ends with the request
	} else {
		r.route(ctx, q)
	}
	return q, nil
}

// make makes a request without arming or sending it. bounded tells that somebody else
// sees to its deadline. The detour is nil if the request goes to this host at once.
func (r *Ref) make(method string, in any, streamed, bounded bool, opts []CallOption) (*Request, *detour, error) {
	var o callOptions
	for _, opt := range opts {
		opt(&o)
	}
	spec := r.spec()
	if spec.Protocol == nil {
		return nil, nil, &CallError{spec.Name, method, ErrNoProtocol, "", nil}
	}
	params, err := spec.Protocol.Marshal(in)
	if err != nil {
		return nil, nil, err
	}
	if spec.can.Expand != nil {
		method, params = spec.can.Expand(method, params)
	}
	if err := r.reserved(method); err != nil {
		return nil, nil, err
	}
	if int(r.pending.Add(1)) > spec.Requests.MaxPending {
		r.pending.Add(-1)
		return nil, nil, &CallError{spec.Name, method, ErrOverloaded, "", nil}
	}
	var d *detour
	if !o.direct && len(r.chain.Load().outbound) > 0 {
		var m *codec.Message
		if m, d, err = r.divert(method, params); err != nil {
			r.pending.Add(-1)
			return nil, nil, err
		}
		method, params = m.Method, m.Params
	}
	deadline := o.timeout
	if deadline <= 0 && !bounded && !o.unbounded {
		deadline = spec.Requests.Timeout
	}
	q := newRequest(r, spec, method, params)
	q.Timeout, q.Trace = deadline, o.trace
	q.then = o.then
	q.patient, q.idempotent = o.patient, o.idempotent && !streamed
	if streamed {
		q.AllowItems()
	} else {
		q.Idle = spec.Requests.IdleTimeout
	}
	if d != nil {
		q.Idle = 0 // of its progress the other host tells
	}
	return q, d, nil
}

// callFor makes a call for an actor, which gets a *Result unless an error is
// returned.
func (r *Ref) callFor(sender *actor.PID, m *Call) error {
	opts := []CallOption{Timeout(m.Timeout)}
	if m.Idempotent {
		opts = append(opts, Idempotent())
	}
	q, d, err := r.make(m.Method, m.Params, false, m.Timeout > 0, opts)
	if err != nil {
		return err
	}
	q.replyTo, q.replyID = sender, m.ID
	q.Arm()
	// Writing may wait for a host that does not read, and the actor that asks
	// must not: that wait is the request's own.
	if d != nil {
		r.world.env().Go(func() { r.follow(q, d) }) // ends with the request
		return nil
	}
	if c := r.conn.Load(); c != nil && !c.IsFull() && c.sendNow(q) == nil {
		return nil
	}
	r.world.env().Go(func() { r.route(context.Background(), q) })
	return nil
}

// notifyNow is Notify for an actor: a host that does not read is not waited for.
func (r *Ref) notifyNow(method string, in any) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return r.Notify(ctx, method, in)
}

// route writes a request to the running life, waiting as send does, or leaves
// it to the host's actor.
func (r *Ref) route(ctx context.Context, q *Request) {
	if c := r.conn.Load(); c != nil {
		switch err := c.send(ctx, q, link.Limit); {
		case err == nil:
			return
		case errors.Is(err, link.ErrClosed):
		default:
			q.Settle(nil, err)
			return
		}
	}
	if !r.hand(q) {
		q.Settle(nil, r.goneError())
	}
}

// goneError is the outcome of a call to a host that is no more.
func (r *Ref) goneError() error {
	e := &HostError{Host: r.spec().Name, Err: errRemoved}
	if r.world.ending.Load() {
		e.Err = errEnded
	}
	return e
}

// forget tells the host's actor that a parked call has nobody waiting.
func (r *Ref) forget(q *Request) { safeactor.Tell(r.world.System.Root, r.pid, &forget{q}) }

// Notify tells the host something. It returns when the message is handed to
// the connection, or held back by a rule of [HostSpec].Throttle, not when the host
// has read it; a host that is not running gives a *HostError at once.
func (r *Ref) Notify(ctx context.Context, method string, in any) error {
	spec := r.spec()
	if spec.Protocol == nil {
		return &CallError{spec.Name, method, ErrNoProtocol, "", nil}
	}
	params, err := spec.Protocol.Marshal(in)
	if err != nil {
		return err
	}
	if spec.can.Expand != nil {
		method, params = spec.can.Expand(method, params)
	}
	if err := r.reserved(method); err != nil {
		return err
	}
	m := &codec.Message{Kind: codec.Notification, Method: method, Params: params}
	if list := r.chain.Load().outbound; len(list) > 0 {
		var v Verdict
		for m, v, list = r.outbound(list, m); v.Hold != nil; m, v, list = r.outbound(list, m) {
			select {
			case <-v.Hold:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		switch {
		case v.Err != nil, v.Taken:
			return v.Err
		case v.To != nil:
			return r.notifyElsewhere(&detour{m, v, nil})
		}
	}
	c := r.conn.Load()
	if c == nil {
		return r.downError()
	}
	if !spec.speaks(c.spec) {
		return r.outdated()
	}
	for {
		space, err := c.say(m, link.Limit)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, link.ErrFull):
			if c.IsBroken() {
				return r.downError()
			}
			return r.unsendable(method, err)
		}
		select {
		case <-space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Tell hands a notification to the running life, of which no interceptor's Outbound is
// asked. It does not wait: a host that does not read has it in its outbox, too.
func (r *Ref) Tell(method string, params codec.Raw) error {
	c := r.conn.Load()
	if c == nil {
		return r.downError()
	}
	return c.line.Tell(method, params)
}

// downError says why the host takes nothing now.
func (r *Ref) downError() error {
	if r.lasting.Err() != nil {
		return r.goneError()
	}
	s := r.snapshot()
	return r.downErrorIn(s.machine.State(), s.machine.Explanation(), s.lastExit)
}

// downErrorIn is downError for a state. When the whole tree is being stopped,
// that is why a host takes no calls.
func (r *Ref) downErrorIn(state lifecycle.State, reason string, last *record.ExitInfo) error {
	e := downError(r.spec().Name, state, reason, last)
	if e.Err == ErrStopped && r.world.ending.Load() { //nolint:errorlint // it is set just before
		e.Err = errEnded
	}
	return e
}

// downError puts a state in the words of a call's outcome.
func downError(host string, state lifecycle.State, reason string, last *record.ExitInfo) *HostError {
	e := &HostError{Host: host, Reason: reason}
	switch state {
	case lifecycle.Failed:
		e.Err = ErrFailed
	case lifecycle.Stopped:
		e.Err = ErrStopped
	case lifecycle.Stopping:
		e.Err, e.Reason = ErrStopped, "it is stopping, and takes no new calls"
		if reason != "" {
			e.Reason += ": " + reason
		}
	default:
		e.Err = ErrCrashed
		if last != nil {
			e.Reason, e.Exit = last.Reason, last.Status()
		}
	}
	return e
}

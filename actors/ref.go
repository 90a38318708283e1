package actors

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// Ref is the handle of one host over all its lives. Calls go through it
// without a mailbox in between as long as the host runs; when it does not, the
// host's actor decides what becomes of them. Safe for concurrent use.
type Ref struct {
	world *World
	spec  HostSpec
	group string
	gated bool // its group shares fate
	log   *capture.Log
	pid   *actor.PID                    // of the Host
	child atomic.Pointer[sandbox.Child] // started last, if it is confined or limited

	answers       *answers
	warden        *warden
	companion     atomic.Pointer[Companion]
	holdings      holdings // values of secrets
	feed          feed
	thin          *thinner      // of notifications to the host; nil: they are sent as they come
	noisy         atomic.Uint64 // the last life that printed such
	meter         meter
	noises        atomic.Uint64 // lines of text where messages belong, skipped
	requestPrefix string
	conn          atomic.Pointer[conn] // of the running life
	pending       atomic.Int32         // requests open or waiting
	inbox         inbox                // what the host's actor must answer
	deadlines     deadlines            // of requests with the host's own time-out

	mu   sync.Mutex
	snap snapshot
}

// snapshot is what the host's actor last said of itself.
type snapshot struct {
	state    lifecycle.State
	reason   string
	life     uint64
	pid      int // 0: no process
	restarts uint64
	machine  lifecycle.Host // for what depends on the time of asking
	since    time.Time
	liveness string
	lastExit *ExitInfo
	slow     bool
	retryAt  time.Time
}

func newRef(w *World, group string, spec HostSpec) *Ref {
	r := &Ref{world: w, spec: spec, group: group}
	r.log = capture.New(capture.Options{
		Dir: w.LogDir, Name: spec.Name, MaxSize: spec.Log.MaxSize, Files: spec.Log.Files, OnError: r.outputError,
		Redact: w.Redactor,
	})
	r.answers, r.warden = newAnswers(w, &r.spec), newWarden(spec.Guard)
	r.deadlines.after = spec.Requests.Timeout
	r.thin = newThinner(r)
	r.snap = snapshot{state: lifecycle.Stopped, since: time.Now(), liveness: "none"}
	return r
}

// outputError tells that the host's output cannot be written; the host goes on.
func (r *Ref) outputError(err error) {
	name, group := r.spec.Name, r.group
	r.world.Log.Named(name).Warn("output", "error", err)
	r.world.Journal.Write(Event{Kind: KindOutput, Host: &name, Group: &group, Reason: err.Error()})
}

// noise keeps a line that a host printed where messages belong. The first of
// each life is worth a remark.
func (r *Ref) noise(life uint64, line []byte) {
	r.noises.Add(1)
	line = r.world.Redactor.Bytes(line) // before it is cut
	r.log.Print(capture.Stdout, life, line)
	if r.noisy.Swap(life) != life {
		r.world.Log.Named(r.spec.Name).Warn("text on stdout where messages belong is skipped", "life", life, "text", string(line[:min(len(line), 200)]))
	}
}

// Name is the host's name.
func (r *Ref) Name() string { return r.spec.Name }

// Group is the name of its group.
func (r *Ref) Group() string { return r.group }

// Spec is what it was made from, with its defaults.
func (r *Ref) Spec() HostSpec { return r.spec }

// PID is the address of the host's actor.
func (r *Ref) PID() *actor.PID { return r.pid }

// Encoding is how payloads of this host are encoded, nil without a protocol.
func (r *Ref) Encoding() codec.Encoding {
	if r.spec.Protocol == nil {
		return nil
	}
	return r.spec.Protocol
}

// Life is the number of the current life, 0 before the first.
func (r *Ref) Life() uint64 { return r.snapshot().life }

func (r *Ref) snapshot() snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap
}

func (r *Ref) publish(s snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snap = s
}

// Status returns what there is to say of the host now. Memory and CPU time are
// read from the system at the call.
func (r *Ref) Status() HostStatus {
	s := r.snapshot()
	now := time.Now()
	out := HostStatus{
		Name: r.spec.Name, Group: r.group, Protocol: "none", State: s.state, Life: s.life,
		Restarts: s.restarts, CrashesInWindow: s.machine.CrashesInWindow(now), MaxCrashes: r.spec.Restart.MaxCrashes,
		Since: s.since, Pending: int(r.pending.Load()), Liveness: s.liveness, LastExit: s.lastExit,
		Sandbox: r.sandboxStatus(), Slow: s.slow, DependsOn: r.spec.Start.DependsOn, Noise: r.noises.Load(),
		Throttle: r.thin.status(),
	}
	r.meter.fill(&out)
	if r.spec.Protocol != nil {
		out.Protocol = r.spec.Protocol.Name()
	}
	if red := r.world.Redactor; red.Active() {
		s.reason = red.String(s.reason)
		out.Sandbox.Denials = redactDenials(red, out.Sandbox.Denials)
	}
	if out.DependsOn == nil {
		out.DependsOn = []string{}
	}
	if s.reason != "" {
		out.Reason = &s.reason
	}
	if !s.retryAt.IsZero() && s.state == lifecycle.Restarting {
		left := max(0, s.retryAt.Sub(now).Seconds())
		out.RetryInSeconds = &left
	}
	if s.pid != 0 {
		out.PID = &s.pid
		if rss, cpu, err := sys.ProcStat(s.pid); err == nil {
			seconds := cpu.Seconds()
			out.RSSBytes, out.CPUSeconds = &rss, &seconds
		}
	}
	return out
}

// CallOption changes one call.
type CallOption func(*callOptions)

type callOptions struct {
	idempotent bool
	patient    bool
	led        bool // it is for this host, which has been found out
	unbounded  bool // somebody else sees to the deadline
	timeout    time.Duration
	trace      codec.Trace
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

// Call asks the host for something and waits for the outcome. in is encoded by
// the host's protocol (nil, values, or a codec.Raw); the result is decoded into
// the pointer out, or discarded when out is nil; a *codec.Raw gets it as it is.
//
// Errors: the host's own answer is a *codec.Error; *HostError (ErrCrashed,
// ErrUnresponsive, ErrStopped, ErrFailed) tells that the host could not take
// or finish it; *CallError is ErrTimeout, ErrCancelled, ErrOverloaded,
// ErrNoSuchMethod or ErrNoProtocol; else in could not be encoded or the result
// not be decoded. Exactly one outcome is given, and never after ctx has ended.
func (r *Ref) Call(ctx context.Context, method string, in, out any, opts ...CallOption) error {
	q, err := r.open(ctx, method, in, false, opts)
	if err != nil {
		return err
	}
	raw, err := q.wait(ctx)
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
	return r.spec.Protocol.Unmarshal(raw, out)
}

// Pending is a call whose outcome is not waited for in place.
type Pending struct{ q *Request }

// Go is Call without waiting: the outcome is taken from the Pending. ctx is
// not watched after Go has returned; its deadline is. Go itself waits only for
// room to write to a host that does not read, as long as ctx allows.
func (r *Ref) Go(ctx context.Context, method string, in any, opts ...CallOption) (*Pending, error) {
	if d, ok := ctx.Deadline(); ok {
		opts = append([]CallOption{Timeout(time.Until(d))}, opts...)
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
func (p *Pending) Done() <-chan struct{} { return p.q.done }

// Result waits for the outcome and decodes it like Call.
func (p *Pending) Result(out any) error {
	<-p.q.done
	if p.q.err != nil || out == nil {
		return p.q.err
	}
	if raw, ok := out.(*codec.Raw); ok {
		*raw = p.q.result
		return nil
	}
	return p.q.ref.spec.Protocol.Unmarshal(p.q.result, out)
}

// Cancel ends the call; its outcome is ErrCancelled unless it had one.
func (p *Pending) Cancel() {
	p.q.cancel(&CallError{p.q.ref.spec.Name, p.q.method, ErrCancelled, "", nil})
}

// open makes a request and gets it on its way.
func (r *Ref) open(ctx context.Context, method string, in any, streamed bool, opts []CallOption) (*Request, error) {
	if err := ctx.Err(); err != nil {
		q := &Request{ref: r, method: method}
		return nil, q.ctxError(ctx)
	}
	_, bounded := ctx.Deadline()
	q, find, err := r.make(method, in, streamed, bounded, opts)
	if err != nil {
		return nil, err
	}
	q.arm()
	r.guide(ctx, q, find)
	return q, nil
}

// make makes a request without arming or sending it. bounded tells that somebody else
// sees to its deadline. The Finder is nil when the request is for this host.
func (r *Ref) make(method string, in any, streamed, bounded bool, opts []CallOption) (*Request, Finder, error) {
	var o callOptions
	for _, opt := range opts {
		opt(&o)
	}
	if r.spec.Protocol == nil {
		return nil, nil, &CallError{r.spec.Name, method, ErrNoProtocol, "", nil}
	}
	params, err := r.spec.Protocol.Marshal(in)
	if err != nil {
		return nil, nil, err
	}
	if p, ok := r.spec.Protocol.(codec.Shorthand); ok {
		method, params = p.Expand(method, params)
	}
	if int(r.pending.Add(1)) > r.spec.Requests.MaxPending {
		r.pending.Add(-1)
		return nil, nil, &CallError{r.spec.Name, method, ErrOverloaded, "", nil}
	}
	deadline := o.timeout
	if deadline <= 0 && !bounded && !o.unbounded {
		deadline = r.spec.Requests.Timeout
	}
	q := newRequest(r, method, params)
	q.deadline = deadline
	q.patient = o.patient
	q.idempotent, q.trace = o.idempotent && !streamed, o.trace
	if streamed {
		q.stream, q.idle = newStream(), deadline
	} else {
		q.idle = r.spec.Requests.IdleTimeout
	}
	if o.led {
		return q, nil, nil
	}
	find := r.elsewhere(method, params)
	if find != nil && !streamed {
		q.idle = 0 // of its progress the other host tells
	}
	return q, find, nil
}

// callFor makes a call for an actor, which gets a *Result unless an error is
// returned.
func (r *Ref) callFor(sender *actor.PID, m *Call) error {
	opts := []CallOption{Timeout(m.Timeout)}
	if m.Idempotent {
		opts = append(opts, Idempotent())
	}
	q, find, err := r.make(m.Method, m.Params, false, m.Timeout > 0, opts)
	if err != nil {
		return err
	}
	q.replyTo, q.replyID = sender, m.ID
	q.arm()
	// Writing may wait for a host that does not read, and the actor that asks
	// must not: that wait is the request's own.
	if find != nil {
		r.guide(context.Background(), q, find)
		return nil
	}
	if c := r.conn.Load(); c != nil && !c.out.full() && c.sendNow(q) == nil {
		return nil
	}
	go r.route(context.Background(), q)
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
		switch err := c.send(ctx, q); {
		case err == nil:
			return
		case errors.Is(err, errConnClosed):
		default:
			q.settle(nil, err)
			return
		}
	}
	if !r.hand(q) {
		q.settle(nil, r.goneError())
	}
}

// goneError is the outcome of a call to a host that is no more.
func (r *Ref) goneError() error {
	return &HostError{Host: r.spec.Name, Err: ErrStopped, Reason: "the host was removed or the supervisor has stopped"}
}

// forget tells the host's actor that a parked call has nobody waiting.
func (r *Ref) forget(q *Request) { tell(r.world.System.Root, r.pid, &forget{q}) }

// Notify tells the host something. It returns when the message is handed to
// the connection, or held back by a rule of [HostSpec].Throttle, not when the host
// has read it; a host that is not running gives a *HostError at once.
func (r *Ref) Notify(ctx context.Context, method string, in any) error {
	if r.spec.Protocol == nil {
		return &CallError{r.spec.Name, method, ErrNoProtocol, "", nil}
	}
	params, err := r.spec.Protocol.Marshal(in)
	if err != nil {
		return err
	}
	if p, ok := r.spec.Protocol.(codec.Shorthand); ok {
		method, params = p.Expand(method, params)
	}
	if find := r.elsewhere(method, params); find != nil {
		return r.notifyElsewhere(method, params, find)
	}
	c := r.conn.Load()
	if c == nil {
		return r.downError()
	}
	m := codec.Message{Kind: codec.Notification, Method: method, Params: params}
	for {
		space, err := c.tell(&m, outboxLimit)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errFull):
			if c.out.broken() {
				return r.downError()
			}
			return err
		}
		select {
		case <-space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// downError says why the host takes nothing now.
func (r *Ref) downError() error {
	s := r.snapshot()
	return downError(r.spec.Name, s.state, s.reason, s.lastExit)
}

// downError puts a state in the words of a call's outcome.
func downError(host string, state lifecycle.State, reason string, last *ExitInfo) error {
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
			e.Reason, e.Exit = last.Reason, last.status()
		}
	}
	return e
}

// Tail returns the last n lines of the host's output, oldest first.
func (r *Ref) Tail(n int) []capture.Line { return r.log.Tail(n) }

// History returns up to n last lines, reading back into the log files when the
// lines in memory are fewer. Errors are those of the files.
func (r *Ref) History(n int) ([]capture.Line, error) { return r.log.History(n) }

// Follow yields the last n lines, then what comes, until ctx ends or the host
// is removed. A reader that falls behind is told how many lines it missed, in
// the Lost of the next one.
func (r *Ref) Follow(ctx context.Context, n int) iter.Seq[capture.Line] { return r.log.Follow(ctx, n) }

// Do asks for a verb and waits for its end. Errors: *StateError, ErrNoHost when
// the host was removed, ctx's error.
func (r *Ref) Do(ctx context.Context, v Verb) error {
	done := make(chan error, 1)
	if !r.hand(&verb{v, func(err error) { done <- err }}) {
		return fmt.Errorf("%w: %q", ErrNoHost, r.spec.Name)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start brings the host to running, after what it depends on. In failed it
// opens a new crash window. Errors as of Do; a *StateError says where it is
// instead.
func (r *Ref) Start(ctx context.Context) error { return r.Do(ctx, VerbStart) }

// Stop takes the host down; it stays down until it is started.
func (r *Ref) Stop(ctx context.Context) error { return r.Do(ctx, VerbStop) }

// Restart stops the host and starts it again.
func (r *Ref) Restart(ctx context.Context) error { return r.Do(ctx, VerbRestart) }

// Reset clears the crash window and the back-off; a failed host starts again.
func (r *Ref) Reset(ctx context.Context) error { return r.Do(ctx, VerbReset) }

// Wait returns when the host is in one of the states, or has been in one since
// the call began. The error is ctx's.
func (r *Ref) Wait(ctx context.Context, states ...lifecycle.State) error {
	in := func(s lifecycle.State) bool {
		for _, want := range states {
			if s == want {
				return true
			}
		}
		return false
	}
	last := r.world.Journal.Last()
	if in(r.snapshot().state) {
		return nil
	}
	for e := range r.world.Journal.Events(ctx, last, true) {
		if e.Lost > 0 && in(r.snapshot().state) {
			return nil
		}
		if e.Kind == KindState && *e.Host == r.spec.Name && in(*e.To) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

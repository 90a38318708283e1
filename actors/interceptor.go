package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sort"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// Interceptor is a feature that takes part in the work of a host, over all its lives:
// a set of functions, each of which may be nil. A host has a list of them, ordered by
// Stage and then by when they were added. A message passes them in that order; the
// first that does not let it pass decides.
//
// NOTE: the functions are called by callers, read loops and the host's actor, some of
// them at the same time. They must not block, except Starting and Gone. What takes time is done
// elsewhere, and what comes of it is told by a message: the channel of a Hold is
// closed, or advice is sent.
type Interceptor struct {
	Name  string
	Stage Stage
	Value any // the feature itself; [Ref.Interceptor] returns it

	// Starting is called before the process of a life is started, on a goroutine of its
	// own, and may wait until ctx ends. It may add to what the life is given; an error
	// is that of the start. After one that wraps ErrNoRoom the start is tried again, and
	// nothing is counted. Starting is not called for a life that has ended before.
	Starting func(ctx context.Context, s *Start) error
	// Up is called when a life has shaken hands. What is sent over the line before
	// publish is called goes before every call to that life. Up must call publish
	// exactly once before it returns. It is also called when the interceptor is added
	// while a life is up.
	Up func(line *Line, publish func())
	// Leaving is called before a life is asked to end: what was held back has to be
	// sent now.
	Leaving func(line *Line)
	// Down is called when the life of the last Up has ended, or is about to.
	Down func(life uint64)

	// Outbound is called with each call and notification that is made to the host, on
	// the goroutine of its caller. life is the one that is up, 0 if none is.
	Outbound func(life uint64, m *codec.Message) Verdict
	// Write is called with each call and notification that is about to be put into the
	// outbox of a life, in that order, also with those of a [Line]. A notification that
	// is Taken, or held, is not put there. The verdict about a call has no effect.
	// limit is that of [Line.Put].
	Write func(line *Line, m *codec.Message, limit int) Verdict
	// Sent is called with each call before the host can have read of it. It is called
	// under a lock of the connection, which it must not use. again tells that a life
	// before had it. Sent must neither keep nor change m.
	Sent func(life uint64, m *codec.Message, again bool)
	// Answered is called when the host has answered a call, even if its caller is gone.
	// took is the time since it was written, negative if that is not known.
	Answered func(life uint64, id uint32, took time.Duration)
	// Inbound is called with each notification and request of the host, by the read
	// loop, in their order. It may be called before Up.
	Inbound func(life uint64, m *codec.Message) Verdict
	// Reading is called before more is read from the host. If it returns a channel,
	// nothing is read until that is closed or the life ends.
	Reading func() <-chan struct{}

	// Begin is called once, when the machine of the host is made, and may call [lifecycle.Resume]. Changed
	// and Reset may read the machine.
	Begin func(*lifecycle.Host)
	// Changed is called with each change of the host's state, in their order.
	Changed func(t lifecycle.Transition)
	// Reset is called when a person has cleared the crash window and the back-off.
	Reset func()
	// Ended is called at the end of a life, also of one that never was up, before the
	// rules decide what follows.
	Ended func(e LifeEnd)
	// Advise is called after Ended. What follows the end is decided when tell has been
	// called once, or after [lifecycle.AdviceWait]. tell may be called by any goroutine.
	Advise func(e LifeEnd, tell func(Advice))
	// Gone is called after Ended, as soon as all processes of the life have ended or the
	// host has stopped waiting for them. It is called on a goroutine of its own and may
	// block: the next life starts, and a stop ends, only after it has returned. The Gone of
	// the last interceptor is called first.
	Gone func(e LifeEnd)
	// Over is called when nothing is left to be heard of a life, nor of those before:
	// its output is read, its report filed. It may be called after Closed, at last
	// with [math.MaxUint64]: no life is left.
	Over func(life uint64)
	// Closed is called once, when the host is removed or its tree ends.
	Closed func()

	// Status adds to the status of the host.
	Status func(s *record.HostStatus)
}

// Stage is a part of the way of a message. It is passed in the order of the constants.
type Stage uint8

// The stages.
const (
	StageWatch Stage = iota // sees everything, and changes nothing
	StageAdmit              // refuses what may not be
	StageOwn                // is asked before anybody else: secrets; holds back what is sent
	StageServe              // speaks with the host: programs that attach, extensions
	StageRules              // answers by rule
	StageLast               // answers what nobody else does
)

// Verdict says what becomes of a message. The zero value lets it pass. Of the other
// fields but Message, one is set.
type Verdict struct {
	// Message replaces the message for whoever comes after this interceptor.
	Message *codec.Message
	// Err refuses the message: it is the outcome of a call or of Notify, and what the
	// host is answered. A notification of the host goes no further.
	Err error
	// Taken tells that the interceptor sends the notification to the host by itself, or
	// that one of the host's goes no further.
	Taken bool
	// Hold keeps a message to the host back until the channel is closed; then the
	// interceptor is asked again. A call waits within its deadline, and calls with
	// 16 MiB of parameters together; Notify waits until its context ends. What is read
	// from the host is held by [Interceptor].Reading.
	Hold <-chan struct{}
	// To redirects a call or notification to the host that it returns. It may wait until
	// ctx ends; an error is the outcome of the call.
	To func(ctx context.Context) (*Ref, error)
	// Reply answers a request of the host at once. It needs neither kind nor id, and
	// is not changed.
	Reply *codec.Message
	// Handle answers a request of the host.
	Handle Handler
}

// heldBytes bounds the parameters of the calls to one host that are held. What is more
// is ErrOverloaded; one alone may have more.
const heldBytes = 16 << 20

// Start is what the next life of a host is given.
type Start struct {
	Life  uint64
	Path  string            // of the executable
	Args  []string          // follow the spec's Command; all users of the machine can see them
	Env   map[string]string // wins over the spec's; not nil
	Hello codec.Hello       // opens the handshake, where the protocol has one

	Launcher Launcher // starts the process; not nil
	Resumed  bool     // the process runs already: Launcher takes it back from an earlier supervisor

	// Wire returns the connection to the process, in the place of what the transport of the host has;
	// may be nil. It is called before the process is started, and the connection is closed in any
	// case. What the process of a host without a protocol writes to its standard output, and what it
	// writes to its error output, is expected in Files[1] and Files[2] of the command.
	Wire func() link.Wire
	// Opening returns what opens the connection, given what the protocol has for that; may be nil.
	// With it the process is not told that of the supervisor. It may call [link.Inherit].
	Opening func(*link.Conn, codec.Handshake) codec.Handshake
}

// LifeEnd is the end of a life.
type LifeEnd struct {
	Life     uint64
	Cause    lifecycle.Cause
	Status   lifecycle.ExitStatus
	Reason   string // for people
	Expected bool   // somebody has stopped it
}

// Advice is what an interceptor adds to the end of a life.
type Advice struct {
	// Clear takes the crashes so far, this one included, off the host's account: what
	// has caused them is somewhere else now.
	Clear bool
	// Extensions is what the crash report says of extensions, as JSON; nil: nothing.
	Extensions json.RawMessage
}

// chain is the list of the interceptors of a host, with the functions that are called
// for messages apart. It is not changed once it is published.
type chain struct {
	list     []*Interceptor // made and added, by stage
	made     []*Interceptor // by the spec
	added    []*Interceptor // by Intercept
	outbound []func(uint64, *codec.Message) Verdict
	write    []func(*Line, *codec.Message, int) Verdict
	sent     []func(uint64, *codec.Message, bool)
	answered []func(uint64, uint32, time.Duration)
	inbound  []func(uint64, *codec.Message) Verdict
	reading  []func() <-chan struct{}
	starting bool // one has Starting
	gone     bool // one has Gone
}

func newChain(made, added []*Interceptor) *chain {
	list := slices.Concat(made, added)
	sort.SliceStable(list, func(i, j int) bool { return list[i].Stage < list[j].Stage })
	c := &chain{list: list, made: made, added: added}
	for _, i := range list {
		c.outbound = with(c.outbound, i.Outbound, i.Outbound == nil)
		c.write = with(c.write, i.Write, i.Write == nil)
		c.sent = with(c.sent, i.Sent, i.Sent == nil)
		c.answered = with(c.answered, i.Answered, i.Answered == nil)
		c.inbound = with(c.inbound, i.Inbound, i.Inbound == nil)
		c.reading = with(c.reading, i.Reading, i.Reading == nil)
		c.starting, c.gone = c.starting || i.Starting != nil, c.gone || i.Gone != nil
	}
	return c
}

func with[F any](list []F, f F, none bool) []F {
	if none {
		return list
	}
	return append(list, f)
}

// Intercept adds an interceptor to the host. It stays when the host is given another
// configuration. Messages that are on their way may pass without it.
func (r *Ref) Intercept(i *Interceptor) {
	r.rechain(func(made, added []*Interceptor) (_, _ []*Interceptor) { return made, append(slices.Clone(added), i) })
	safeactor.Tell(r.world.System.Root, r.pid, &intercepted{})
}

// Withdraw takes back an interceptor that Intercept added. It is told nothing any more,
// but for messages that are on their way.
func (r *Ref) Withdraw(i *Interceptor) {
	r.rechain(func(made, added []*Interceptor) (_, _ []*Interceptor) {
		return made, slices.DeleteFunc(slices.Clone(added), func(o *Interceptor) bool { return o == i })
	})
}

// Unhealthy tells that checks of a life have failed for some time, the last with err. The
// host is unresponsive then, and is killed as one that gives no sign of life. One that is
// starting goes on doing so, within the time-out of its start.
func (r *Ref) Unhealthy(life uint64, since time.Duration, err error) {
	safeactor.Tell(r.world.System.Root, r.pid, &verdict{life: life, hung: true, since: since, check: cmp.Or(err.Error(), "it is not healthy")})
}

// Healthy takes Unhealthy back. A start that is WhenHealthy has ended with it.
func (r *Ref) Healthy(life uint64) {
	safeactor.Tell(r.world.System.Root, r.pid, &verdict{life: life, check: "it is healthy"})
}

// Background runs f on a goroutine of its own. The end of the tree waits for it, so that f
// must end soon after the interceptor's Closed was called.
func (r *Ref) Background(f func()) { r.world.run(f) }

// rechain puts another chain in the place of the present one.
func (r *Ref) rechain(change func(made, added []*Interceptor) (_, _ []*Interceptor)) {
	for {
		old := r.chain.Load()
		if r.chain.CompareAndSwap(old, newChain(change(old.made, old.added))) {
			return
		}
	}
}

// intercepted tells the host's actor that an interceptor was added.
type intercepted struct{}

// Interceptor returns the Value of the interceptor of this name, or nil.
func (r *Ref) Interceptor(name string) any {
	for _, i := range r.chain.Load().list {
		if i.Name == name {
			return i.Value
		}
	}
	return nil
}

// outbound asks interceptors what becomes of a message to the host. It returns what
// the message is by then, and where another verdict is Hold, who is to be asked again.
func (r *Ref) outbound(list []func(uint64, *codec.Message) Verdict, m *codec.Message) (*codec.Message, Verdict, []func(uint64, *codec.Message) Verdict) {
	var life uint64
	if c := r.conn.Load(); c != nil {
		life = c.life
	}
	for n, f := range list {
		v := f(life, m)
		if v.Message != nil {
			m, v.Message = v.Message, nil
		}
		if v.Err != nil || v.Taken || v.Hold != nil || v.To != nil {
			return m, v, list[n:]
		}
	}
	return m, Verdict{}, nil
}

// detour is the way of a request that an interceptor holds or redirects.
type detour struct {
	m    *codec.Message
	v    Verdict
	list []func(uint64, *codec.Message) Verdict // who is to be asked again
}

// divert asks interceptors about a request that is to be made. The detour is nil if the
// request goes to this host as m is.
func (r *Ref) divert(method string, params codec.Raw) (m *codec.Message, d *detour, err error) {
	m = &codec.Message{Kind: codec.Request, Method: method, Params: params}
	m, v, list := r.outbound(r.chain.Load().outbound, m)
	if v.Err != nil || v.Hold == nil && v.To == nil {
		return m, nil, v.Err
	}
	return m, &detour{m, v, list}, nil
}

// follow takes a request on its detour. It returns when the request is on its way or
// has its outcome.
func (r *Ref) follow(q *Request, d *detour) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.world.env().Go(func() { // as long as this call
		select {
		case <-q.Done():
			cancel()
		case <-ctx.Done():
		}
	})
	err := r.await(ctx, d)
	target := r
	if err == nil && d.v.To != nil {
		target, err = d.v.To(ctx)
	}
	switch {
	case err != nil:
		q.Settle(nil, err)
	case target == r && d.m.Method == q.Method && len(d.m.Params) == len(q.Params) && (len(q.Params) == 0 || &d.m.Params[0] == &q.Params[0]):
		r.route(ctx, q)
	default:
		var raw codec.Raw
		err := target.Call(ctx, d.m.Method, d.m.Params, &raw, q.again)
		q.Settle(raw, err)
	}
}

// await waits until nobody holds a request any more. The error is its outcome.
func (r *Ref) await(ctx context.Context, d *detour) error {
	size := int64(len(d.m.Params))
	if d.v.Hold != nil {
		defer r.held.Add(-size)
		if held := r.held.Add(size); held > heldBytes && held > size {
			return &CallError{r.spec().Name, d.m.Method, ErrOverloaded, "(the calls that are held have too many bytes)", nil}
		}
	}
	for d.v.Hold != nil {
		select {
		case <-d.v.Hold:
		case <-ctx.Done():
			return context.Cause(ctx) // it has its outcome
		}
		d.m, d.v, d.list = r.outbound(d.list, d.m)
	}
	return d.v.Err
}

// direct is for calls of which no interceptor is asked.
func direct(o *callOptions) { o.direct = true }

// again makes a call as the request was made, which sees to the deadline.
func (q *Request) again(o *callOptions) {
	*o = callOptions{idempotent: q.idempotent, patient: q.patient, trace: q.Trace, direct: true, unbounded: true}
}

// notifyElsewhere makes a call, of which no caller waits for the outcome, for a
// notification that is redirected: its host may have to be found and started.
func (r *Ref) notifyElsewhere(d *detour) error {
	q, _, err := r.make(d.m.Method, d.m.Params, false, false, []CallOption{direct})
	if err != nil {
		return err
	}
	q.Arm()
	r.world.env().Go(func() { r.follow(q, d) }) // ends with the request
	return nil
}

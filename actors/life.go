package actors

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/osprocess"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/internal/transport"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// Life is the actor of one life of a host: one process and at most one
// connection. What it does is decided by [lifecycle.Life]; this type carries it
// out. At its end it answers the requests and fails with a [Failure], which the
// host's strategy hands to the rules.
type Life struct {
	log    hclog.Logger
	ref    *Ref
	number uint64
	byHand bool // a person has asked for it
	host   *actor.PID

	machine    lifecycle.Life
	timer      link.Alarm
	process    *actor.PID
	connection *actor.PID
	conn       *conn
	child      *sandbox.Child
	caps       []*capture.Capture
	exit       *sandbox.Exit
	transport  *transport.Transport
	given      *Start // nil once nothing needs it any more
	preparing  context.CancelFunc
}

func newLife(h *Host, number uint64, host *actor.PID) *Life {
	s := &h.ref.spec().HostSpec
	return &Life{
		log: h.log, ref: h.ref, number: number, byHand: h.machine.By() == lifecycle.ByPerson, host: host,
		given: &Start{Life: number, Launcher: h.world.Launcher, Env: make(map[string]string), Hello: codec.Hello{
			Supervisor: "hostsup", Version: h.world.Version, Host: s.Name, Life: number, Init: s.Init, Dir: s.Dir,
		}},
		machine: lifecycle.NewLife(lifecycle.LifeRules{
			Drain: s.Stop.Drain, Grace: s.Stop.Grace, Explains: h.ref.spec().can.Explain != nil,
			Prepares: h.ref.chain.Load().starting,
		}),
	}
}

// Receive implements actor.Actor.
func (a *Life) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *beginLife:
		a.step(ctx, lifecycle.Begin)
	case *lifePrepared:
		a.step(ctx, lifecycle.PreparationDone{Fault: a.unmade(m.err)})
	case *osprocess.Started:
		a.spawned(ctx, m.Child)
	case *osprocess.Failed:
		a.step(ctx, lifecycle.NotStarted{Fault: a.unmade(m.Err)})
	case *dialed:
		if m.err != nil {
			a.step(ctx, lifecycle.MustEnd{Fault: lifecycle.Fault{Cause: lifecycle.CauseClosed, Detail: "no connection: " + m.err.Error()}})
		} else {
			a.step(ctx, lifecycle.Arrived)
		}
	case *connected:
		a.conn = m.conn
		a.step(ctx, lifecycle.HandshakeDone)
		safeactor.Tell(ctx, a.host, &lifeReady{a.number, a.child.Pid(), m.conn, m.liveness})
	case *connEnded:
		if errors.Is(m.err, os.ErrClosed) || errors.Is(m.err, net.ErrClosed) {
			return // closed at our end: the actor of the connection is on its way out, and says more by that
		}
		a.step(ctx, lifecycle.StreamEnded{Fault: a.broken(m.err), Truncated: errors.Is(m.err, codec.ErrTruncated)})
	case *hostDeaf:
		a.step(ctx, lifecycle.WriteFailed{Fault: a.deaf()})
	case *stopLife:
		a.step(ctx, lifecycle.StopAsked{Silent: a.conn != nil && (a.conn.Hung() || a.conn.IsBroken())})
	case *drained:
		a.step(ctx, lifecycle.Drained)
	case *killLife:
		a.step(ctx, lifecycle.MustEnd{Fault: lifecycle.Fault{Cause: m.cause, Detail: m.detail}})
	case *osprocess.Exited:
		if err := a.child.KillTree(); err != nil { // what it left behind
			a.log.Error("cannot kill the process tree", "pid", a.child.Pid(), "error", err)
		}
		a.exit = &m.Exit
		a.step(ctx, lifecycle.Exited{Status: exitStatus(a.exit), Limit: limited(a.exit, a.ref.spec().Resources)})
	case *outputRead:
		a.step(ctx, lifecycle.OutputRead)
	case *lifeAlarm:
		if a.timer.Counts(m.gen) {
			a.step(ctx, lifecycle.LifeTimeout)
		}
	case *actor.Terminated:
		if of := m.Who.Equal(a.connection); of || m.Who.Equal(a.process) {
			a.step(ctx, lifecycle.PartEnded{Connection: of})
		}
	case *actor.Stopping:
		a.step(ctx, lifecycle.Torn{})
		a.transport.Close()
	}
}

// step asks the rules and does what they say.
func (a *Life) step(ctx actor.Context, ev lifecycle.LifeEvent) {
	for ev != nil {
		var effects []lifecycle.LifeEffect
		a.machine, effects = a.machine.Step(ev)
		ev = nil
		for _, e := range effects {
			if answer := a.carryOut(ctx, e); answer != nil {
				ev = answer
			}
		}
	}
}

// carryOut does what the rules say. What it returns is the next event.
func (a *Life) carryOut(ctx actor.Context, e lifecycle.LifeEffect) lifecycle.LifeEvent {
	switch e := e.(type) {
	case lifecycle.LifeOrder:
		return a.order(ctx, e)
	case lifecycle.CutOffCalls:
		a.conn.cutOff(e.After)
	case lifecycle.SetLifeTimer:
		self, root := ctx.Self(), ctx.ActorSystem().Root
		a.timer.Set(a.ref.world.env(), e.After, func(gen uint64) { safeactor.Tell(root, self, &lifeAlarm{gen}) })
	case lifecycle.Explain:
		return a.explain(e)
	case lifecycle.EndLife:
		a.fail(ctx, e)
	}
	return nil
}

func (a *Life) order(ctx actor.Context, o lifecycle.LifeOrder) lifecycle.LifeEvent {
	switch o {
	case lifecycle.Prepare:
		a.prepare(ctx)
	case lifecycle.CancelPrepare:
		a.preparing()
	case lifecycle.Launch:
		if fault := a.launch(ctx); fault.Cause != "" {
			return lifecycle.NotStarted{Fault: fault}
		}
	case lifecycle.Connect:
		if w := a.transport.Take(); w != nil {
			return a.connect(ctx, w)
		}
	case lifecycle.DrainCalls:
		self, root := ctx.Self(), ctx.ActorSystem().Root
		a.conn.leaving() // so that all that was said comes before what is waited for
		a.conn.Drain(func() { safeactor.Tell(root, self, &drained{}) })
	case lifecycle.SayGoodbye:
		safeactor.Tell(ctx, a.connection, &sayGoodbye{})
	case lifecycle.SignalProcess:
		safeactor.Tell(ctx, a.process, &osprocess.Signal{Signal: a.ref.spec().Stop.Signal, Alone: true})
	case lifecycle.KillProcess:
		safeactor.Tell(ctx, a.process, &osprocess.Kill{})
	case lifecycle.CancelLifeTimer:
		a.timer.Cancel()
	case lifecycle.ReadOutput:
		return a.readOutput(ctx)
	}
	return nil
}

// readOutput waits for what the ended process wrote. The post-mortem stops what
// somebody holds open.
func (a *Life) readOutput(ctx actor.Context) lifecycle.LifeEvent {
	for i, c := range a.caps {
		select {
		case <-c.Done():
			continue
		default:
		}
		self, root, rest := ctx.Self(), ctx.ActorSystem().Root, a.caps[i:]
		a.ref.world.env().Go(func() {
			for _, c := range rest {
				<-c.Done()
			}
			safeactor.Tell(root, self, &outputRead{})
		})
		return nil
	}
	return lifecycle.OutputRead
}

// explainLines is how many of the last lines say why a process ended.
const explainLines = 100

// explain asks the protocol what it knows about an exit. If that is nothing, and the process
// has failed by itself, its last words are the explanation.
func (a *Life) explain(e lifecycle.Explain) lifecycle.LifeEvent {
	end := codec.End{Code: e.Status.Code, Signal: e.Status.Signal, Ready: e.Ready}
	var stderr []string
	for _, l := range a.ref.log.TailOfLife(a.number, explainLines) {
		end.Output = append(end.Output, l.Text)
		if l.Stream == capture.Stderr {
			stderr = append(stderr, l.Text)
		}
	}
	var known lifecycle.Explained
	if a.ref.spec().can.Explain != nil {
		known.Meaning, known.Final = a.ref.spec().can.Explain(end)
	}
	if known.Meaning == "" && e.Status.Signal == 0 && e.Status.Code != 0 {
		known.Meaning = record.LastWords(stderr)
	}
	return known
}

// fail is the end of the life: the requests are answered, then the actor
// fails. What the strategy is told is all that is left of it.
func (a *Life) fail(ctx actor.Context, e lifecycle.EndLife) {
	f := &Failure{
		Life: a.number, Cause: e.Fault.Cause, Detail: e.Fault.Detail, Bad: e.Fault.Bad,
		Exit: a.exit, child: a.child, caps: a.caps, pid: ctx.Self(),
	}
	if e.Stuck {
		if err := a.child.Stuck(); err != nil {
			f.Detail = strings.TrimPrefix(f.Detail+"; "+err.Error(), "; ")
		}
	}
	a.transport.Close() // its folder is gone before anybody hears of the end
	if a.conn != nil {
		f.Headers = []record.Header{}
		for _, h := range a.conn.Headers() {
			f.Headers = append(f.Headers, record.Header(h))
		}
	}
	redactFailure(a.ref.world.redactor(), f)
	if a.conn != nil {
		a.answerPending(f, e.Expected)
	}
	if e.Expected {
		safeactor.Tell(ctx, a.host, &lifeEnded{f})
		ctx.Stop(ctx.Self())
		return
	}
	// As a panic would, without one: the mailbox is suspended and the parent's
	// strategy decides.
	if s, ok := ctx.(actor.Supervisor); ok {
		s.EscalateFailure(f, ctx.Message())
		return
	}
	panic(f)
}

// answerPending gives every open request its outcome, except those that may go
// to the next life.
func (a *Life) answerPending(f *Failure, expected bool) {
	name := a.ref.spec().Name
	err := &HostError{Host: name, Life: a.number, Err: ErrCrashed, Reason: f.Error()}
	if f.Cause == lifecycle.CauseUnresponsive {
		err.Err = ErrUnresponsive
	}
	if expected {
		err.Err = ErrStopped
	}
	if f.Exit != nil {
		status := exitStatus(f.Exit)
		err.Exit = &status
	}
	for _, p := range a.conn.CloseRequests(err) {
		q, _ := p.Caller().(*Request)
		switch {
		case q == nil: // the connection's own
			p.Settle(nil, err)
		case q.IsSettled():
		case q.idempotent && !q.resent && !expected:
			if a.conn.Release(p) { // else whoever still writes it takes it along
				q.resent = true
				f.Resend = append(f.Resend, q)
			}
		case q.Settle(nil, err):
			f.Pending++
		}
	}
}

// ReportFailure tells a host that one of its lives has failed. It is for the
// host's strategy.
func ReportFailure(sys *actor.ActorSystem, host, life *actor.PID, f *Failure) {
	if f.pid == nil {
		f.pid = life // a panic: the life could not say who it was
	}
	safeactor.Tell(sys.Root, host, &lifeEnded{f})
}

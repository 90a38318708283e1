package actors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// closedGrace is how long a host that closed its connection has to end as
// well, before that counts as closing the connection and living on. Node takes
// part of a second to exit where others want the processor, too.
const closedGrace = time.Second

// Life is the actor of one life of a host: one process and at most one
// connection. It fails as a whole: whatever goes wrong, the process tree is
// killed, its end is awaited, the requests are answered, and then the actor
// fails with a [Failure], which the host's strategy hands to the rules.
type Life struct {
	log    hclog.Logger
	ref    *Ref
	number uint64
	byHand bool // a person has asked for it
	host   *actor.PID

	process    *actor.PID
	connection *actor.PID
	conn       *conn
	child      *sandbox.Child
	caps       []*capture.Capture
	exit       *sandbox.Exit
	transport  *transport

	preparing context.CancelFunc // begun by begin; nil: not at it

	talks    bool // the handshake is done
	closed   bool // the stream has ended
	stopping bool
	failing  *Failure // why it is being ended; nil: not yet
	suspect  *Failure // what the end of the stream means, unless an exit explains it
	torn     bool     // the tree is torn down around it
	reads    int      // how many times the last output was waited for
	rung     lifecycle.Rung
	ladder   lifecycle.Ladder
	timer    alarm
}

// Receive implements actor.Actor.
func (a *Life) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *beginLife:
		a.begin(ctx)
	case *lifePrepared:
		a.prepared(ctx, m)
	case *spawned:
		a.spawned(ctx, m)
	case *spawnFailed:
		a.fail(ctx, unmade(m.err, a.ref.spec.Resources))
	case *dialed:
		a.dialed(ctx, m.err)
	case *connected:
		a.conn, a.talks = m.conn, true
		tell(ctx, a.host, &lifeReady{a.number, a.child.Pid(), m.conn, m.liveness})
	case *connEnded:
		if errors.Is(m.err, os.ErrClosed) || errors.Is(m.err, net.ErrClosed) {
			return // closed at our end: the actor of the connection is on its way out, and says more by that
		}
		a.closed = true
		a.connEnded(ctx, m.err)
		if a.exit != nil {
			a.finish(ctx)
		}
	case *hostDeaf:
		a.deaf(ctx)
	case *stopLife:
		a.stop(ctx)
	case *drained:
		a.drained(ctx)
	case *killLife:
		a.end(ctx, &Failure{Cause: m.cause, Detail: m.detail})
	case *exited:
		a.exited(ctx, m.exit)
	case *lifeAlarm:
		if m.gen == a.timer.gen {
			a.alarm(ctx, m.what)
		}
	case *actor.Terminated:
		a.terminated(ctx, m.Who)
	case *actor.Stopping:
		a.torn = true
		a.timer.cancel()
		a.prepareNoMore()
		a.transport.close()
	}
}

// terminated follows the end of a part. Parts end after their life; one that
// does not has a defect, and takes the life with it.
func (a *Life) terminated(ctx actor.Context, who *actor.PID) {
	switch {
	case a.torn:
	case a.exit != nil:
		if who.Equal(a.connection) && !a.closed {
			// Its end is why the process ended, if it did so by itself.
			a.closed, a.suspect = true, &Failure{Cause: lifecycle.CauseInternal, Detail: "the actor of the connection ended"}
			a.finish(ctx)
		}
	case who.Equal(a.process): // and the process with it
		f := a.failing
		if f == nil {
			f = &Failure{Cause: lifecycle.CauseInternal, Detail: "the actor of the process ended"}
		}
		a.fail(ctx, f)
	case who.Equal(a.connection):
		a.end(ctx, &Failure{Cause: lifecycle.CauseInternal, Detail: "the actor of the connection ended"})
	}
}

// connect makes the actor of the connection, which has the transport's wire
// from then on.
func (a *Life) connect(ctx actor.Context) {
	w := a.transport.wire
	spec := &a.ref.spec
	session := spec.Protocol.Open(spec.Limits)
	hello := codec.Hello{Supervisor: "hostsup", Version: a.ref.world.Version, Host: spec.Name, Life: a.number, Init: a.ref.opening(), Dir: spec.Dir}
	if spec.Sandbox == nil && a.ref.world.Launcher.Kill() != sandbox.KillPidns {
		hello.PID = os.Getpid() // elsewhere it could not see us, and would take us for gone
	}
	c := newConn(a.ref, a.number, session, w)
	props := shield(a.log, func() actor.Actor {
		return &Connection{log: a.log, ref: a.ref, life: a.number, host: a.host, c: c, hs: session.Handshake(a.ref.introduce(hello))}
	})
	pid, err := ctx.SpawnNamed(props, "connection")
	if err != nil {
		a.end(ctx, &Failure{Cause: lifecycle.CauseInternal, Detail: err.Error()})
		return
	}
	a.connection, a.conn, a.transport.wire = pid, c, nil
	tell(ctx, pid, &openConn{})
}

// stop begins the way down: goodbye, signal, SIGKILL.
func (a *Life) stop(ctx actor.Context) {
	if a.stopping {
		return
	}
	a.stopping = true
	if a.failing != nil || a.exit != nil {
		return // on its way out already
	}
	if a.prepareNoMore() {
		a.fail(ctx, &Failure{Cause: lifecycle.CauseSpawn, Detail: "stopped before it was started"})
		return
	}
	a.ladder = lifecycle.Ladder{
		Drain: a.ref.spec.Stop.Drain,
		Grace: a.ref.spec.Stop.Grace,
		Talks: a.talks && !a.closed && !a.conn.Hung() && !a.conn.IsBroken(),
	}
	rung, stay := a.ladder.First()
	a.climb(ctx, rung, stay)
}

func (a *Life) climb(ctx actor.Context, rung lifecycle.Rung, stay time.Duration) {
	a.rung = rung
	switch rung {
	case lifecycle.RungDrain:
		self, root := ctx.Self(), ctx.ActorSystem().Root
		a.ref.thin.drain(a.conn) // so that all that was said comes before what is waited for
		a.conn.Drain(func() { tell(root, self, &drained{}) })
	case lifecycle.RungGoodbye:
		tell(ctx, a.connection, &sayGoodbye{})
	case lifecycle.RungSignal:
		tell(ctx, a.process, &signalProcess{int(a.ref.spec.Stop.Signal)})
	case lifecycle.RungKill:
		a.kill(ctx)
		return
	}
	a.set(ctx, stay, rungTimer)
}

// drained goes on with the stop when there is nothing left to wait for.
func (a *Life) drained(ctx actor.Context) {
	if a.rung == lifecycle.RungDrain && a.failing == nil && a.exit == nil {
		a.alarm(ctx, rungTimer)
	}
}

// lifeTimer says what the one timer of a life waits for.
type lifeTimer uint8

const (
	rungTimer   lifeTimer = iota // the end of a rung
	closedTimer                  // the exit of a host that has closed its connection
	killTimer                    // the exit of one that was killed
	exitTimer                    // the end of the stream of one that has exited
	outputTimer                  // the last output of one that has exited
)

func (a *Life) set(ctx actor.Context, d time.Duration, what lifeTimer) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	a.timer.set(d, func(gen uint64) { tell(root, self, &lifeAlarm{gen, what}) })
}

func (a *Life) alarm(ctx actor.Context, what lifeTimer) {
	switch what {
	case rungTimer:
		if a.rung == lifecycle.RungDrain && !a.closed { // else the end of the life says what became of them
			a.conn.cutOff(a.ladder.Drain)
		}
		rung, stay := a.ladder.Next(a.rung)
		a.climb(ctx, rung, stay)
	case closedTimer:
		a.end(ctx, a.suspect)
	case killTimer:
		a.stuck(ctx)
	case exitTimer, outputTimer:
		a.finish(ctx)
	}
}

// end kills the process for a reason; the life fails with it when the process
// is gone.
func (a *Life) end(ctx actor.Context, f *Failure) {
	if a.failing != nil || a.exit != nil {
		return
	}
	a.failing = f
	a.timer.cancel()
	a.prepareNoMore()
	if a.process == nil {
		a.fail(ctx, f)
		return
	}
	a.kill(ctx)
}

// killWait is how long the processes of a life may take to end after SIGKILL.
// What is left then is told, and nothing waits for it any longer.
const killWait = 10 * time.Second

// kill sends SIGKILL to the tree, and looks after killWait whether the process
// has ended.
func (a *Life) kill(ctx actor.Context) {
	tell(ctx, a.process, &killProcess{})
	a.set(ctx, killWait, killTimer)
}

// stuck ends a life whose process does not end although it was killed.
func (a *Life) stuck(ctx actor.Context) {
	if a.child == nil { // its start takes long, which has a bound of its own
		a.kill(ctx)
		return
	}
	f := a.failing
	if f == nil {
		f = &Failure{Cause: lifecycle.CauseStuck}
	}
	if err := a.child.Stuck(); err != nil {
		if f.Detail != "" {
			f.Detail += "; "
		}
		f.Detail += err.Error()
	}
	a.fail(ctx, f)
}

// exited follows the end of the process. What it said before is in the stream
// still, and says more than its exit. The end of the stream comes right behind,
// as the rest of the tree is killed, too, unless somebody out of reach holds it
// open.
func (a *Life) exited(ctx actor.Context, exit sandbox.Exit) {
	if err := a.child.KillTree(); err != nil { // what it left behind
		a.log.Error("cannot kill the process tree", "pid", a.child.Pid(), "error", err)
	}
	a.exit = &exit
	a.timer.cancel()
	if a.connection != nil && !a.closed {
		a.set(ctx, lastWords, exitTimer)
		return
	}
	a.finish(ctx)
}

// lastWords is how long the stream of an ended process is read for more.
const lastWords = 500 * time.Millisecond

// finish says why the life has ended. The process is gone.
func (a *Life) finish(ctx actor.Context) {
	a.timer.cancel()
	f := a.failing
	switch {
	case f == nil && a.suspect != nil && a.suspect.Cause != lifecycle.CauseClosed && a.exit.Signal == 0:
		f = a.suspect
	case f == nil, f.Cause == lifecycle.CauseClosed && a.exit.Signal != int(syscall.SIGKILL):
		// The second: it was on its way out when we lost patience.
		f = &Failure{Cause: lifecycle.CauseExit}
	}
	f.Exit = a.exit
	if f.Cause == lifecycle.CauseExit && a.unread() {
		a.reads++
		a.set(ctx, readAgain, outputTimer)
		return
	}
	if f.Cause == lifecycle.CauseExit {
		f.Detail = limited(a.exit, a.ref.spec.Resources)
		a.explain(f)
	}
	a.fail(ctx, f)
}

// readAgain is how often the output of an ended process is looked after that
// explains its end, maxReads how many times.
const (
	readAgain = 5 * time.Millisecond
	maxReads  = int(drainTime / readAgain)
)

// unread says whether what the process wrote last is still to be read, and
// wanted to explain its end.
func (a *Life) unread() bool {
	if _, ok := a.ref.spec.Protocol.(codec.Explainer); !ok || a.stopping || a.exit.Signal == 0 || a.reads >= maxReads {
		return false
	}
	for _, c := range a.caps {
		select {
		case <-c.Done():
		default:
			return true
		}
	}
	return false
}

// explainLines is how many of the last lines say why a process ended.
const explainLines = 100

// explain adds what the protocol knows about an exit that nothing else explains.
func (a *Life) explain(f *Failure) {
	p, ok := a.ref.spec.Protocol.(codec.Explainer)
	if !ok || f.Detail != "" || a.stopping && f.Exit.Code == 0 && f.Exit.Signal == 0 {
		return
	}
	end := codec.End{Code: f.Exit.Code, Signal: f.Exit.Signal, Ready: a.talks}
	for _, l := range a.ref.log.TailOfLife(a.number, explainLines) {
		end.Output = append(end.Output, l.Text)
	}
	meaning, final := p.Explain(end)
	if meaning == "" {
		return
	}
	status := lifecycle.ExitStatus{Code: f.Exit.Code, Signal: f.Exit.Signal}
	f.Detail = fmt.Sprintf("%s: %s", status, meaning)
	if status == (lifecycle.ExitStatus{}) {
		f.Cause = lifecycle.CauseClosed // not the good end that it looks like
	}
	if final && !a.stopping {
		f.Cause = lifecycle.CauseVersion
	}
}

// fail is the end of the life: the requests are answered, then the actor
// fails. What the strategy is told is all that is left of it.
func (a *Life) fail(ctx actor.Context, f *Failure) {
	if a.torn {
		return // messages still come, but nobody is to follow from what they say
	}
	f.Life, f.child, f.caps, f.pid = a.number, a.child, a.caps, ctx.Self()
	a.transport.close() // its folder is gone before anybody hears of the end
	if a.conn != nil {
		f.Headers = []Header{}
		for _, h := range a.conn.Headers() {
			f.Headers = append(f.Headers, Header(h))
		}
	}
	redactFailure(a.ref.world.Redactor, f)
	if a.conn != nil {
		a.answerPending(f)
	}
	if a.stopping {
		tell(ctx, a.host, &lifeEnded{f})
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
func (a *Life) answerPending(f *Failure) {
	name := a.ref.spec.Name
	err := &HostError{Host: name, Life: a.number, Err: ErrCrashed, Reason: f.Error()}
	if f.Cause == lifecycle.CauseUnresponsive {
		err.Err = ErrUnresponsive
	}
	if a.stopping {
		err.Err = ErrStopped
	}
	if f.Exit != nil {
		err.Exit = &lifecycle.ExitStatus{Code: f.Exit.Code, Signal: f.Exit.Signal}
	}
	for _, p := range a.conn.close(err) {
		q, _ := p.Caller().(*Request)
		switch {
		case q == nil: // the connection's own
			p.Settle(nil, err)
		case q.IsSettled():
		case q.idempotent && !q.resent && !a.stopping:
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
	tell(sys.Root, host, &lifeEnded{f})
}

package actors

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/internal/startslots"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// Host is the actor of one host: it owns the state machine and the restart
// rule, has one life at a time as its child, keeps the calls that wait, and
// tells its group (its parent) and the journal every change. What it does is
// decided in package lifecycle; this type carries it out.
type Host struct {
	log   hclog.Logger
	world *World
	ref   *Ref

	machine lifecycle.Host
	timers  [lifecycle.Timers]link.Alarm
	slot    *startslots.Slot // of the start that goes on, or waits

	life      *actor.PID // of the life that exists
	lifeNo    uint64
	pid       int // of its process
	child     *sandbox.Child
	conn      *conn
	up        *conn          // of which the interceptors told were told
	told      []*Interceptor // with those that have nothing to be told
	liveness  string
	spawned   time.Time
	startup   time.Duration // of the life that was ready last; 0: none was
	lastExit  *record.ExitInfo
	lastCrash string        // its id
	lifeEnd   LifeEnd       // of the last life
	end       *Aftermath    // of the life whose end is being decided
	remains   []*Aftermath  // of lives that ended; set to work when the next is on its way
	heard     chan struct{} // closed when nothing is left to be heard of the last life that was cleared up; nil before the first

	parked     []*Request
	operations uint64            // begun so far
	waiting    map[uint64]waiter // who waits for those that go on, by number
	next       *replaceSpec      // the configuration that is to come
}

// quietAfter is how long a start may go without a handshake until a person is
// told what that usually means. It is far below the usual time-out of a start.
const quietAfter = 5 * time.Second

func newHost(w *World, ref *Ref) *Host {
	s := &ref.spec().HostSpec
	seed := fnv.New64a()
	fmt.Fprintf(seed, "%s %d", s.Name, w.now().UnixNano())
	h := &Host{
		log: w.Log.Named(s.Name), world: w, ref: ref, liveness: "none",
		machine: lifecycle.NewHost(hostRules(w, s, ref.gated), seed.Sum64(), w.now()),
		waiting: make(map[uint64]waiter),
	}
	for _, i := range ref.chain.Load().list {
		if i.Begin != nil {
			i.Begin(&h.machine)
		}
	}
	return h
}

// hostRules returns what the rules have to know of a configuration.
func hostRules(w *World, s *HostSpec, gated bool) lifecycle.HostRules {
	rules := lifecycle.HostRules{
		Restart: s.Restart, StartTimeout: s.Start.Timeout, WaitSlow: s.Start.OnTimeout == hostspec.TimeoutWait,
		KillAfter: s.Liveness.KillAfter, Gated: gated, Eager: !s.Start.Lazy, Job: s.Job, MaxStarting: w.MaxStarting,
	}
	if s.Liveness.NeverKill {
		rules.KillAfter = 0
	}
	if s.Protocol != nil {
		rules.Protocol, rules.QuietAfter = s.Protocol.Name(), quietAfter
	}
	return rules
}

// Receive implements actor.Actor.
func (h *Host) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *fromGroup:
		h.step(ctx, m.ev)
		if m.answer {
			safeactor.Tell(ctx, ctx.Parent(), &hostChanged{name: h.ref.spec().Name, to: h.machine.State(), by: h.machine.By(), answer: true})
		}
	case *treeEnds:
		h.treeEnds(ctx)
	case *actor.Started, *inboxFilled:
		for _, item := range h.ref.inbox.take() {
			switch item := item.(type) {
			case *Request:
				h.park(ctx, item)
			case *verb:
				h.verb(ctx, item)
			}
		}
	case *replaceSpec:
		h.replace(ctx, m)
	case *forget:
		h.forget(m.q)
	case *timerFired:
		if h.timers[m.timer].Counts(m.gen) {
			h.step(ctx, lifecycle.Fired{Timer: m.timer})
		}
	case *slotGranted:
		h.step(ctx, lifecycle.SlotGranted{Life: m.life})
	case *lifeSpawned:
		if m.life == h.lifeNo {
			h.child, h.pid = m.child, m.child.Pid()
			h.publish()
		}
		h.clearUp(ctx)
	case *intercepted:
		if h.ref.conn.Load() != nil {
			h.letIn(func() {})
		}
	case *advised:
		h.advise(ctx, m)
	case *lifeReady:
		h.ready(ctx, m)
	case *verdict:
		if !m.hung && m.check != "" && h.child != nil && h.ref.spec().Start.WhenHealthy && h.ref.spec().Protocol == nil {
			h.ready(ctx, &lifeReady{m.life, h.pid, nil, "none"}) // if it is starting
		}
		if m.hung {
			h.step(ctx, lifecycle.Hung{Life: m.life, For: m.since, Check: m.check})
		} else {
			h.step(ctx, lifecycle.Alive{Life: m.life, Check: m.check != ""})
		}
	case *lifeEnded:
		h.ended(ctx, m.Failure)
	case *actor.Terminated:
		h.terminated(ctx, m.Who)
	case *lifeVanished:
		h.vanished(ctx, m.life)
	case *treeGone:
		h.out(ctx, m)
	case *closeHost:
		ctx.Stop(ctx.Self())
	case *actor.Stopping:
		h.clearUp(ctx)
		h.stopping(ctx)
	case *actor.Stopped:
		h.ref.rest()
		h.ref.log.Close()
		h.ref.over(math.MaxUint64) // no life is left that could print them
	}
}

// step asks the rules and does what they say.
func (h *Host) step(ctx actor.Context, ev lifecycle.Event) {
	var effects []lifecycle.Effect
	var answer lifecycle.Event
	h.machine, effects = h.machine.Step(ev, h.world.now())
	if !h.machine.Present() {
		h.life, h.pid, h.child = nil, 0, nil
	}
	for _, e := range effects {
		switch e := e.(type) {
		case lifecycle.Transition:
			h.transition(ctx, e)
		case lifecycle.TakeSlot:
			answer = h.takeSlot(ctx, e.Life)
		case lifecycle.GiveSlot:
			h.slot.Give()
		case lifecycle.SpawnLife:
			h.spawn(ctx, e.Life)
		case lifecycle.StopLife:
			safeactor.Tell(ctx, h.life, &stopLife{})
		case lifecycle.KillLife:
			safeactor.Tell(ctx, h.life, &killLife{e.Cause, e.Detail})
		case lifecycle.AwaitTree:
			h.awaitTree(ctx, e.Life)
		case lifecycle.SetTimer:
			h.setTimer(ctx, e)
		case lifecycle.CancelTimer:
			h.timers[e.Timer].Cancel()
		case lifecycle.AskStart:
			h.request(ctx, lifecycle.Want{Name: h.ref.spec().Name, By: e.By, Number: e.Number})
		case lifecycle.TellStop:
			h.request(ctx, lifecycle.Unwant{Name: h.ref.spec().Name, Number: e.Number})
		case lifecycle.AskStop:
			h.request(ctx, lifecycle.Release{Name: h.ref.spec().Name, Number: e.Number})
		case lifecycle.Done:
			h.done(e)
		case lifecycle.Adopt:
			h.adopt()
		case lifecycle.Slow:
			h.publish()
			h.event(record.Event{Kind: record.KindSlow, Reason: fmt.Sprintf("not ready %s after its start; waiting", e.After)})
		case lifecycle.Tried:
			safeactor.Tell(ctx, ctx.Parent(), &firstTry{h.ref.spec().Name})
		case lifecycle.Shortage:
			h.shortage(e)
		case lifecycle.Unadvised:
			h.event(record.Event{Kind: record.KindUnadvised, Life: &e.Life, Reason: fmt.Sprintf("what follows the end of the life was decided without advice, which has not come within %s", lifecycle.AdviceWait)})
		case lifecycle.Quiet:
			h.event(record.Event{Kind: record.KindSlow, Reason: e.Reason})
			h.log.Warn("slow start", "reason", e.Reason, "life", e.Life, "pid", h.pid)
		}
	}
	if answer != nil {
		h.step(ctx, answer)
		return
	}
	h.publish()
	h.settleParked(ctx)
	h.settleEnd(ctx)
}

// settleEnd hands on what is left of a life when it is decided what follows its end.
func (h *Host) settleEnd(ctx actor.Context) {
	if h.end == nil || h.machine.AwaitsAdvice() {
		return
	}
	life := h.end.failure.Life
	h.remains = append(h.remains, h.end)
	h.end = nil
	if h.lifeNo == life {
		h.clearUp(ctx) // else when the process of the next life has been started
	}
}

// request makes a request of the group.
func (h *Host) request(ctx actor.Context, ev lifecycle.GroupEvent) {
	safeactor.Tell(ctx, ctx.Parent(), &groupEvent{ev})
}

func (h *Host) setTimer(ctx actor.Context, e lifecycle.SetTimer) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	h.timers[e.Timer].Set(h.world.env(), e.After, func(gen uint64) { safeactor.Tell(root, self, &timerFired{e.Timer, gen}) })
}

// takeSlot asks for a start slot and returns the answer. It waits for one beside the
// mailbox: a host that waits can be stopped as any other.
func (h *Host) takeSlot(ctx actor.Context, life uint64) lifecycle.Event {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	var waits bool
	if h.slot, waits = h.world.slots.Take(h.world.MaxStarting, func() { safeactor.Tell(root, self, &slotGranted{life}) }); waits {
		return lifecycle.SlotQueued{Life: life}
	}
	return lifecycle.SlotGranted{Life: life}
}

// spawn makes the actor of the next life. The old one is gone.
func (h *Host) spawn(ctx actor.Context, number uint64) {
	h.lifeNo, h.pid, h.child, h.conn, h.liveness = number, 0, nil, nil, "none"
	h.spawned = h.world.now()
	life := newLife(h, number, ctx.Self())
	props := safeactor.Props(h.log, func() actor.Actor { return life }, actor.WithSupervisor(h.world.Strategies.Life))
	pid, err := ctx.SpawnNamed(props, fmt.Sprintf("life-%d", number))
	if err != nil {
		h.life = nil
		safeactor.Tell(ctx, ctx.Self(), &lifeEnded{&Failure{Life: number, Cause: lifecycle.CauseInternal, Detail: err.Error()}})
		return
	}
	h.life = pid
	safeactor.Tell(ctx, pid, &beginLife{})
}

func (h *Host) ready(ctx actor.Context, m *lifeReady) {
	if m.life != h.lifeNo || h.machine.State() != lifecycle.Starting {
		return
	}
	h.pid, h.conn, h.liveness = m.pid, m.conn, m.liveness
	h.startup = max(1, h.world.now().Sub(h.spawned))
	h.step(ctx, lifecycle.Ready{Life: m.life})
}

// ended takes what a life has left behind.
func (h *Host) ended(ctx actor.Context, f *Failure) {
	if !h.machine.Lives(f.Life) {
		h.ref.settleResend(f)
		return
	}
	h.unpublishConn()
	h.clearUp(ctx)
	ev := f.event()
	a := &Aftermath{log: h.log, world: h.world, ref: h.ref, failure: f, pid: h.pid, uptime: h.world.now().Sub(h.spawned)}
	if f.Cause != lifecycle.CauseShortage {
		h.lastExit = exitInfo(f, ev.Reason(), h.world.now())
		ev.Asked = h.consult(ctx, f, ev)
	}
	h.parked = append(f.Resend, h.parked...)
	f.Resend = nil
	// Where the process has ended, or never came to be, the next life need not
	// wait for the actors of this one.
	if f.pid == nil || f.Exit != nil {
		ev.Rest = h.rest()
	}
	h.end = a
	h.step(ctx, ev)
}

// clearUp hands what is left of ended lives (pipes, tree, report) to actors of
// their own. Nothing waits for them, and the next life is not to wait for a
// processor because of them.
func (h *Host) clearUp(ctx actor.Context) {
	for _, a := range h.remains {
		a.before, a.heard = h.heard, make(chan struct{})
		pid, err := ctx.SpawnNamed(safeactor.Props(h.log, func() actor.Actor { return a }), fmt.Sprintf("aftermath-%d", a.failure.Life))
		if err == nil {
			h.heard = a.heard
			safeactor.Tell(ctx, pid, &beginAftermath{})
		}
	}
	h.remains = nil
}

// transition follows a change of the state, and makes it known.
func (h *Host) transition(ctx actor.Context, t lifecycle.Transition) {
	from, to, life := t.From, t.To, t.Life // the journal keeps nothing else of t
	e := record.Event{Kind: record.KindState, Time: h.world.now(), Reason: t.Reason, From: &from, To: &to, Life: &life}
	if life == 0 {
		e.Life = nil
	}
	if t.First {
		e.From = nil
	}
	pid := h.pid
	if t.End {
		pid = h.end.pid
		h.decided(t, &e)
	}
	if pid != 0 && to != lifecycle.Starting {
		e.PID = &pid
	}
	for _, i := range h.ref.chain.Load().list {
		if i.Changed != nil {
			i.Changed(t)
		}
	}
	if to == lifecycle.Running {
		h.publishConn()
	} else if to != lifecycle.Unresponsive {
		h.unpublishConn()
	}
	h.publish() // first: who has read the event asks for the status next
	h.event(e)
	h.logTransition(t, e.CrashID, pid)
	safeactor.Tell(ctx, ctx.Parent(), &hostChanged{name: h.ref.spec().Name, to: to, by: t.By, reason: t.Reason})
}

// decided adds to an event, and to the crash report, what has become of the life
// that has ended.
func (h *Host) decided(t lifecycle.Transition, e *record.Event) {
	if t.To == lifecycle.Crashed {
		h.end.report = h.report(t.From)
		h.lastCrash = h.end.report.ID
	}
	switch t.To {
	case lifecycle.Crashed, lifecycle.Stopped:
		e.Exit = h.lastExit
	}
	if r := h.end.report; r != nil {
		r.Next = t.Reason
		if t.To == lifecycle.Crashed || t.To == lifecycle.Failed {
			id := r.ID
			e.CrashID = &id
		}
	}
}

func (h *Host) publish() {
	child := h.child
	if h.machine.State().AtRest() || h.machine.State() == lifecycle.Restarting {
		child = nil
	}
	h.ref.publish(snapshot{machine: h.machine, life: h.lifeNo, child: child, liveness: h.liveness, startup: h.startup, lastExit: h.lastExit, crashID: h.lastCrash})
}

// publishConn opens the fast way for calls, behind those that have waited.
func (h *Host) publishConn() {
	if h.conn == nil {
		return
	}
	h.letIn(func() {
		waited := h.parked
		h.parked = nil
		for _, q := range waited {
			h.deliver(q, h.conn)
		}
		h.ref.conn.Store(h.conn)
	})
}

func (h *Host) unpublishConn() {
	h.ref.conn.Store(nil)
	h.letOut()
}

// stopping is the end of the actor; its life is stopped by the library next.
func (h *Host) stopping(ctx actor.Context) {
	h.ref.end()
	h.unpublishConn()
	err := h.ref.goneError()
	for _, q := range h.parked {
		q.Settle(nil, err)
	}
	h.parked = nil
	for _, w := range h.waiting {
		w.done(h.world.noHost(h.ref.spec().Name))
	}
	clear(h.waiting)
	if h.next != nil {
		h.next.done(h.world.noHost(h.ref.Name()))
	}
	h.step(ctx, lifecycle.Torn{})
}

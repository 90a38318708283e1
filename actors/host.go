package actors

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/lifecycle"
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
	timers  map[lifecycle.Timer]*alarm
	retryAt time.Time
	place   *ticket // of the start that goes on, or waits
	held    string  // why that waits; "" when it does not
	lacks   string  // what the supervisor was short of for it, until the next try

	life      *actor.PID // of the life that exists
	lifeNo    uint64
	pid       int // of its process
	child     *sandbox.Child
	dying     bool // the life has ended, and the end of its process tree is awaited
	conn      *conn
	up        *conn // of which the companion was told
	liveness  string
	spawned   time.Time
	lastExit  *ExitInfo
	crashID   string       // of the crash being decided
	lastID    string       // of the last crash
	lastCrash uint64       // number of the last life that crashed
	seen      bool         // a transition was told
	failure   *Failure     // of the life that ended last, until it is out of the way
	endedNo   uint64       // its number
	holding   bool         // what is news is told after the next life has begun
	news      []func()     // held so far
	remains   []*Aftermath // of lives that ended; set to work when the next is on its way

	parked     []*Request
	operations uint64            // begun so far
	waiting    map[uint64]waiter // who waits for those that go on, by number
	closing    bool
	torn       bool // the actor is ending, and its parts with it
	tried      bool // the first start has had its outcome
}

// quietAfter is how long a start may go without a handshake until a person is
// told what that usually means. It is far below the usual time-out of a start.
const quietAfter = 5 * time.Second

func newHost(w *World, ref *Ref) *Host {
	s := &ref.spec
	rules := lifecycle.HostRules{
		Restart: s.Restart, StartTimeout: s.Start.Timeout, WaitSlow: s.Start.OnTimeout == TimeoutWait,
		KillAfter: s.Liveness.KillAfter, Gated: ref.gated, Eager: !s.Start.Lazy, Placed: w.MaxStarting > 0,
	}
	if s.Liveness.NeverKill {
		rules.KillAfter = 0
	}
	if s.Protocol != nil {
		rules.QuietAfter = quietAfter
	}
	seed := fnv.New64a()
	fmt.Fprintf(seed, "%s %d", s.Name, time.Now().UnixNano())
	h := &Host{
		log: w.Log.Named(s.Name), world: w, ref: ref, liveness: "none",
		machine: lifecycle.NewHost(rules, seed.Sum64(), time.Now()),
		timers:  make(map[lifecycle.Timer]*alarm),
		waiting: make(map[uint64]waiter),
	}
	return h
}

// Receive implements actor.Actor.
func (h *Host) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *fromGroup:
		h.step(ctx, m.ev)
		if m.answer {
			tell(ctx, ctx.Parent(), &hostChanged{name: h.ref.spec.Name, to: h.machine.State(), by: h.machine.By(), answer: true})
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
	case *forget:
		h.forget(m.q)
	case *timerFired:
		if t := h.timers[m.timer]; t != nil && t.gen == m.gen {
			h.step(ctx, lifecycle.Fired{Timer: m.timer})
		}
	case *placed:
		h.held = ""
		h.step(ctx, lifecycle.Placed{Life: m.life})
	case *lifeSpawned:
		if m.life == h.lifeNo {
			h.child, h.pid = m.child, m.child.Pid()
			h.publish()
		}
		h.clearUp(ctx)
	case *accompanied:
		if h.ref.conn.Load() != nil {
			h.letIn(func() {})
		}
	case *lifeReady:
		h.ready(ctx, m)
	case *verdict:
		if m.hung {
			h.step(ctx, lifecycle.Hung{Life: m.life, Silent: m.silent})
		} else {
			h.step(ctx, lifecycle.Alive{Life: m.life})
		}
	case *lifeEnded:
		h.ended(ctx, m.Failure)
	case *actor.Terminated:
		h.terminated(ctx, m.Who)
	case *lifeVanished:
		h.vanished(ctx, m.life)
	case *treeGone:
		if m.life == h.lifeNo && h.dying {
			h.out(ctx, m.err)
		}
	case *closeHost:
		h.closing = true
		ctx.Stop(ctx.Self())
	case *actor.Stopping:
		h.clearUp(ctx)
		h.stopping()
	case *actor.Stopped:
		h.ref.rest()
		h.ref.log.Close()
		h.ref.letGo(math.MaxUint64) // nobody is left who could say them
	}
}

// step asks the rules and does what they say.
func (h *Host) step(ctx actor.Context, ev lifecycle.Event) {
	var effects []lifecycle.Effect
	h.machine, effects = h.machine.Step(ev, time.Now())
	for _, e := range effects {
		switch e := e.(type) {
		case lifecycle.Transition:
			h.transition(ctx, e)
		case lifecycle.TakePlace:
			h.takePlace(ctx, e.Life)
		case lifecycle.GivePlace:
			h.place.give()
			h.held = ""
		case lifecycle.SpawnLife:
			h.spawn(ctx, e.Life)
		case lifecycle.StopLife:
			tell(ctx, h.life, &stopLife{})
		case lifecycle.KillLife:
			tell(ctx, h.life, &killLife{e.Cause, e.Detail})
		case lifecycle.SetTimer:
			h.setTimer(ctx, e)
		case lifecycle.CancelTimer:
			if t := h.timers[e.Timer]; t != nil {
				t.cancel()
			}
		case lifecycle.AskStart:
			h.afterNews(func() { tell(ctx, ctx.Parent(), &groupEvent{lifecycle.Want{Name: h.ref.spec.Name, By: e.By}}) })
		case lifecycle.TellStop:
			h.afterNews(func() { tell(ctx, ctx.Parent(), &groupEvent{lifecycle.Unwant{Name: h.ref.spec.Name}}) })
		case lifecycle.Done:
			h.afterNews(func() { h.done(e) })
		case lifecycle.Slow:
			h.publish()
			h.event(Event{Kind: KindSlow, Reason: fmt.Sprintf("not ready %s after its start; waiting", e.After)})
			h.firstTry(ctx)
		case lifecycle.Shortage:
			h.shortage(ctx, e)
		case lifecycle.Quiet:
			h.event(Event{Kind: KindSlow, Reason: h.noHandshake(e.After)})
			h.log.Warn("slow start", "reason", h.noHandshake(e.After), "life", e.Life, "pid", h.pid)
		}
	}
	h.publish()
	h.settleParked(ctx)
}

func (h *Host) setTimer(ctx actor.Context, e lifecycle.SetTimer) {
	t := h.timers[e.Timer]
	if t == nil {
		t = &alarm{}
		h.timers[e.Timer] = t
	}
	self, root := ctx.Self(), ctx.ActorSystem().Root
	t.set(e.After, func(gen uint64) { tell(root, self, &timerFired{e.Timer, gen}) })
	if e.Timer == lifecycle.BackoffTimer {
		h.retryAt = time.Now().Add(e.After)
	}
}

// takePlace waits for a place beside the mailbox: a host that waits can be
// stopped as any other.
func (h *Host) takePlace(ctx actor.Context, life uint64) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	var waits bool
	h.place, waits = h.world.places.take(h.world.MaxStarting, func() { tell(root, self, &placed{life}) })
	if waits {
		h.held = full(h.world.MaxStarting)
	}
}

// spawn makes the actor of the next life. The old one is gone. A host that ends
// still gets messages until its parts have ended, and nothing would end a life
// that began behind that.
func (h *Host) spawn(ctx actor.Context, number uint64) {
	if h.torn {
		return
	}
	h.lifeNo, h.pid, h.child, h.conn, h.liveness = number, 0, nil, nil, "none"
	h.spawned, h.retryAt, h.lacks = time.Now(), time.Time{}, ""
	h.ref.meter.begin()
	props := shield(h.log, func() actor.Actor {
		return &Life{log: h.log, ref: h.ref, number: number, byHand: h.machine.By() == lifecycle.ByPerson, host: ctx.Self()}
	}, actor.WithSupervisor(h.world.Strategies.Life))
	pid, err := ctx.SpawnNamed(props, fmt.Sprintf("life-%d", number))
	if err != nil {
		h.life = nil
		tell(ctx, ctx.Self(), &lifeEnded{&Failure{Life: number, Cause: lifecycle.CauseInternal, Detail: err.Error()}})
		return
	}
	h.life = pid
	tell(ctx, pid, &beginLife{})
}

func (h *Host) ready(ctx actor.Context, m *lifeReady) {
	if m.life != h.lifeNo || h.machine.State() != lifecycle.Starting {
		return
	}
	h.pid, h.conn, h.liveness = m.pid, m.conn, m.liveness
	h.ref.meter.ready(time.Since(h.spawned))
	h.step(ctx, lifecycle.Ready{Life: m.life})
}

// ended takes what a life has left behind.
func (h *Host) ended(ctx actor.Context, f *Failure) {
	if h.torn || f.Life != h.lifeNo || f.Life == h.endedNo {
		h.ref.settleResend(f)
		return
	}
	h.failure, h.endedNo = f, f.Life
	h.unpublishConn()
	h.clearUp(ctx)
	h.holding = true
	before := h.machine.State()
	ev := f.event()
	began := f.Cause != lifecycle.CauseShortage
	if began {
		h.lastExit = exitInfo(f, ev.Reason())
	}
	if began && before != lifecycle.Stopping {
		h.crashID = reports.NewID(fmt.Sprintf("%s-%d", h.ref.spec.Name, f.Life), time.Now())
	}
	resend := f.Resend
	f.Resend = nil
	h.parked = append(resend, h.parked...)
	var said Testimony
	if began {
		said = h.testify(f, ev)
	}
	if said.Forgive {
		h.step(ctx, lifecycle.Reset{})
	}
	h.step(ctx, ev)
	if said.Forgive {
		h.step(ctx, lifecycle.Reset{})
	}
	a := &Aftermath{log: h.log, world: h.world, ref: h.ref, failure: f}
	if h.lastCrash == f.Life {
		a.report = h.report(f, before)
		a.report.Extensions = said.Report
	}
	h.crashID = ""
	// Where the process has ended, or never came to be, the next life need not
	// wait for the actors of this one.
	if f.pid == nil || f.Exit != nil {
		h.gone(ctx, f.Life)
	}
	h.holding = false
	if h.life != nil && h.lifeNo != f.Life {
		runtime.Gosched() // the next life first: what follows can be done beside it
	}
	for _, tell := range h.news {
		tell()
	}
	h.news = nil
	h.remains = append(h.remains, a)
	if h.life == nil || h.lifeNo == f.Life {
		h.clearUp(ctx)
	}
}

// clearUp hands what is left of ended lives (pipes, tree, report) to actors of
// their own. Nothing waits for them, and the next life is not to wait for a
// processor because of them.
func (h *Host) clearUp(ctx actor.Context) {
	for _, a := range h.remains {
		pid, err := ctx.SpawnNamed(shield(h.log, func() actor.Actor { return a }), fmt.Sprintf("aftermath-%d", a.failure.Life))
		if err == nil {
			tell(ctx, pid, &beginAftermath{})
		}
	}
	h.remains = nil
}

// transition follows a change of the state, and makes it known.
func (h *Host) transition(ctx actor.Context, t lifecycle.Transition) {
	from, to, life := t.From, t.To, t.Life
	if to == lifecycle.Starting && h.held != "" {
		t.Reason += ", " + h.held
	}
	e := Event{Kind: KindState, Time: time.Now(), Reason: t.Reason, From: &from, To: &to, Life: &life}
	if h.pid != 0 && to != lifecycle.Starting {
		pid := h.pid
		e.PID = &pid
	}
	if life == 0 {
		e.Life = nil
	}
	if life <= 1 && from == lifecycle.Stopped && !h.seen {
		e.From = nil
	}
	h.seen = true
	if w := h.ref.witness(); w != nil {
		w.Changed(t)
	}
	switch to {
	case lifecycle.Crashed:
		h.lastCrash, h.lastID = life, h.crashID
		e.Exit = h.lastExit
		e.CrashID = idOf(h.crashID)
	case lifecycle.Failed:
		e.CrashID = idOf(h.crashID)
	case lifecycle.Stopped:
		if h.failure != nil {
			e.Exit = h.lastExit
		}
	case lifecycle.Running:
		h.publishConn()
	}
	if to != lifecycle.Running && to != lifecycle.Unresponsive {
		h.unpublishConn()
	}
	h.publish() // first: who has read the event asks for the status next
	pid := h.pid
	h.afterNews(func() { h.tellNews(ctx, t, e, pid) })
}

// idOf returns nil for no id.
func idOf(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// noHandshake says what a start without a handshake usually means.
func (h *Host) noHandshake(after time.Duration) string {
	p := h.ref.spec.Protocol.Name()
	text := fmt.Sprintf("no handshake %s after its start: the program does not answer in protocol %q", after, p)
	if p == "hostsup" {
		text += " (the default)"
	}
	return text + "; one that speaks no protocol needs protocol = \"none\""
}

func (h *Host) publish() {
	pid := h.pid
	if h.machine.State().AtRest() || h.machine.State() == lifecycle.Restarting {
		pid = 0
	}
	reason := h.machine.Reason()
	if h.held != "" {
		reason += ", " + h.held
	}
	if h.machine.IsShort() {
		reason += ", " + h.lacks
	}
	if h.machine.IsQuiet() {
		reason += "; " + h.noHandshake(quietAfter)
	}
	if h.dying && h.machine.State() != lifecycle.Stopped {
		reason += ", when the processes of the last life have ended"
	}
	h.ref.publish(snapshot{
		state: h.machine.State(), reason: reason, life: h.lifeNo, pid: pid, restarts: h.machine.Restarts(),
		machine: h.machine, since: h.machine.Since(), liveness: h.liveness, lastExit: h.lastExit, slow: h.machine.IsSlow(), retryAt: h.retryAt,
		crashID: h.lastID,
	})
}

// publishConn opens the fast way for calls, behind those that have waited.
func (h *Host) publishConn() {
	if h.conn == nil {
		return
	}
	h.letIn(func() {
		for _, q := range h.parked {
			h.deliver(q)
		}
		h.parked = nil
		h.ref.conn.Store(h.conn)
	})
}

func (h *Host) unpublishConn() {
	h.ref.conn.Store(nil)
	h.letOut()
}

// deliver writes a parked request to the connection.
func (h *Host) deliver(q *Request) {
	if q.IsSettled() {
		return
	}
	switch err := h.conn.sendNow(q); {
	case err == nil:
	case errors.Is(err, link.ErrClosed):
		q.Settle(nil, &HostError{Host: h.ref.spec.Name, Life: h.lifeNo, Err: ErrCrashed, Reason: "connection closed"})
	default:
		q.Settle(nil, err)
	}
}

// stopping is the end of the actor; its life is stopped by the library next.
func (h *Host) stopping() {
	h.torn = true
	h.ref.end()
	h.place.give()
	h.unpublishConn()
	for _, t := range h.timers {
		t.cancel()
	}
	err := h.ref.goneError()
	for _, q := range h.parked {
		q.Settle(nil, err)
	}
	h.parked = nil
	for _, w := range h.waiting {
		w.done(h.world.noHost(h.ref.spec.Name))
	}
	clear(h.waiting)
}

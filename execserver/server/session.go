package server

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/osprocess"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/sandbox"
)

// session is one client: its processes, and the connection it has at the
// moment. Requests are handled on the goroutine of the connection; the session's
// actor starts processes, handles their ends, and counts the time without a
// connection.
type session struct {
	srv    *Server
	id     string
	client string
	since  time.Time
	pid    *actor.PID

	mu       sync.Mutex
	conn     *conn
	attached time.Time // when that came, or the last one did
	detached time.Time // since when it has no connection; zero while it has one
	procs    map[string]*process
	ended    bool
	keep     time.Duration // how long it lives without a connection
	left     []leftover    // what closed processes have left behind
	done     chan struct{} // closed when nothing is left of it
}

// tell sends a message to the session's actor.
func (s *session) tell(m any) { safeactor.Tell(s.srv.root(), s.pid, m) }

// attach gives the session to c, calls answer, and lets notifications flow
// after that.
func (s *session) attach(c *conn, answer func()) *wire.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return wire.InvalidRequest("unknown session id %s", s.id)
	}
	if old := s.conn; old != nil {
		if !old.lost() {
			return &wire.Error{Code: wire.CodeAlreadyAttached,
				Message: fmt.Sprintf("session %s is already attached to another connection", s.id)}
		}
		s.leave(old)
		old.kick(closePolicy, "the session was resumed by another connection")
		s.srv.count.takeovers.Add(1)
	}
	s.conn, s.attached, s.detached = c, time.Now(), time.Time{}
	answer()
	for _, p := range s.procs {
		p.attach(c)
	}
	if len(s.procs) > 0 {
		s.unholdLater(c, holdWait)
	}
	s.tell(&attached{})
	return nil
}

// keepSession changes how long the session lives without a connection.
func (c *conn) keepSession(q *wire.SessionKeepParams, r reply) {
	longest := c.srv.opt.KeepAsked
	keep := longest
	if q.KeepMs < uint64(longest/time.Millisecond) {
		keep = time.Duration(q.KeepMs) * time.Millisecond
	}
	c.session.mu.Lock()
	c.session.keep = keep
	c.session.mu.Unlock()
	r.result(&wire.SessionKeepResult{KeepMs: uint64(keep / time.Millisecond)})
}

// leave takes the session away from c. The caller must hold the lock.
func (s *session) leave(c *conn) {
	s.conn, s.detached = nil, time.Now()
	for _, p := range s.procs {
		p.detach(c)
	}
}

// detach is called when a connection has ended.
func (s *session) detach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	s.leave(c)
	s.tell(&detached{})
}

func (s *session) process(id string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.procs[id]
}

// processes are all of them.
func (s *session) processes() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.procs))
}

// add enters a new process.
func (s *session) add(p *process, c *conn) *wire.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended || s.conn != c:
		return wire.InvalidRequest("the session is attached to another connection")
	case s.procs[p.id] != nil:
		return wire.InvalidRequest("process %s already exists", p.id)
	case c.watched[p.id] != nil:
		return wire.InvalidRequest("process %s is the name of an observation", p.id)
	case s.srv.opt.MaxProcesses > 0 && int(s.srv.count.processes.Load()) >= s.srv.opt.MaxProcesses:
		return wire.InvalidRequest("at most %d processes may run", s.srv.opt.MaxProcesses)
	}
	s.srv.count.processes.Add(1)
	s.procs[p.id] = p
	p.owner = c
	return nil
}

func (s *session) remove(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.procs[p.id] == p {
		delete(s.procs, p.id)
	}
}

// Messages to the actor.
type (
	attached      struct{}
	detached      struct{}
	startNow      struct{ *launch }
	processClosed struct{ p *process }
	signalNow     struct {
		p *process
		m any
	}
	expire struct{ gen uint64 }
	sweep  struct{}
	finish struct{}
)

// launch is a process that is to be started.
type launch struct {
	p     *process
	props *osprocess.Start
	done  func(*sandbox.Child, error) // on the actor's goroutine
}

// sweepEvery is how often the trees that closed processes left behind are checked.
const sweepEvery = 5 * time.Second

// sessionActor is the actor of a session.
type sessionActor struct {
	*session
	gen      uint64
	expiry   *time.Timer
	number   int
	starting map[*process]*launch
	closed   []aged // in the order of their ends
	sweeping *time.Timer
}

// leftover is the tree of a closed process in which something still runs.
type leftover struct {
	child *sandbox.Child
	argv  []string
}

type aged struct {
	p     *process
	until time.Time
}

// Receive implements actor.Actor.
func (a *sessionActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *attached:
		a.gen++
		if a.expiry != nil {
			a.expiry.Stop()
		}
	case *detached:
		a.gen++
		gen := a.gen
		a.mu.Lock()
		keep := a.keep
		a.mu.Unlock()
		a.expiry = time.AfterFunc(keep, func() { a.tell(&expire{gen}) })
	case *expire:
		if m.gen == a.gen {
			a.srv.opt.Log.Info("a session without a connection has ended", "session", a.id, "client", a.client)
			ctx.Stop(ctx.Self())
		}
	case *finish:
		ctx.Stop(ctx.Self())
	case *startNow:
		a.start(ctx, m.launch)
	case *signalNow:
		safeactor.Tell(ctx, m.p.pid, m.m)
	case *osprocess.Started:
		a.startEnded(m.Key.(*process), m.Child, nil)
	case *osprocess.Failed:
		a.startEnded(m.Key.(*process), nil, m.Err)
		ctx.Stop(m.Key.(*process).pid)
	case *osprocess.Exited:
		m.Key.(*process).exit(m.Exit)
	case *processClosed:
		a.processClosed(ctx, m.p)
	case *sweep:
		a.sweep()
	case *actor.Stopping:
		a.stop()
	case *actor.Stopped:
		a.stopped()
	}
}

func (a *sessionActor) start(ctx actor.Context, l *launch) {
	a.number++
	launcher, err := a.srv.launch()
	var pid *actor.PID
	if err == nil {
		props := osprocess.Props(osprocess.Options{Log: a.srv.opt.Log, Launcher: launcher, Key: l.p})
		pid, err = ctx.SpawnNamed(props, fmt.Sprintf("process-%d", a.number))
	}
	if err != nil {
		for _, f := range l.props.Close {
			f.Close()
		}
		l.done(nil, err)
		return
	}
	l.p.pid = pid
	a.starting[l.p] = l
	safeactor.Tell(ctx, pid, l.props)
}

// startEnded reports the outcome of a start.
func (a *sessionActor) startEnded(p *process, child *sandbox.Child, err error) {
	l := a.starting[p]
	delete(a.starting, p)
	l.done(child, err)
}

// processClosed releases a process, whose output stays readable. Processes that it
// has left behind live on and belong to the session.
func (a *sessionActor) processClosed(ctx actor.Context, p *process) {
	a.srv.count.processes.Add(-1)
	ctx.Stop(p.pid)
	if child := p.child; child != nil {
		if empty(child) {
			child.Release()
		} else {
			a.mu.Lock()
			a.left = append(a.left, leftover{child, p.params.argv})
			a.mu.Unlock()
		}
	}
	a.closed = append(a.closed, aged{p, time.Now().Add(a.srv.opt.KeepClosed)})
	a.wakeLater()
}

// empty reports whether no process is left in the tree of one that has ended.
func empty(c *sandbox.Child) bool {
	pids, err := c.Pids()
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(pids, func(pid int) bool { return pid != c.Pid() })
}

// sweep forgets closed processes whose time is up, and trees that have ended
// meanwhile.
func (a *sessionActor) sweep() {
	a.sweeping = nil
	now := time.Now()
	n := 0
	for due := len(a.closed); n < due && !now.Before(a.closed[n].until); n++ {
		p := a.closed[n].p
		a.closed[n] = aged{}
		if until := a.keepUntil(p, now); now.Before(until) {
			a.closed = append(a.closed, aged{p, until})
			continue
		}
		a.remove(p)
		p.end()
	}
	if a.closed = a.closed[n:]; len(a.closed) == 0 {
		a.closed = nil
	}
	a.mu.Lock()
	a.left = slices.DeleteFunc(a.left, func(l leftover) bool {
		gone := empty(l.child)
		if gone {
			l.child.Release()
		}
		return gone
	})
	a.mu.Unlock()
	a.wakeLater()
}

// keepUntil returns until when a closed process is kept beyond its time: a client
// that was not sent everything, or has lost its connection meanwhile, gets as long
// to read as any other.
func (a *sessionActor) keepUntil(p *process, now time.Time) time.Time {
	a.mu.Lock()
	since, away := a.attached, a.conn == nil
	a.mu.Unlock()
	if away || p.awaited() {
		since = now
	}
	return since.Add(a.srv.opt.KeepClosed)
}

func (a *sessionActor) wakeLater() {
	if a.sweeping != nil || len(a.closed)+len(a.left) == 0 {
		return
	}
	d := sweepEvery
	if len(a.closed) > 0 {
		d = time.Until(a.closed[0].until)
	}
	if len(a.left) > 0 {
		d = min(d, sweepEvery)
	}
	a.sweeping = time.AfterFunc(d, func() { a.tell(&sweep{}) })
}

// stop ends everything; the actors of the processes are stopped after it, and
// end those that run.
func (a *sessionActor) stop() {
	a.srv.forget(a.session)
	a.mu.Lock()
	a.ended = true
	procs := slices.Collect(maps.Values(a.procs))
	c := a.conn
	a.conn = nil
	a.mu.Unlock()
	if a.expiry != nil {
		a.expiry.Stop()
	}
	if a.sweeping != nil {
		a.sweeping.Stop()
	}
	for _, p := range procs {
		p.kill(nil)
		if c != nil {
			p.detach(c)
		}
	}
	if c != nil {
		c.kick(closeNormal, "the session has ended")
	}
	for _, l := range a.starting {
		l.done(nil, errEnd)
	}
}

// stopped comes when the processes have ended, with their actors.
func (a *sessionActor) stopped() {
	a.mu.Lock()
	procs, left := a.procs, a.left
	a.procs, a.left = nil, nil
	a.mu.Unlock()
	for _, p := range procs {
		p.mu.Lock()
		child, open := p.child, !p.closed
		p.mu.Unlock()
		p.end()
		if open {
			a.srv.count.processes.Add(-1)
		}
		if child != nil {
			child.Release()
		}
	}
	for _, l := range left {
		l.child.Release()
	}
	for _, l := range a.starting { // whose actor may not have got so far
		for _, f := range l.props.Close {
			f.Close()
		}
	}
	close(a.done)
}

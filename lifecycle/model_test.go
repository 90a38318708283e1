//go:build !race

package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// The model check explores every state that a small group can reach: the
// machine of the group, those of its hosts, and what is on its way between
// them. Messages are delivered one by one, in each order that mailboxes allow.
//
// Two kinds of steps lead from one state to the next. What has to come is a
// step: a message is delivered, a process gets ready, a life that was stopped
// ends, a timer fires. What may come is a disturbance: a crash, a hang, an exit,
// an operation of a person, a call. A given number of disturbances may overlap;
// when nothing has to come any more, as many more may follow. So the check is
// complete for groups in which no more than that go on at once. The race detector,
// which has nothing to find in one goroutine, would take minutes for it.
//
// To stay small, the larger groups forget their crashes when nothing has to come,
// as if the crash window had passed.

// modelCase is one group whose states are explored.
type modelCase struct {
	name     string
	overlap  int // disturbances that may overlap
	strategy Strategy
	members  []Member
	restart  func(*RestartRule)
	report   bool // kill_after = "never"
	shutdown bool // it may be shut down at any time
	short    bool // the supervisor may be short of something at any start
	replaced bool // each host may be given another configuration
	released bool // programs may start each host, and no longer need it at any time
}

func modelCases() []modelCase {
	never := func(r *RestartRule) { r.Policy = Never }
	always := func(r *RestartRule) { r.Policy = Always }
	retry := func(r *RestartRule) { r.RetryFailed = time.Hour }
	a, b, c := Member{Name: "a"}, Member{Name: "b", DependsOn: []string{"a"}}, Member{Name: "c"}
	lazyA, lazyB := a, b
	lazyA.Lazy, lazyB.Lazy = true, true
	job, lazyJob := Member{Name: "a", Job: true}, Member{Name: "a", Job: true, Lazy: true}
	needs := func(m Member, names ...string) Member { m.DependsOn = names; return m }
	return []modelCase{
		{name: "two at once", overlap: 2, members: []Member{a, b}},
		{name: "pair", overlap: 1, members: []Member{a, b}},
		{name: "shutdown", overlap: 2, members: []Member{a, b}, shutdown: true},
		{name: "shutdown of a lazy pair", overlap: 1, members: []Member{lazyA, lazyB}, shutdown: true},
		{name: "shutdown of a chain", overlap: 1, members: []Member{a, b, needs(c, "b")}, shutdown: true},
		{name: "never restarted", overlap: 1, members: []Member{a, b}, restart: never},
		{name: "always restarted", overlap: 1, members: []Member{a, b}, restart: always},
		{name: "tried again", overlap: 1, members: []Member{a, b}, restart: retry},
		{name: "only reported", overlap: 1, members: []Member{a, b}, report: true},
		{name: "replaced", overlap: 1, members: []Member{a, b}, replaced: true},
		{name: "a lazy one replaced", overlap: 2, members: []Member{lazyA}, replaced: true},
		{name: "released", overlap: 2, members: []Member{lazyA}, released: true},
		{name: "released pair", overlap: 1, members: []Member{a, b}, released: true},
		{name: "released chain", overlap: 1, members: []Member{lazyA, lazyB, needs(c, "b")}, released: true},
		{name: "released, always restarted", overlap: 1, members: []Member{a, lazyB}, restart: always, released: true},
		{name: "released at a shutdown", overlap: 1, members: []Member{a, lazyB}, released: true, shutdown: true},
		{name: "short", overlap: 1, members: []Member{a, b}, short: true},
		{name: "job", overlap: 2, members: []Member{job, b}},
		{name: "job and two", overlap: 1, members: []Member{job, b, needs(c, "a")}},
		{name: "shutdown of a job", overlap: 1, members: []Member{job, b}, shutdown: true},
		{name: "job replaced", overlap: 1, members: []Member{job, b}, replaced: true},
		{name: "job never restarted", overlap: 1, members: []Member{job, b}, restart: never},
		{name: "lazy job", overlap: 1, members: []Member{lazyJob, b}},
		{name: "job behind", overlap: 1, members: []Member{a, {Name: "b", DependsOn: []string{"a"}, Job: true}, needs(c, "b")}},
		{name: "strangers", overlap: 1, members: []Member{a, c}},
		{name: "lazy pair", overlap: 1, members: []Member{lazyA, lazyB}},
		{name: "lazy dependency", overlap: 1, members: []Member{lazyA, b}},
		{name: "chain", overlap: 1, members: []Member{a, b, needs(c, "b")}},
		{name: "fork", overlap: 1, members: []Member{a, b, needs(c, "a")}},
		{name: "join", overlap: 1, members: []Member{a, {Name: "b"}, needs(c, "a", "b")}},
		{name: "pair and stranger", overlap: 1, members: []Member{a, b, c}},
	}
}

func TestModel(t *testing.T) {
	for _, c := range modelCases() {
		for _, strategy := range []Strategy{OneForOne, OneForAll, RestForOne} {
			c := c
			c.strategy = strategy
			t.Run(c.name+"/"+string(c.strategy), func(t *testing.T) {
				t.Parallel()
				states, quiet := explore(t, c)
				t.Logf("%d states, %d of them quiet", states, quiet)
			})
		}
	}
}

// proc is the process of a host.
type proc uint8

const (
	noProc proc = iota
	up          // runs
	asked       // was asked to end
	killed      // was killed by the rules
	gone        // has ended, and something of it is left
)

// world is one state of the model.
type world struct {
	group    Group
	hosts    []Host
	sim      []simHost
	left     int  // disturbances that may come before it is quiet
	rest     bool // AtRestAll was told
	short    bool // starts may fail for want of something
	replaced bool // configurations may be replaced
	released bool // programs may start hosts, and no longer need them
	ends     bool // a shutdown may come: who has answered what counts for nothing else
	alone    bool // no start was asked for by a person since it was quiet
}

// simHost is what is around the machine of one host.
type simHost struct {
	toHost  []Event
	toGroup []GroupEvent
	proc    proc
	cause   Cause // of a killed process
	timers  [3]bool
	ops     int  // operations that are open
	kept    bool // a person stopped it, and no start reaches it
}

// Indexes of simHost.timers: the others come with a process.
const (
	backoff = iota
	retry
	short
)

var modelTime = time.Unix(1_000_000, 0)

func newWorld(c modelCase) (*world, error) {
	g, err := NewGroup(c.strategy, c.members)
	if err != nil {
		return nil, err
	}
	w := &world{group: g, left: c.overlap, alone: true, ends: c.shutdown, short: c.short, replaced: c.replaced, released: c.released, sim: make([]simHost, len(c.members))}
	for _, m := range g.members {
		rules := HostRules{
			Restart: DefaultRestart(), StartTimeout: time.Minute, KillAfter: time.Minute,
			Gated: Gated(c.strategy, m.Member), Eager: !m.Lazy, Job: m.Job,
		}
		rules.Restart.MaxCrashes, rules.Restart.Backoff.Jitter, rules.Restart.Backoff.Multiplier = 2, 0, 1
		if c.report {
			rules.KillAfter = 0
		}
		if c.restart != nil {
			c.restart(&rules.Restart)
		}
		w.hosts = append(w.hosts, NewHost(rules, 1, modelTime))
	}
	return w, w.groupStep(Boot{})
}

func (w *world) clone() *world {
	n := *w
	n.group.members = slices.Clone(w.group.members)
	n.hosts = slices.Clone(w.hosts)
	n.sim = slices.Clone(w.sim)
	for i := range n.sim {
		n.sim[i].toHost = slices.Clip(n.sim[i].toHost)
		n.sim[i].toGroup = slices.Clip(n.sim[i].toGroup)
	}
	return &n
}

// groupStep gives the group one event and sends out what follows.
func (w *world) groupStep(ev GroupEvent) error {
	next, effects, err := w.group.Step(ev)
	if err != nil {
		return err
	}
	w.group = next
	send := func(name string, ev Event) {
		s := &w.sim[w.group.index[name]]
		s.toHost = append(s.toHost, ev)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case Command:
			send(e.Name, e.Event)
			if stop, is := e.Event.(Stop); is && stop.By == ByProgram {
				for _, j := range w.group.members[w.group.index[e.Name]].neededBy {
					if d := w.group.members[j]; d.wanted || d.state != Stopped && d.state != Failed {
						return fmt.Errorf("%s is stopped as nobody needs it, while %s is %s", e.Name, d.Name, d.state)
					}
				}
			}
			if _, starts := e.Event.(Start); !starts {
				continue
			}
			for _, j := range w.group.members[w.group.index[e.Name]].needs {
				if d := w.group.members[j]; !d.serves() {
					return fmt.Errorf("%s is started while %s is %s", e.Name, d.Name, d.state)
				}
			}
			if w.group.shutdown {
				return fmt.Errorf("%s is started during the shutdown", e.Name)
			}
		case AtRestAll:
			w.rest = true
		}
	}
	return nil
}

// hostStep gives one host an event and carries out what follows.
func (w *world) hostStep(i int, ev Event) error {
	h, s := &w.hosts[i], &w.sim[i]
	next, effects := h.Step(ev, modelTime)
	*h = next
	if h.refused > 0 {
		return fmt.Errorf("a transition that the table does not have")
	}
	name := w.group.members[i].Name
	tell := func(e GroupEvent) { s.toGroup = append(s.toGroup, e) }
	for _, e := range effects {
		switch e := e.(type) {
		case Transition:
			tell(Changed{Name: name, To: e.To, By: e.By})
		case SpawnLife:
			if s.proc != noProc {
				return fmt.Errorf("%s has two lives", name)
			}
			s.proc = up
		case StopLife:
			s.proc = asked
		case KillLife:
			s.proc, s.cause = killed, e.Cause
		case SetTimer:
			s.timer(e.Timer, true)
		case CancelTimer:
			s.timer(e.Timer, false)
		case AskStart:
			tell(Want{name, e.By, e.Number})
		case TellStop:
			tell(Unwant{name, e.Number})
		case AskStop:
			tell(Release{name, e.Number})
		case Done:
			s.ops--
		}
	}
	switch ev.(type) {
	case Start, Stop, DependencyFailed:
		if w.ends {
			tell(Changed{Name: name, Answer: true})
		}
	}
	return nil
}

func (s *simHost) timer(t Timer, set bool) {
	switch t {
	case BackoffTimer:
		s.timers[backoff] = set
	case RetryTimer:
		s.timers[retry] = set
	case ShortTimer:
		s.timers[short] = set
	}
}

// move is one step from a state to another.
type move struct {
	host     int  // whose it is, -1: of the group
	local    bool // it concerns nothing but the host and the ends of its mailboxes
	disturbs bool
	name     string
	do       func(*world) error
}

// independent reduces moves to those of one host, where the order in which they
// and all others are made makes no difference: what others do cannot reach a
// host whose mailbox is not empty before it has taken the first message. (The
// theory calls that an ample set.)
func (w *world) independent(moves []move) []move {
	for i, s := range w.sim {
		if len(s.toHost) == 0 {
			continue
		}
		var out []move
		for _, m := range moves {
			if m.local && m.host == i {
				out = append(out, m)
			}
		}
		return out
	}
	return moves
}

// steps returns what has to come.
func (w *world) steps() []move {
	var out []move
	for i := range w.hosts {
		h, s, name := &w.hosts[i], &w.sim[i], w.group.members[i].Name
		add := func(what string, local bool, do func(*world) error) {
			out = append(out, move{i, local, false, name + ": " + what, do})
		}
		event := func(what string, ev Event, change func(*simHost)) {
			add(what, true, func(n *world) error {
				if change != nil {
					change(&n.sim[i])
				}
				return n.hostStep(i, ev)
			})
		}
		if len(s.toHost) > 0 {
			ev := s.toHost[0]
			event(fmt.Sprintf("hears %T%v", ev, ev), ev, func(s *simHost) { s.toHost = s.toHost[1:] })
		}
		if len(s.toGroup) > 0 {
			ev := s.toGroup[0]
			add(fmt.Sprintf("group hears %T%v", ev, ev), false, func(n *world) error {
				n.sim[i].toGroup = n.sim[i].toGroup[1:]
				return n.groupStep(ev)
			})
		}
		life := h.life
		switch s.proc {
		case up:
			if h.state == Starting {
				event("is ready", Ready{life}, nil)
			}
			if h.rules.Job && h.state == Running {
				event("is done", Ended{Life: life, Cause: CauseExit}, func(s *simHost) { s.proc = gone })
			}
		case asked, killed:
			cause := s.cause
			if s.proc == asked {
				cause = CauseExit
			}
			event("ends as it was told to", Ended{Life: life, Cause: cause, Detail: string(cause)}, func(s *simHost) { s.proc, s.cause = gone, "" })
		case gone:
			event("is gone", Gone{Life: life}, func(s *simHost) { s.proc = noProc })
		}
		if h.state == Unresponsive && s.proc == up {
			event("is back", Alive{Life: life}, nil)
			if h.rules.KillAfter > 0 {
				event("is killed", Fired{KillTimer}, nil)
			}
		}
		for t, timer := range []Timer{BackoffTimer, RetryTimer, ShortTimer} {
			if s.timers[t] {
				event("timer "+timerNames[timer], Fired{timer}, func(s *simHost) { s.timers[t] = false })
			}
		}
	}
	return out
}

// disturb returns what may come.
func (w *world) disturb() []move {
	if w.left == 0 {
		return nil
	}
	var out []move
	for i := range w.hosts {
		h, s, name := &w.hosts[i], &w.sim[i], w.group.members[i].Name
		event := func(what string, ev Event, change func(*world, *simHost)) {
			out = append(out, move{i, true, true, name + ": " + what, func(n *world) error {
				n.left--
				if change != nil {
					change(n, &n.sim[i])
				}
				return n.hostStep(i, ev)
			}})
		}
		ends := func(_ *world, s *simHost) { s.proc, s.cause = gone, "" }
		if s.proc == gone {
			event("cannot be killed", Gone{h.life, "is still there"}, func(_ *world, s *simHost) { s.proc = noProc })
		}
		if s.proc == up {
			event("exits", Ended{Life: h.life, Cause: CauseExit}, ends)
			event("crashes", Ended{Life: h.life, Cause: CauseExit, Status: ExitStatus{Code: 3}}, ends)
			switch h.state {
			case Starting:
				event("speaks another version", Ended{Life: h.life, Cause: CauseVersion}, ends)
				event("is stuck", Fired{StartTimer}, nil)
				if w.short {
					event("is not started for want of something", Ended{Life: h.life, Cause: CauseShortage}, ends)
				}
			case Running:
				event("hangs", Hung{Life: h.life}, nil)
			}
		}
		if s.ops < 2 {
			event("person starts", Operate{OpStart, ByPerson, 0, ""}, func(n *world, s *simHost) { s.ops++; n.reached(i) })
			event("person stops", Operate{OpStop, ByPerson, 0, ""}, func(n *world, s *simHost) { s.ops++; s.kept = n.alone })
			event("person restarts", Operate{OpRestart, ByPerson, 0, ""}, func(n *world, s *simHost) { s.ops++; n.reached(i) })
			if w.released {
				event("program starts", Operate{OpStart, ByProgram, 0, ""}, func(_ *world, s *simHost) { s.ops++ })
				event("program releases", Operate{OpStop, ByProgram, 0, ""}, func(_ *world, s *simHost) { s.ops++ })
			}
		}
		if w.replaced {
			event("is replaced", Replace{h.rules, true}, func(n *world, _ *simHost) { n.alone = false })
		}
		if h.state == Failed {
			event("person resets", Reset{}, func(n *world, _ *simHost) { n.reached(i) })
		}
		if w.group.members[i].Lazy && h.state == Stopped && !h.StoppedByPerson() {
			event("call", Wish{ByCall}, nil)
		}
	}
	if w.ends && !w.group.shutdown {
		out = append(out, move{-1, false, true, "shutdown", func(n *world) error {
			n.left--
			return n.groupStep(Shutdown{})
		}})
	}
	return out
}

// reached notes whom a person's start reaches.
func (w *world) reached(i int) {
	w.alone = false
	w.sim[i].kept = false
	for _, j := range w.group.members[i].needs {
		w.reached(j)
	}
}

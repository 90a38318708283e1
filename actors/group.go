package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// HostSpec is what a host is made of.
type HostSpec struct {
	hostspec.Spec
	// Interceptors returns the host's features when its handle is made; nil: those of
	// the [World]. In a [ReplaceHost] nil leaves the host those that it has.
	Interceptors func(*Ref) []*Interceptor
	// Origin is what the owner of the tree has made this from; see [Ref.Spec].
	Origin any
}

// WithDefaults is that of its Spec.
func (s HostSpec) WithDefaults() HostSpec {
	s.Spec = s.Spec.WithDefaults()
	return s
}

// GroupSpec is a named set of hosts with a strategy for shared fate.
type GroupSpec struct {
	Name     string
	Strategy lifecycle.Strategy // "" means one_for_one
	Hosts    []HostSpec         // in order of declaration
}

// Group is the actor of one group: it has a Host per member as its child and
// carries out what the group's rules in package lifecycle say: start order,
// shared fate, stop in reverse.
type Group struct {
	log     hclog.Logger
	world   *World
	name    string
	machine lifecycle.Group
	hosts   map[string]*actor.PID
	gone    map[string]func(error) // hosts on their way out, with who waits for it
	resting bool
	closing bool // the tree is torn down
}

// newGroup makes the machine and the handles of a group's hosts. The error is
// an *lifecycle.OrderError.
func newGroup(w *World, spec GroupSpec) (*Group, error) {
	if spec.Strategy == "" {
		spec.Strategy = lifecycle.OneForOne
	}
	members := make([]lifecycle.Member, 0, len(spec.Hosts))
	for _, h := range spec.Hosts {
		members = append(members, member(&h))
	}
	machine, err := lifecycle.NewGroup(spec.Strategy, members)
	if err != nil {
		return nil, err
	}
	return &Group{
		log: w.Log.Named(spec.Name), world: w, name: spec.Name, machine: machine,
		hosts: make(map[string]*actor.PID), gone: make(map[string]func(error)),
	}, nil
}

func member(h *HostSpec) lifecycle.Member {
	return lifecycle.Member{Name: h.Name, DependsOn: h.Start.DependsOn, Lazy: h.Start.Lazy, Job: h.Job}
}

// Receive implements actor.Actor.
func (g *Group) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *bootGroup:
		for _, ref := range m.refs {
			if err := g.spawn(ctx, ref); err != nil {
				g.log.Error("cannot make the actor of a host", "host", ref.spec().Name, "error", err)
				ref.end()
			}
		}
		g.step(ctx, lifecycle.Boot{})
	case *groupEvent:
		g.step(ctx, m.ev)
	case *hostChanged:
		g.step(ctx, lifecycle.Changed{Name: m.name, To: m.to, By: m.by, Answer: m.answer})
		if m.to == lifecycle.Failed && !m.answer && m.by != lifecycle.ByDependency {
			safeactor.Tell(ctx, ctx.Parent(), &escalated{g.name, m.name, m.reason})
		}
		g.leave(ctx, m)
	case *firstTry:
		safeactor.Tell(ctx, ctx.Parent(), m)
	case *addToGroup:
		g.add(ctx, m)
	case *removeFromGroup:
		g.remove(ctx, m)
	case *replaceInGroup:
		g.replace(ctx, m)
	case interface{ carryOut(*Group) }:
		m.carryOut(g)
	case *actor.Terminated:
		g.terminated(ctx, m.Who)
	case *actor.Stopping:
		g.closing = true
	}
}

func (g *Group) spawn(ctx actor.Context, ref *Ref) error {
	props := safeactor.Owing(g.log, ref.refuse, func() actor.Actor { return newHost(g.world, ref) }, actor.WithSupervisor(g.world.Strategies.Host))
	pid, err := ctx.SpawnNamed(props, ref.spec().Name)
	if err != nil {
		return err
	}
	g.hosts[ref.spec().Name] = pid
	return nil
}

// step asks the rules and does what they say.
func (g *Group) step(ctx actor.Context, ev lifecycle.GroupEvent) {
	next, effects, err := g.machine.Step(ev)
	if err != nil {
		g.log.Error("group", "error", err)
		return
	}
	g.machine = next
	g.carryOut(ctx, effects)
}

func (g *Group) carryOut(ctx actor.Context, effects []lifecycle.GroupEffect) {
	for _, e := range effects {
		switch e := e.(type) {
		case lifecycle.Command:
			g.command(ctx, e)
		case lifecycle.Escalate:
			name := g.name
			g.world.Journal.Write(record.Event{Kind: record.KindEscalated, Group: &name, Reason: fmt.Sprintf("host %s has failed", e.Name)})
		case lifecycle.AtRestAll:
			if !g.resting {
				g.resting = true
				safeactor.Tell(ctx, ctx.Parent(), &groupAtRest{g.name})
			}
		}
	}
}

// refuse answers what the group has not read at its end.
func (g *Group) refuse(_ *safeactor.Ended, message any) {
	switch m := actor.UnwrapEnvelopeMessage(message).(type) {
	case *addToGroup:
		m.done(ErrClosed)
	case *removeFromGroup:
		m.done(ErrClosed)
	case *replaceInGroup:
		m.done(ErrClosed)
	}
}

// command sends a command to a host. One whose actor was lost to a defect answers
// by way of ourselves, so that nobody waits for it.
func (g *Group) command(ctx actor.Context, c lifecycle.Command) {
	_, waits := c.Event.(lifecycle.Waits)
	_, refused := c.Event.(lifecycle.StopRefused)
	if pid := g.hosts[c.Name]; pid != nil {
		safeactor.Tell(ctx, pid, &fromGroup{c.Event, !waits && !refused})
	} else if !waits && !refused {
		safeactor.Tell(ctx, ctx.Self(), &hostChanged{name: c.Name, to: lifecycle.Failed, answer: true})
	}
}

func (g *Group) add(ctx actor.Context, m *addToGroup) {
	next, effects, err := g.machine.Step(lifecycle.Join{Member: member(&m.ref.spec().HostSpec)})
	if err != nil {
		m.done(err)
		return
	}
	g.machine = next
	if err := g.spawn(ctx, m.ref); err != nil {
		g.machine, _, _ = g.machine.Step(lifecycle.Leave{Name: m.ref.spec().Name})
		m.done(err)
		return
	}
	m.done(nil) // first: it is told that the host was added before it starts
	g.carryOut(ctx, effects)
}

// remove stops a host; its actor ends when it is at rest.
func (g *Group) remove(ctx actor.Context, m *removeFromGroup) {
	pid := g.hosts[m.host]
	if pid == nil || g.gone[m.host] != nil {
		m.done(fmt.Errorf("%w: %q", ErrNoHost, m.host))
		return
	}
	for _, other := range g.machine.Dependents(m.host) {
		m.done(fmt.Errorf("host %q is needed by %q", m.host, other))
		return
	}
	g.gone[m.host] = m.done
	safeactor.Tell(ctx, pid, &fromGroup{lifecycle.Stop{By: lifecycle.ByPerson, Reason: "removed"}, true})
}

// replace gives a host another configuration, which it tells of when it is in force.
func (g *Group) replace(ctx actor.Context, m *replaceInGroup) {
	name := m.spec.Name
	pid := g.hosts[name]
	if pid == nil || g.gone[name] != nil || g.closing { // a host may have ended before we hear of it
		m.done(g.world.noHost(name))
		return
	}
	next, effects, err := g.machine.Step(lifecycle.Rejoin{Member: member(m.spec)})
	if err != nil {
		m.done(err)
		return
	}
	g.machine = next
	rules := hostRules(g.world, m.spec, lifecycle.Gated(next.Strategy(), member(m.spec)))
	safeactor.Tell(ctx, pid, &replaceSpec{spec: m.spec, rules: rules, keep: m.keep, done: m.done})
	g.carryOut(ctx, effects)
}

// leave ends the actor of a removed host once it is at rest.
func (g *Group) leave(ctx actor.Context, m *hostChanged) {
	if g.gone[m.name] != nil && m.to.AtRest() {
		safeactor.Tell(ctx, g.hosts[m.name], &closeHost{})
	}
}

func (g *Group) terminated(ctx actor.Context, who *actor.PID) {
	for name, pid := range g.hosts {
		if !pid.Equal(who) {
			continue
		}
		delete(g.hosts, name)
		if done := g.gone[name]; done != nil {
			delete(g.gone, name)
			g.step(ctx, lifecycle.Leave{Name: name})
			group, host := g.name, name
			g.world.Journal.Write(record.Event{Kind: record.KindRemoved, Group: &group, Host: &host}) // before the name is free
			g.world.leave(name)
			done(nil)
			return
		}
		if g.closing {
			return // its handle says that the supervisor stops
		}
		g.world.leave(name)
		// A host's actor never ends by itself while the tree stands: a defect.
		g.log.Error("defect: the actor of a host ended", "host", name)
		g.step(ctx, lifecycle.Changed{Name: name, To: lifecycle.Failed, Lost: true})
		safeactor.Tell(ctx, ctx.Parent(), &escalated{g.name, name, "its actor ended"})
		return
	}
}

package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// Supervisor is the root actor of a tree: it has a Group per group as its
// child, finds hosts by name for those who send messages, and is where
// escalation ends: as an event, never as a panic.
type Supervisor struct {
	log    hclog.Logger
	world  *World
	spec   RootSpec     // without the groups, once they are there
	groups []groupEntry // in order of declaration
	parts  []*actor.PID

	eager    map[string]bool // hosts whose first try is awaited
	ready    []func(error)
	stopping []func(error)
	resting  map[string]bool
	begun    bool // the groups of the spec are there
	closing  bool // the tree is torn down
	told     bool // ready was told
	added    int  // groups added since the start
}

type groupEntry struct {
	name     string
	strategy lifecycle.Strategy
	pid      *actor.PID
}

// RootSpec is what a tree is made of. Its functions are called on the root's
// goroutine and may be nil.
type RootSpec struct {
	Groups   []GroupSpec // must be valid, see package supervisor
	Parts    []PartSpec
	OnFailed func(group, host, reason string) // a host has given up
	OnEnd    func()                           // the tree has ended
}

// PartSpec is an actor beside the groups. It is stopped when the tree begins to stop.
type PartSpec struct {
	Name  string
	Props *actor.Props
}

// NewRoot returns the props of the root of a tree, to be spawned once.
func NewRoot(w *World, spec RootSpec) *actor.Props {
	return safeactor.Root(w.Log, refuse, func() actor.Actor {
		s := &Supervisor{log: w.Log, world: w, spec: spec, eager: make(map[string]bool), resting: make(map[string]bool)}
		spec.Groups = nil // each host has its own; the props live as long as the tree
		return s
	}, actor.WithSupervisor(w.Strategies.Root))
}

// Receive implements actor.Actor.
func (s *Supervisor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *Call:
		s.call(ctx, m)
	case *Notify:
		if ref := s.world.Ref(m.Host); ref != nil {
			if err := ref.notifyNow(m.Method, m.Params); err != nil {
				s.log.Debug("notification was not sent", "host", m.Host, "method", m.Method, "error", err)
			}
		}
	case *GetStatus:
		var out []record.HostStatus
		for _, g := range s.groups {
			for _, r := range s.world.Refs() {
				if r.group == g.name {
					out = append(out, r.Status())
				}
			}
		}
		s.respond(ctx, out)
	case *getGroups:
		m.done(s.groupStatus())
	case Order:
		s.carryOut(ctx, m, s.answer(ctx, m.id()))
	case *Ask:
		s.carryOut(ctx, m.Order, m.Done)
	case *firstTry:
		delete(s.eager, m.host)
		s.settleReady()
	case *hostGone:
		s.hostGone(ctx, m.group)
	case *escalated:
		delete(s.eager, m.host)
		s.settleReady()
		safeactor.Tell(ctx, ctx.Parent(), &Escalated{m.group, m.host, m.reason})
		if s.spec.OnFailed != nil {
			s.spec.OnFailed(m.group, m.host, m.reason)
		}
	case *groupAtRest:
		s.resting[m.group] = true
		s.settleShutdown(ctx)
	case *actor.Terminated:
		s.terminated(ctx, m.Who)
	case *actor.Stopping:
		s.closing = true
		s.world.ending.Store(true)
	case *actor.Stopped:
		s.end()
	}
}

// carryOut does what somebody has asked for, and calls done when it is done.
func (s *Supervisor) carryOut(ctx actor.Context, m Order, done func(error)) {
	switch m := m.(type) {
	case *Command:
		s.command(m, done)
	case *AddHost:
		s.add(ctx, m.Group, m.Host, done)
	case *RemoveHost:
		s.remove(ctx, m.Host, done)
	case *ReplaceHost:
		s.replace(ctx, m, done)
	case *Ready:
		s.ready = append(s.ready, done)
		s.settleReady()
	case *Shutdown:
		s.shutdown(ctx, done)
	case *Ping:
		done(nil)
	case interface {
		carryOut(*Supervisor, actor.Context, func(error))
	}:
		m.carryOut(s, ctx, done)
	}
}

func (s *Supervisor) start(ctx actor.Context) {
	for _, spec := range s.spec.Groups {
		if err := s.addGroup(ctx, spec, func() {}); err != nil {
			s.log.Error("group cannot be started", "group", spec.Name, "error", err)
		}
	}
	s.spec.Groups, s.begun = nil, true
	for _, p := range s.spec.Parts {
		pid, err := ctx.SpawnNamed(p.Props, "part:"+p.Name) // no group has such a name
		if err != nil {
			s.log.Error("a part of the tree cannot be started", "name", p.Name, "error", err)
			continue
		}
		s.parts = append(s.parts, pid)
	}
	s.settleReady()
}

// respond answers whoever asked, if anybody waits for it.
func (s *Supervisor) respond(ctx actor.Context, v any) {
	if ctx.Sender() != nil {
		safeactor.Tell(ctx, ctx.Sender(), v)
	}
}

// answer returns a func that sends a Done to the sender of the present message.
func (s *Supervisor) answer(ctx actor.Context, id any) func(error) {
	sender, root := ctx.Sender(), ctx.ActorSystem().Root
	return func(err error) { safeactor.Tell(root, sender, &Done{id, err}) }
}

func (s *Supervisor) call(ctx actor.Context, m *Call) {
	ref := s.world.Ref(m.Host)
	if ref == nil {
		s.respond(ctx, &Result{ID: m.ID, Err: s.world.noHost(m.Host)})
		return
	}
	// Params are of a type of the sender's, whose encoding may panic.
	if err := link.Contain(func() error { return ref.callFor(ctx.Sender(), m) }); err != nil {
		s.respond(ctx, &Result{ID: m.ID, Err: err})
	}
}

func (s *Supervisor) command(m *Command, done func(error)) {
	ref := s.world.Ref(m.Host)
	if ref == nil || !ref.hand(&verb{verb: m.Verb, done: done}) {
		done(s.world.noHost(m.Host))
	}
}

// addGroup spawns a group with its hosts. It calls added before any of them starts.
func (s *Supervisor) addGroup(ctx actor.Context, spec GroupSpec, added func()) error {
	if s.group(spec.Name) >= 0 || s.taken(spec) {
		return fmt.Errorf("%w: %q", ErrNameTaken, spec.Name)
	}
	g, err := newGroup(s.world, spec)
	if err != nil {
		return err
	}
	// An actor of that name may be on its way out still.
	name := spec.Name
	if s.begun {
		s.added++
		name = fmt.Sprintf("%s~%d", name, s.added)
	}
	pid, err := ctx.SpawnNamed(safeactor.Owing(s.log, g.refuse, func() actor.Actor { return g }, actor.WithSupervisor(s.world.Strategies.Group)), name)
	if err != nil {
		return err
	}
	var refs []*Ref
	for _, h := range spec.Hosts {
		refs = append(refs, s.enter(pid, spec.Name, g.machine.Strategy(), h))
	}
	s.groups = append(s.groups, groupEntry{spec.Name, g.machine.Strategy(), pid})
	added()
	safeactor.Tell(ctx, pid, &bootGroup{refs})
	return nil
}

// enter makes a host known by its name.
func (s *Supervisor) enter(group *actor.PID, name string, strategy lifecycle.Strategy, spec HostSpec) *Ref {
	ref := newRef(s.world, name, spec)
	ref.gated = lifecycle.Gated(strategy, member(&spec))
	// The library names a child after its parent; knowing the name before the
	// actor exists lets calls be made right away.
	ref.pid = actor.NewPID(group.Address, group.Id+"/"+spec.Name)
	ref.requestPrefix = ref.pid.Id + "/request-"
	s.world.enter(ref)
	if !spec.Start.Lazy {
		s.eager[spec.Name] = true
	}
	return ref
}

// group returns the place of a group, -1 if no group has this name.
func (s *Supervisor) group(name string) int {
	return slices.IndexFunc(s.groups, func(g groupEntry) bool { return g.name == name })
}

// taken says whether a name of a new group is in use as a host's name.
func (s *Supervisor) taken(spec GroupSpec) bool {
	for _, h := range spec.Hosts {
		if s.world.Ref(h.Name) != nil {
			return true
		}
	}
	return s.world.Ref(spec.Name) != nil
}

func (s *Supervisor) add(ctx actor.Context, group string, spec HostSpec, done func(error)) {
	if s.world.ending.Load() {
		done(ErrClosed)
		return
	}
	spec = spec.WithDefaults()
	err := spec.Validate()
	if group == "" {
		group = spec.Name
	} else if err == nil {
		err = hostspec.CheckName(group)
	}
	if err != nil {
		done(err)
		return
	}
	if s.world.Ref(spec.Name) != nil || group != spec.Name && s.group(spec.Name) >= 0 {
		done(fmt.Errorf("%w: %q", ErrNameTaken, spec.Name))
		return
	}
	added := func() {
		g, h := group, spec.Name
		s.world.Journal.Write(record.Event{Kind: record.KindAdded, Group: &g, Host: &h})
	}
	if i := s.group(group); i >= 0 && group != spec.Name {
		g, self, root := s.groups[i], ctx.Self(), ctx.ActorSystem().Root
		ref := s.enter(g.pid, group, g.strategy, spec)
		safeactor.Tell(ctx, g.pid, &addToGroup{ref, func(err error) {
			if err != nil {
				s.world.leave(spec.Name)
				ref.end()
				safeactor.Tell(root, self, &firstTry{spec.Name}) // there will be none
			} else {
				added()
			}
			done(err)
		}})
		return
	}
	done(s.addGroup(ctx, GroupSpec{Name: group, Hosts: []HostSpec{spec}}, added))
}

func (s *Supervisor) remove(ctx actor.Context, host string, done func(error)) {
	ref := s.world.Ref(host)
	if ref == nil || s.closing {
		done(s.world.noHost(host))
		return
	}
	delete(s.eager, host)
	s.settleReady()
	i := s.group(ref.group)
	if i < 0 {
		done(s.world.noHost(host))
		return
	}
	self, root := ctx.Self(), ctx.ActorSystem().Root
	safeactor.Tell(ctx, s.groups[i].pid, &removeFromGroup{host, func(err error) {
		if err == nil {
			safeactor.Tell(root, self, &hostGone{ref.group})
		}
		done(err)
	}})
}

func (s *Supervisor) replace(ctx actor.Context, m *ReplaceHost, done func(error)) {
	spec := m.Host.WithDefaults()
	if err := spec.Validate(); err != nil {
		done(err)
		return
	}
	ref := s.world.Ref(spec.Name)
	if ref == nil || s.world.ending.Load() {
		done(s.world.noHost(spec.Name))
		return
	}
	if i := s.group(ref.group); i >= 0 {
		safeactor.Tell(ctx, s.groups[i].pid, &replaceInGroup{&spec, m.Keep, done})
		return
	}
	done(s.world.noHost(spec.Name))
}

// hostGone ends a group that was there for its hosts alone, once it has none.
func (s *Supervisor) hostGone(ctx actor.Context, group string) {
	if i := s.group(group); i >= 0 && s.groups[i].strategy == lifecycle.OneForOne {
		s.endEmpty(ctx, group)
	}
}

// endEmpty ends a group if it has no host.
func (s *Supervisor) endEmpty(ctx actor.Context, group string) {
	i := s.group(group)
	if i < 0 || len(s.stopping) > 0 || slices.ContainsFunc(s.world.Refs(), func(r *Ref) bool { return r.group == group }) {
		return
	}
	ctx.Stop(s.groups[i].pid)
	s.groups = slices.Delete(s.groups, i, i+1)
}

func (s *Supervisor) groupStatus() []record.GroupStatus {
	out := []record.GroupStatus{}
	of := make(map[string][]string, len(s.groups))
	for _, r := range s.world.Refs() {
		of[r.group] = append(of[r.group], r.spec().Name)
	}
	for _, g := range s.groups {
		st := record.GroupStatus{Name: g.name, Strategy: g.strategy, Hosts: append([]string{}, of[g.name]...)}
		if len(st.Hosts) > 0 || g.strategy != lifecycle.OneForOne {
			out = append(out, st)
		}
	}
	return out
}

func (s *Supervisor) settleReady() {
	if len(s.eager) > 0 {
		return
	}
	if !s.told {
		s.told = true
		s.world.Journal.Write(record.Event{Kind: record.KindSupervisor, Reason: "ready"})
	}
	for _, done := range s.ready {
		done(nil)
	}
	s.ready = nil
}

func (s *Supervisor) shutdown(ctx actor.Context, done func(error)) {
	s.stopping = append(s.stopping, done)
	if len(s.stopping) > 1 {
		return
	}
	s.world.ending.Store(true)
	s.world.Journal.Write(record.Event{Kind: record.KindSupervisor, Reason: "stopping"})
	for _, pid := range s.parts {
		ctx.Stop(pid)
	}
	for _, r := range s.world.Refs() {
		safeactor.Tell(ctx, r.pid, &treeEnds{})
	}
	for _, g := range s.groups {
		safeactor.Tell(ctx, g.pid, &groupEvent{lifecycle.Shutdown{}})
	}
	s.settleShutdown(ctx)
}

// settleShutdown ends the tree once every group is at rest.
func (s *Supervisor) settleShutdown(ctx actor.Context) {
	if len(s.stopping) == 0 {
		return
	}
	for _, g := range s.groups {
		if !s.resting[g.name] {
			return
		}
	}
	ctx.Stop(ctx.Self())
}

func (s *Supervisor) terminated(ctx actor.Context, who *actor.PID) {
	if len(s.stopping) == 0 && !s.closing && slices.ContainsFunc(s.parts, who.Equal) {
		s.log.Error("defect: the actor of a part of the tree ended", "actor", who.Id)
	}
	for i, g := range s.groups {
		if g.pid.Equal(who) && !s.closing {
			// Groups end only with the tree; this one has a defect. Its hosts
			// are gone with it, the others live on.
			s.log.Error("defect: the actor of a group ended", "group", g.name)
			s.groups = slices.Delete(s.groups, i, i+1)
			name := g.name
			s.world.Journal.Write(record.Event{Kind: record.KindEscalated, Group: &name, Reason: "the actor of the group ended"})
			s.settleShutdown(ctx)
			return
		}
	}
}

// end answers everybody who still waits.
func (s *Supervisor) end() {
	for _, r := range s.world.Refs() {
		r.end() // one whose actor never came to be
	}
	for _, done := range s.ready {
		done(ErrClosed)
	}
	s.ready = nil
	s.world.Journal.Write(record.Event{Kind: record.KindSupervisor, Reason: "stopped"})
	if s.spec.OnEnd != nil {
		s.spec.OnEnd()
	}
	for _, done := range s.stopping {
		done(nil)
	}
	s.stopping = nil
}

// refuse answers what the root of a tree has not read at its end with
// ErrClosed. What has no answer that could say so is a dead letter.
func refuse(a *safeactor.Ended, message any) {
	_, body, sender := actor.UnwrapEnvelope(message)
	reply := func(v any) {
		if sender == nil {
			a.DeadLetter(message)
			return
		}
		safeactor.Tell(a.System.Root, sender, v)
	}
	switch m := body.(type) {
	case *Call:
		reply(&Result{ID: m.ID, Err: ErrClosed})
	case Order:
		reply(&Done{m.id(), tooLate(m)})
	case *Ask:
		m.Done(tooLate(m.Order))
	case *getGroups, *firstTry, *hostGone, *escalated, *groupAtRest: // nobody waits for these
	default:
		a.DeadLetter(message)
	}
}

// tooLate is the answer to an order that the tree has not read at its end.
func tooLate(m Order) error {
	if _, ends := m.(*Shutdown); ends {
		return nil
	}
	return ErrClosed
}

package supervisor

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
)

// house is the root of a tree with parts that are actors: the hosts are one child
// of it, each part is another. Messages are the hosts' unless they are for the
// whole.
type house struct {
	*tree
	hosts    *actor.PID
	beside   []*actor.PID
	stopping []func(error)
	closing  bool
}

// stopHouse stops everything, as actors.Shutdown does.
type stopHouse struct{ done func(error) }

// isHouse reports whether a part of the tree is an actor.
func (t *tree) isHouse() bool {
	for _, p := range t.parts {
		if p.Props != nil {
			return true
		}
	}
	return false
}

func (t *tree) house(groups []actors.GroupSpec) *actor.Props {
	return actors.GuardedRoot(t.world.Log, func() actor.Actor {
		h := &house{tree: t}
		h.groups, groups = groups, nil
		return h
	}, actor.WithSupervisor(Contain{t.world.Log, "tree"}))
}

// Receive implements actor.Actor.
func (h *house) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		h.start(ctx)
	case *actors.Shutdown:
		sender, root := ctx.Sender(), ctx.ActorSystem().Root
		h.stop(ctx, func(err error) { actors.Tell(root, sender, &actors.Done{ID: m.ID, Err: err}) })
	case *stopHouse:
		h.stop(ctx, m.done)
	case *actors.Escalated:
		actors.Tell(ctx, ctx.Parent(), m)
	case *actor.Terminated:
		h.terminated(ctx, m.Who)
	case *actor.Stopping:
		h.closing = true
	case *actor.Stopped:
		go h.end() // parts may wait for connections that say goodbye
	case *actor.Restarting, *actor.ReceiveTimeout:
	default:
		if h.hosts != nil {
			ctx.Forward(h.hosts)
		}
	}
}

func (h *house) start(ctx actor.Context) {
	groups := h.groups
	h.groups = nil
	pid, err := ctx.SpawnNamed(actors.NewRoot(h.world, groups, h.onFailed, nil), "hosts")
	if err != nil { // never: the names differ
		h.world.Log.Error("the hosts cannot be started", "error", err)
		ctx.Stop(ctx.Self())
		return
	}
	h.hosts = pid
	for _, p := range h.parts {
		if p.Props == nil {
			continue
		}
		pid, err := ctx.SpawnNamed(p.Props, "part-"+p.name)
		if err != nil { // likewise
			h.world.Log.Error("a part of the tree cannot be started", "part", p.kind, "name", p.name, "error", err)
			continue
		}
		h.beside = append(h.beside, pid)
	}
}

// stop ends the parts at once, and the hosts by their rules.
func (h *house) stop(ctx actor.Context, done func(error)) {
	h.stopping = append(h.stopping, done)
	if len(h.stopping) > 1 {
		return
	}
	h.closing = true
	for _, pid := range h.beside {
		ctx.Stop(pid)
	}
	actors.Tell(ctx, h.hosts, actors.AskShutdown(func(error) {}))
}

func (h *house) terminated(ctx actor.Context, who *actor.PID) {
	if who.Equal(h.hosts) {
		ctx.Stop(ctx.Self())
		return
	}
	if !h.closing {
		h.world.Log.Error("defect: the actor of a part of the tree ended", "actor", who.Id)
	}
}

// end gives back what the tree held and answers whoever waits.
func (h *house) end() {
	h.close()
	for _, done := range h.stopping {
		done(nil)
	}
}

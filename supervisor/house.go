package supervisor

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/lifecycle"
)

// house is the root of a tree that has exec servers: the hosts are one child of
// it, each server is another. Messages are the hosts' unless they are for the
// whole.
type house struct {
	*tree
	hosts    *actor.PID
	keepers  []*actor.PID
	stopping []func(error)
	closing  bool
}

// stopHouse stops everything, as actors.Shutdown does.
type stopHouse struct{ done func(error) }

func (t *tree) house(groups []GroupSpec) *actor.Props {
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
		go h.end() // it waits for connections that say goodbye
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
	for _, e := range h.execs {
		pid, err := ctx.SpawnNamed(actors.Guarded(h.world.Log, func() actor.Actor { return &execKeeper{execServer: e} },
			actor.WithSupervisor(Contain{h.world.Log, "exec server"})), "exec-"+e.spec.Name)
		if err != nil { // likewise
			h.world.Log.Error("the exec server cannot be started", "name", e.spec.Name, "error", err)
			continue
		}
		h.keepers = append(h.keepers, pid)
	}
}

// stop ends the servers at once, and the hosts by their rules.
func (h *house) stop(ctx actor.Context, done func(error)) {
	h.stopping = append(h.stopping, done)
	if len(h.stopping) > 1 {
		return
	}
	h.closing = true
	for _, pid := range h.keepers {
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
		h.world.Log.Error("defect: the actor of an exec server ended", "actor", who.Id)
	}
}

// end waits for what the servers have left, gives back what the tree held and
// answers whoever waits.
func (h *house) end() {
	for _, e := range h.execs {
		e.end()
	}
	h.close()
	for _, done := range h.stopping {
		done(nil)
	}
}

// end waits for the end of a server whose actor has stopped.
func (e *execServer) end() {
	if srv := e.current(); srv != nil {
		<-srv.Done()
	}
	e.set(lifecycle.Stopped, "")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.srv != nil {
		e.past = e.past.Add(e.srv.Metrics().Ended())
	}
	e.srv = nil
}

// discard closes what has never run.
func discard(list []*execServer) []error {
	var errs []error
	for _, e := range list {
		errs = append(errs, e.srv.Discard())
	}
	return errs
}

// ExecServers are the statuses of all exec servers, in the order of the spec.
func (s *Supervisor) ExecServers() []ExecServerStatus {
	out := make([]ExecServerStatus, 0, len(s.execs))
	for _, e := range s.execs {
		out = append(out, e.status())
	}
	return out
}

// ExecServer is the exec server of this name that runs now. It is another one
// after a restart. The error wraps ErrNoHost, or is ErrClosed where none runs at
// the moment.
func (s *Supervisor) ExecServer(name string) (*server.Server, error) {
	for _, e := range s.execs {
		if e.spec.Name == name {
			if srv := e.current(); srv != nil {
				return srv, nil
			}
			return nil, &ExecServerError{name, ErrClosed}
		}
	}
	return nil, &ExecServerError{name, ErrNoHost}
}

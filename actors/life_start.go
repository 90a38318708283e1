package actors

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// prepare collects what the process is given for this life, which it asks interceptors
// for. It does so beside the mailbox, as a keyring may ask somebody first.
func (a *Life) prepare(ctx actor.Context) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	preparing, cancel := context.WithCancel(context.Background())
	a.preparing = cancel
	a.ref.world.run(func() {
		defer cancel()
		tell(root, self, &lifePrepared{a.ref.prepare(preparing, a.given)})
	})
}

// prepare asks interceptors what a life is given.
func (r *Ref) prepare(ctx context.Context, s *Start) error {
	if err := s.find(&r.spec); err != nil {
		return err
	}
	for _, i := range r.chain.Load().list {
		if i.Starting == nil {
			continue
		}
		if err := link.Contain(func() error { return i.Starting(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

// find finds the executable.
func (s *Start) find(spec *HostSpec) (err error) {
	if s.Path == "" {
		s.Path, err = sandbox.LookPath(spec.Command[0], spec.Dir, os.Getenv("PATH"))
	}
	return err
}

// launch prepares the transport and asks for the process.
func (a *Life) launch(ctx actor.Context) lifecycle.Fault {
	spec := &a.ref.spec
	err := a.given.find(spec)
	cmd := command(spec, a.ref.can, a.ref.world.Withheld, a.given)
	cmd.Accept = a.byHand
	if err == nil {
		a.transport, err = openTransport(a.ref.world, spec, a.ref.can, cmd)
	}
	if err == nil {
		err = a.transport.checkReserve()
	}
	if err != nil {
		return a.unmade(err)
	}
	props := shield(a.log, func() actor.Actor {
		return &Process{log: a.log, launcher: a.ref.world.Launcher, life: a.number, out: a.ref.log}
	})
	if a.process, err = ctx.SpawnNamed(props, "process"); err != nil {
		return lifecycle.Fault{Cause: lifecycle.CauseInternal, Detail: err.Error()}
	}
	tell(ctx, a.process, &spawnProcess{cmd: cmd, close: a.transport.childs, out: a.transport.outputs})
	a.transport.childs, a.transport.outputs = nil, nil // the process actor's now
	return lifecycle.Fault{}
}

func (a *Life) spawned(ctx actor.Context, m *spawned) {
	a.child, a.caps = m.child, m.caps
	a.step(ctx, lifecycle.Spawned)
	a.ref.confined(a.log, a.number, m.child)
	tell(ctx, a.host, &lifeSpawned{a.number, a.child})
	if a.ref.spec.Protocol == nil {
		tell(ctx, a.host, &lifeReady{a.number, a.child.Pid(), nil, "none"})
		return
	}
	if a.transport.wire != nil {
		a.step(ctx, a.connect(ctx))
		return
	}
	self, root := ctx.Self(), ctx.ActorSystem().Root
	if a.transport.meeting != nil {
		a.transport.connect(func(err error) { tell(root, self, &dialed{err}) })
		return
	}
	a.transport.accept(func() { tell(root, self, &dialed{}) })
}

// command renders the spec of a host as what is to be started, with what this life
// alone is given.
func command(spec *HostSpec, can codec.Features, withheld []string, s *Start) *sandbox.Command {
	env := make(map[string]string, len(spec.Env)+len(spec.InheritEnv))
	for _, name := range spec.InheritEnv {
		if v, ok := os.LookupEnv(name); ok && !slices.Contains(withheld, name) {
			env[name] = v
		}
	}
	maps.Copy(env, spec.Env)
	maps.Copy(env, s.Env)
	args := slices.Concat(spec.Command, s.Args)
	if can.Arguments != nil {
		args = can.Arguments(args, env)
	}
	return &sandbox.Command{
		Name: fmt.Sprintf("%s.%d", spec.Name, s.Life),
		Path: s.Path, Args: args, Env: environ(env), Dir: spec.Dir,
		Owner: spec.Name, Policy: spec.Sandbox, Limits: spec.Resources, Observe: spec.observed(),
	}
}

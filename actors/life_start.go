package actors

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// prepare collects what the process is given for this life: what Prepare returns,
// and secrets. It does so beside the mailbox, as a keyring may ask somebody first.
func (a *Life) prepare(ctx actor.Context) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	preparing, cancel := context.WithCancel(context.Background())
	a.preparing = cancel
	a.ref.world.run(func() {
		defer cancel()
		given, err := a.ref.prepare(preparing, a.number)
		tell(root, self, &lifePrepared{given, err})
	})
}

// prepare asks the spec's Prepare, and reads the variables that are secrets.
func (r *Ref) prepare(ctx context.Context, life uint64) (given Prepared, err error) {
	if r.spec.Prepare != nil {
		err = link.Contain(func() (err error) {
			given, err = r.spec.Prepare(ctx, life)
			return err
		})
		if err != nil {
			return Prepared{}, fmt.Errorf("prepare: %w", err)
		}
	}
	env, err := r.secretEnv(ctx, life)
	if err != nil {
		return Prepared{}, err
	}
	maps.Copy(env, given.Env)
	given.Env = env
	return given, nil
}

// launch prepares the transport and asks for the process.
func (a *Life) launch(ctx actor.Context) lifecycle.Fault {
	spec := &a.ref.spec
	cmd, err := command(spec, a.number, a.given)
	if err == nil {
		cmd.Accept = a.byHand
		err = spec.Guard.verify(cmd.Path)
	}
	if err == nil {
		a.transport, err = openTransport(a.ref.world, spec, cmd)
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
func command(spec *HostSpec, life uint64, given Prepared) (*sandbox.Command, error) {
	env := make(map[string]string, len(spec.Env)+len(spec.InheritEnv))
	for _, name := range spec.InheritEnv {
		if v, ok := os.LookupEnv(name); ok && name != "HOSTSUP_SOCKET" && name != secret.IdentityEnv {
			env[name] = v
		}
	}
	maps.Copy(env, spec.Env)
	maps.Copy(env, given.Env)
	path, err := sandbox.LookPath(spec.Command[0], spec.Dir, os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	args := slices.Concat(spec.Command, given.Args)
	if p, ok := spec.Protocol.(codec.Commander); ok {
		args = p.Arguments(args, env)
	}
	return &sandbox.Command{
		Name: fmt.Sprintf("%s.%d", spec.Name, life),
		Path: path, Args: args, Env: environ(env), Dir: spec.Dir,
		Owner: spec.Name, Policy: spec.Sandbox, Limits: spec.Resources, Observe: spec.observed(),
	}, nil
}

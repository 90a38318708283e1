package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/osprocess"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/internal/transport"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// prepare collects what the process is given for this life, which it asks interceptors
// for. It does so beside the mailbox, as a keyring may ask somebody first.
func (a *Life) prepare(ctx actor.Context) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	preparing, cancel := context.WithCancel(context.Background())
	a.preparing = cancel
	a.ref.world.run(func() {
		defer cancel()
		safeactor.Tell(root, self, &lifePrepared{a.ref.prepare(preparing, a.given)})
	})
}

// prepare asks interceptors what a life is given.
func (r *Ref) prepare(ctx context.Context, s *Start) error {
	if err := s.find(&r.spec().HostSpec); err != nil {
		return err
	}
	for _, i := range r.chain.Load().list {
		if i.Starting == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err // the life has ended, and another one may have begun
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
	spec := &a.ref.spec().HostSpec
	err := a.given.find(spec)
	cmd := command(spec, a.ref.spec().can, a.ref.world.Withheld, a.given)
	cmd.Accept = a.byHand
	if err == nil {
		a.transport, err = openTransport(a.ref, cmd, a.given.Wire)
	}
	if err != nil {
		return a.unmade(err)
	}
	props := osprocess.Props(osprocess.Options{Log: a.log, Launcher: a.given.Launcher, Whole: true})
	if a.process, err = ctx.SpawnNamed(props, "process"); err != nil {
		return lifecycle.Fault{Cause: lifecycle.CauseInternal, Detail: err.Error()}
	}
	safeactor.Tell(ctx, a.process, &osprocess.Start{Command: cmd, Close: a.transport.TakeOwn()})
	return lifecycle.Fault{}
}

func (a *Life) spawned(ctx actor.Context, child *sandbox.Child) {
	if a.machine.Over() {
		return // torn down while the process was made, of which its actor takes care
	}
	a.child = child
	for _, o := range a.transport.Outputs {
		a.caps = append(a.caps, a.ref.log.Capture(o.File, o.Stream, a.number))
	}
	a.transport.Outputs = nil
	a.step(ctx, lifecycle.Spawned)
	a.ref.confined(a.log, a.number, child)
	safeactor.Tell(ctx, a.host, &lifeSpawned{a.number, a.child})
	if a.ref.spec().Protocol == nil {
		a.given = nil
		if !a.ref.spec().Start.WhenHealthy { // else Ref.Healthy says when
			safeactor.Tell(ctx, a.host, &lifeReady{a.number, a.child.Pid(), nil, "none"})
		}
		return
	}
	if w := a.transport.Take(); w != nil {
		a.step(ctx, a.connect(ctx, w))
		return
	}
	self, root := ctx.Self(), ctx.ActorSystem().Root
	a.transport.Await(func(err error) { safeactor.Tell(root, self, &dialed{err}) })
}

// Program is what [Ref.Launch] starts.
type Program struct {
	Name     string                      // what it is for: "pre_start"
	Args     []string                    // the program, found as that of the host is, and its arguments
	Dir      string                      // "": the host's
	Environ  func(env []string) []string // returns its environment, given that of the life; nil: the same
	Files    []*os.File                  // as [sandbox.Command.Files]; Launch does not close them
	Terminal bool                        // as [sandbox.Command.Terminal]
}

// Launch starts a program as the process of a life is started: as the same user, in the
// same sandbox, folder and environment, but with a process tree of its own. The caller must
// kill the tree and release the child.
func (r *Ref) Launch(s *Start, p Program) (*sandbox.Child, error) {
	spec, given := r.spec().HostSpec, *s
	spec.Command, given.Path, given.Args = p.Args, "", nil
	if p.Dir != "" {
		spec.Dir = p.Dir
	}
	if err := given.find(&spec); err != nil {
		return nil, err
	}
	cmd := command(&spec, codec.Features{}, r.world.Withheld, &given)
	cmd.Name, cmd.Observe, cmd.Files, cmd.Terminal = cmd.Name+"."+p.Name, false, p.Files, p.Terminal
	if p.Environ != nil {
		cmd.Env = p.Environ(cmd.Env)
	}
	return r.world.Launcher.Start(cmd)
}

// openTransport makes the descriptors of a life, and has the command inherit them.
// wire makes the connection; nil: the transport does.
func openTransport(r *Ref, cmd *sandbox.Command, wire func() link.Wire) (*transport.Transport, error) {
	o := transport.Options{Kind: r.spec().TransportInForce(), Rendezvous: r.spec().can.Rendezvous, Folders: &r.world.folders, Wire: wire}
	if wire == nil && r.world.Wires != nil {
		o.Wire = func() link.Wire { return r.world.Wires(cmd) }
	}
	t, err := transport.Open(o)
	if err == nil {
		cmd.Files, cmd.Env = t.Files, append(cmd.Env, t.Env...)
	}
	return t, err
}

// unmade says what it means that a life could not be started; no error means
// nothing. What this program or the machine is short of for the moment is not the
// host's fault.
func (a *Life) unmade(err error) lifecycle.Fault {
	if err == nil {
		return lifecycle.Fault{}
	}
	f := lifecycle.Fault{Cause: lifecycle.CauseSpawn, Detail: err.Error()}
	if errors.Is(err, policy.ErrUntrusted) {
		f.Cause = lifecycle.CauseRefused
	} else if lacks := transport.ShortOf(err, a.ref.spec().Resources != (policy.Limits{})); lacks != "" {
		f.Cause, f.Detail = lifecycle.CauseShortage, lacks+": "+f.Detail
	} else if errors.Is(err, ErrNoRoom) {
		f.Cause = lifecycle.CauseShortage
	}
	return f
}

// environ renders an environment in a stable order.
func environ(env map[string]string) []string {
	out := make([]string, 0, len(env)+2)
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
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

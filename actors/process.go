package actors

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/sandbox"
)

// Process is the actor of one OS process with its tree: it starts it, listens
// to its output, signals it, and tells its parent how it starts and ends. For a
// life, which is its parent in a tree of hosts, its output is captured by line,
// and when the process ends, the rest of its tree is killed at once. For others
// see [NewProcess].
type Process struct {
	log      hclog.Logger
	launcher *sandbox.Launcher
	life     uint64
	out      *capture.Log
	owner    any // the key of an owner that is no life; nil: a life
	child    *sandbox.Child
	known    atomic.Bool // the life has been told of the child
	gone     bool
}

// Receive implements actor.Actor.
func (a *Process) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *spawnProcess:
		a.spawn(ctx, m)
	case *signalProcess:
		a.signal(m.sig)
	case *killProcess:
		a.kill()
	case *exited:
		a.gone = true
		if a.owner != nil {
			tell(ctx, ctx.Parent(), &ProcessExited{a.owner, m.exit})
			return
		}
		a.kill() // what it left behind; the life does so too, but may be torn down already
		if !m.told {
			tell(ctx, ctx.Parent(), m)
		}
	case *StartProcess:
		a.spawn(ctx, &spawnProcess{cmd: m.Command, close: m.Close})
	case *SignalProcess:
		a.signalGroup(m)
	case *KillProcess:
		a.kill()
	case *actor.Stopping:
		// The way out for a tree that is torn down as it stands, and for a
		// process that does not end. In the ordinary ways the process is gone
		// before its actor.
		if a.child != nil && !a.gone {
			a.kill()
			a.child.Release() // the parent may never have heard of it
			if err := a.child.AwaitGone(killWait); err != nil {
				a.log.Error("the process tree does not end", "error", err)
			}
		}
	}
}

func (a *Process) spawn(ctx actor.Context, m *spawnProcess) {
	self, parent, root := ctx.Self(), ctx.Parent(), ctx.ActorSystem().Root
	m.cmd.Ended = func(e sandbox.Exit) {
		// A life that knows its process is told at once: each stop on the way
		// makes the next life start later.
		known := a.known.Load()
		tell(root, self, &exited{exit: e, told: known})
		if known { // last: the goroutine that is made last runs first
			tell(root, parent, &exited{exit: e})
		}
	}
	child, err := a.launcher.Start(m.cmd)
	for _, f := range m.close {
		f.Close()
	}
	if err != nil {
		for _, o := range m.out {
			o.file.Close()
		}
		if a.owner != nil {
			tell(ctx, ctx.Parent(), &ProcessFailed{a.owner, err})
			return
		}
		tell(ctx, ctx.Parent(), &spawnFailed{err})
		return
	}
	a.child = child
	if a.owner != nil {
		tell(ctx, ctx.Parent(), &ProcessStarted{a.owner, child})
		return
	}
	caps := make([]*capture.Capture, 0, len(m.out))
	for _, o := range m.out {
		caps = append(caps, a.out.Capture(o.file, o.stream, a.life))
	}
	tell(ctx, parent, &spawned{child, caps})
	a.known.Store(true)
}

func (a *Process) signal(sig int) {
	if a.child == nil || a.gone {
		return
	}
	if err := a.child.Signal(syscall.Signal(sig)); err != nil && !errors.Is(err, os.ErrProcessDone) {
		a.log.Warn("cannot signal the process", "pid", a.child.Pid(), "signal", sig, "error", err)
	}
}

func (a *Process) kill() {
	if a.child == nil {
		return
	}
	if err := a.child.KillTree(); err != nil {
		a.log.Error("cannot kill the process tree", "pid", a.child.Pid(), "error", err)
	}
}

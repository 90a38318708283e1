package actors

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// Process is the actor of one OS process with its tree: it starts it, listens
// to its output, signals it, and tells its parent how it starts and ends. For a
// life, which is its parent in a tree of hosts, its output is captured by line,
// and when the process ends, the rest of its tree is killed at once. For others
// see [NewProcess].
type Process struct {
	log      hclog.Logger
	launcher Launcher
	life     uint64
	out      *capture.Log
	owner    any // the key of an owner that is no life; nil: a life
	child    *sandbox.Child
	known    atomic.Bool // the life has been told of the child
	gone     bool        // the owner has been told of the end
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
		tell(ctx, ctx.Parent(), m)
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
		switch {
		case a.child == nil:
		case a.owner == nil && a.ended():
			a.kill() // what it left behind; the life may have been torn down before it could
		case !a.gone:
			a.known.Store(false) // a life hears of the end of this actor, and not of the exit that follows from it
			a.kill()
			a.child.Release() // the parent may never have heard of it
			if err := a.child.AwaitGone(lifecycle.KillWait); err != nil {
				a.log.Error("the process tree does not end", "error", err)
			}
		}
	}
}

func (a *Process) spawn(ctx actor.Context, m *spawnProcess) {
	self, parent, root := ctx.Self(), ctx.Parent(), ctx.ActorSystem().Root
	m.cmd.Ended = func(e sandbox.Exit) {
		// A life that knows its process is told at once: each stop on the way
		// makes the next life start later. One that does not hears of the start
		// first.
		to := self
		if a.known.Load() {
			to = parent
		}
		tell(root, to, &exited{e})
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
	if a.child == nil {
		return
	}
	if err := a.child.Signal(syscall.Signal(sig)); err != nil && !errors.Is(err, os.ErrProcessDone) {
		a.log.Warn("cannot signal the process", "pid", a.child.Pid(), "signal", sig, "error", err)
	}
}

// ended reports whether the process itself has ended.
func (a *Process) ended() bool {
	select {
	case <-a.child.Done():
		return true
	default:
		return false
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

package osprocess

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// Launcher starts processes, as a *[sandbox.Launcher] does.
type Launcher interface {
	Start(*sandbox.Command) (*sandbox.Child, error)
}

// Options are what an owner wants of a process.
type Options struct {
	Log      hclog.Logger
	Launcher Launcher
	Key      any // handed back in what the owner is told; may be nil
	// Whole means that the process and its tree end together: the owner sends Kill
	// after Exited, or calls KillTree, as this actor does when it ends. The launcher
	// then reports Exited directly to the owner, because each hop delays the start of
	// the next process. Without Whole, children that a process leaves behind live on
	// until a Kill or the Release of the child.
	Whole bool
}

// Props returns the props of the actor of a process. Its owner spawns it as its
// child, sends it a Start, and then gets a Started and an Exited, or a Failed. The
// owner has our ends of the descriptors. Stopping the actor before the process has
// ended kills the tree.
func Props(o Options) *actor.Props {
	return safeactor.Props(o.Log, func() actor.Actor { return &process{Options: o} })
}

type process struct {
	Options
	child *sandbox.Child
	known atomic.Bool // an owner that wants the Whole has been told of the child
	gone  bool        // the owner was told of the end by way of this actor
}

// Receive implements actor.Actor.
func (a *process) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *Start:
		a.start(ctx, m)
	case *Signal:
		a.signal(m)
	case *Kill:
		a.kill()
	case *Exited:
		a.gone = true
		safeactor.Tell(ctx, ctx.Parent(), m)
	case *actor.Stopping:
		// The way out for a tree that is torn down as it stands, and for a
		// process that does not end. In the ordinary ways the process is gone
		// before its actor.
		switch {
		case a.child == nil:
		case a.Whole && a.ended():
			a.kill() // what it left behind; the owner may have been torn down before it could
		case !a.gone:
			a.known.Store(false) // the owner hears of the end of this actor, and not of the exit that follows from it
			a.kill()
			a.child.Release() // the owner may never have heard of it
			if err := a.child.AwaitGone(lifecycle.KillWait); err != nil {
				a.Log.Error("the process tree does not end", "error", err)
			}
		}
	}
}

func (a *process) start(ctx actor.Context, m *Start) {
	self, parent, root := ctx.Self(), ctx.Parent(), ctx.ActorSystem().Root
	m.Command.Ended = func(e sandbox.Exit) {
		to := self // an owner that does not know of the process yet hears of the start first
		if a.known.Load() {
			to = parent
		}
		safeactor.Tell(root, to, &Exited{a.Key, e})
	}
	child, err := a.Launcher.Start(m.Command)
	for _, f := range m.Close {
		f.Close()
	}
	if err != nil {
		safeactor.Tell(ctx, parent, &Failed{a.Key, err})
		return
	}
	a.child = child
	safeactor.Tell(ctx, parent, &Started{a.Key, child})
	a.known.Store(a.Whole)
}

func (a *process) signal(m *Signal) {
	switch {
	case a.child == nil:
	case m.Alone:
		if err := a.child.Signal(m.Signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			a.Log.Warn("cannot signal the process", "pid", a.child.Pid(), "signal", int(m.Signal), "error", err)
		}
	case !a.ended():
		if err := sys.Kill(-a.child.Pid(), m.Signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			a.Log.Warn("cannot signal the process group", "pid", a.child.Pid(), "signal", int(m.Signal), "error", err)
		}
	}
}

// ended reports whether the process itself has ended.
func (a *process) ended() bool {
	select {
	case <-a.child.Done():
		return true
	default:
		return false
	}
}

func (a *process) kill() {
	if a.child == nil {
		return
	}
	if err := a.child.KillTree(); err != nil {
		a.Log.Error("cannot kill the process tree", "pid", a.child.Pid(), "error", err)
	}
}

package actors

import (
	"errors"
	"os"
	"syscall"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
)

// NewProcess returns the props of a [Process] whose owner is no life of a host
// but some other actor, which spawns it as its child, sends it a StartProcess,
// and then gets a ProcessStarted and a ProcessExited, or a ProcessFailed, each
// with key, which must not be nil. The descriptors are the owner's business:
// it reads raw bytes from its ends of pipes, or has a terminal. What the
// process leaves behind when it ends by itself lives on until a KillProcess,
// or the Release of the child, which is up to the owner. Stopping the actor
// before the process has ended kills the tree.
func NewProcess(log hclog.Logger, l Launcher, key any) *actor.Props {
	return Guarded(log, func() actor.Actor { return &Process{log: log, launcher: l, owner: key} })
}

// Guarded returns props for an actor of a tree of ours: a panic while it stops
// is logged instead of bringing it back to life.
func Guarded(log hclog.Logger, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	return shield(log, make, opts...)
}

// GuardedRoot is Guarded for the root of a tree: no panic leaves it.
func GuardedRoot(log hclog.Logger, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	return shieldRoot(log, make, opts...)
}

// Tell sends a message, unless it or its receiver is nil.
func Tell(to interface{ Send(*actor.PID, any) }, pid *actor.PID, message any) {
	tell(to, pid, message)
}

// Messages between a Process and an owner that is no life.
type (
	// StartProcess asks for the process, once.
	StartProcess struct {
		Command *sandbox.Command
		Close   []*os.File // the child's ends; closed once it has them, or has not
	}
	// SignalProcess asks for a signal to the process group, or with Alone to the
	// process. It is not an error when the process has ended.
	SignalProcess struct {
		Signal syscall.Signal
		Alone  bool
	}
	// KillProcess asks for the end of the process and of everything it started,
	// also after it has ended.
	KillProcess struct{}

	// ProcessStarted says that it runs.
	ProcessStarted struct {
		Key   any
		Child *sandbox.Child // the owner releases it, after Done
	}
	// ProcessFailed says that it could not be started. Err is a
	// *sandbox.StartError mostly.
	ProcessFailed struct {
		Key any
		Err error
	}
	// ProcessExited says that the process itself has ended.
	ProcessExited struct {
		Key  any
		Exit sandbox.Exit
	}
)

func (a *Process) signalGroup(m *SignalProcess) {
	if m.Alone {
		a.signal(int(m.Signal))
		return
	}
	if a.child != nil && !a.ended() {
		if err := sys.Kill(-a.child.Pid(), m.Signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			a.log.Warn("cannot signal the process group", "pid", a.child.Pid(), "signal", int(m.Signal), "error", err)
		}
	}
}

package supervisor

import (
	"fmt"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
)

// Restart is the strategy of a host towards its lives. Its directive is always
// Stop: a life fails as a whole and is replaced as a whole. Whether, and when,
// another one follows is asked of the rules: the host gets the failure, and
// package lifecycle decides with crash window and back-off. The library's own
// Restart is never used; it keeps the mailbox, so that messages of an old life
// would reach the new one, and can bring a stopped actor back.
type Restart struct{}

// HandleFailure implements actor.SupervisorStrategy.
func (Restart) HandleFailure(sys *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	host, ok := parent.(actor.Context)
	if !ok {
		parent.StopChildren(child)
		return
	}
	actors.ReportFailure(sys, host.Self(), child, asFailure(reason))
	parent.StopChildren(child)
}

// asFailure turns a panic, which is a defect, into a failure of the life like
// any other.
func asFailure(reason any) *actors.Failure {
	if f, ok := reason.(*actors.Failure); ok {
		return f
	}
	return &actors.Failure{Cause: lifecycle.CauseInternal, Detail: fmt.Sprintf("panic: %v", reason)}
}

// Contain is the strategy of the levels above: root towards groups, group
// towards hosts, life towards its process and connection. What fails there is
// a defect of this program: it is logged, the failed actor is stopped with all
// below it, and its parent is told by the usual Terminated. Nothing escalates
// into the library's guardian, which would end the program.
type Contain struct {
	Log   hclog.Logger
	Level string // for the log: "host", "group", "part of a life"
}

// HandleFailure implements actor.SupervisorStrategy.
func (c Contain) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	c.Log.Error("defect: the actor of a "+c.Level+" failed and is stopped", "actor", child.Id, "reason", reason,
		"message", fmt.Sprintf("%T", message), "stack", string(debug.Stack()))
	parent.StopChildren(child)
}

var (
	_ actor.SupervisorStrategy = Restart{}
	_ actor.SupervisorStrategy = Contain{}
)

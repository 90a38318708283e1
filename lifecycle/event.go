package lifecycle

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/internal/signame"
)

// By says who asked for a start or a stop.
type By string

// Who can ask.
const (
	ByTree       By = "tree"       // the supervisor, at its own start or stop
	ByPerson     By = "person"     // an operation: a command or an API call
	ByProgram    By = "program"    // a program that needs the host; it does not overrule a person
	ByCall       By = "call"       // the first call to a lazy host
	ByDependent  By = "dependent"  // a host that needs this one
	ByGroup      By = "group"      // the strategy of the group
	BySelf       By = "self"       // the host ended by itself
	ByRule       By = "rule"       // the restart rule of the host
	ByDependency By = "dependency" // a host that this one needs: it has failed, or is back
)

// Event is what happened to a host. The types below are all there are.
type Event interface{ event() }

// Start comes from the group: the host may run now. In failed it opens a new
// window; in restarting it cuts the wait short; while running it changes
// nothing. It is void while the group has not heard everything that the host
// told it: the group answers that with another one.
type Start struct{ By By }

// Stop asks for the host to end and stay down. Reason is shown to people. With
// Back the group starts the host again by itself; this is not asked of a host
// that is down already.
type Stop struct {
	By     By
	Reason string
	Back   bool
}

// Wish asks for the host to run; the host asks its group, see [AskStart].
type Wish struct{ By By }

// Reset clears the crash window and the back-off; a failed host starts again.
type Reset struct{}

// Heard comes from the group before whatever follows from an [AskStart] or a
// [TellStop].
type Heard struct{}

// DependencyFailed tells a host that is to start that it cannot.
type DependencyFailed struct{ Name string }

// Waits tells a host that is to start what its group is waiting for.
type Waits struct{ For string }

// Placed tells that a life has the place that [TakePlace] asked for.
type Placed struct{ Life uint64 }

// Ready tells that the handshake of a life is done (without a protocol: that
// it is spawned).
type Ready struct{ Life uint64 }

// Hung and Alive are the liveness verdicts about a life.
type (
	Hung struct {
		Life   uint64
		Silent time.Duration // how long there was no sign of life
	}
	Alive struct{ Life uint64 }
)

// Ended tells that a life has ended or has to be ended. Nothing is left to
// run in it, but its actor and its processes may still be on their way out; Gone
// follows when they are out.
type Ended struct {
	Life   uint64
	Cause  Cause
	Status ExitStatus // CauseExit: how the process ended
	Detail string     // evidence for people: an error text, what was wrong with the bytes
}

// Gone tells that nothing of a life is in the way of the next one: its whole
// process tree has ended, or it never had one. Left, when it is not "", says
// what of the tree has not ended although it was killed, and is not waited for
// any longer.
type Gone struct {
	Life uint64
	Left string
}

// Fired tells that a timer set by [SetTimer] has run out.
type Fired struct{ Timer Timer }

func (Start) event()            {}
func (Stop) event()             {}
func (Wish) event()             {}
func (Operate) event()          {}
func (Reset) event()            {}
func (Heard) event()            {}
func (DependencyFailed) event() {}
func (Waits) event()            {}
func (Placed) event()           {}
func (Ready) event()            {}
func (Hung) event()             {}
func (Alive) event()            {}
func (Ended) event()            {}
func (Gone) event()             {}
func (Fired) event()            {}

// Cause says in which way a life ended.
type Cause string

// The causes.
const (
	CauseExit         Cause = "exit"         // the process ended
	CauseSpawn        Cause = "spawn"        // it could not be started
	CauseTimeout      Cause = "timeout"      // the handshake never finished
	CauseProtocol     Cause = "protocol"     // its bytes broke the protocol
	CauseVersion      Cause = "version"      // it speaks another version: trying again cannot help
	CauseRefused      Cause = "refused"      // what its sandbox grants was replaced: a person has to look before it is tried again
	CauseClosed       Cause = "closed"       // it closed its connection and lived on, or ended with 0 where that is no good end
	CauseUnresponsive Cause = "unresponsive" // it was killed for giving no sign of life
	CauseInternal     Cause = "internal"     // an actor of the life failed
	CauseShortage     Cause = "shortage"     // the supervisor lacked something to start it: descriptors, memory, processes
	CauseStuck        Cause = "stuck"        // its process did not end although it was killed
)

// Timer names one of the timers of a host.
type Timer string

// The timers of a host. Setting one that runs replaces it.
const (
	StartTimer   Timer = "start"    // spawn to handshake done
	QuietTimer   Timer = "quiet"    // spawn to the report that no handshake has come
	KillTimer    Timer = "kill"     // unresponsive to killed
	BackoffTimer Timer = "backoff"  // restarting to starting
	ShortTimer   Timer = "shortage" // a start that the supervisor was too short for, to its next try
	RetryTimer   Timer = "retry"    // failed to starting
)

// Effect is what the caller has to do. The types below are all there are.
type Effect interface{ effect() }

// Transition tells that the state has changed.
type Transition struct {
	From, To State
	Life     uint64
	Reason   string
	By       By // who asked, for starting, stopping and stopped
}

// SpawnLife asks for a new life. There is no other life when it is asked for.
type SpawnLife struct{ Life uint64 }

// TakePlace asks for a place among the hosts that may start at once, for a life
// that is spawned when [Placed] says that it has one. It comes before the
// Transition to starting. GivePlace gives the place back, or the wish for one.
type (
	TakePlace struct{ Life uint64 }
	GivePlace struct{ Life uint64 }
)

// StopLife asks for the life to be taken down the rungs of a [Ladder].
type StopLife struct{ Life uint64 }

// KillLife asks for the process tree of the life to be killed now; the life
// then ends with the cause given.
type KillLife struct {
	Life   uint64
	Cause  Cause
	Detail string
}

// SetTimer and CancelTimer run the timers of the host.
type (
	SetTimer struct {
		Timer Timer
		After time.Duration
	}
	CancelTimer struct{ Timer Timer }
)

// AskStart tells the group that the host wants to run. The group answers with
// [Heard] and then, now or later, with [Start], with [DependencyFailed], or with
// a [Stop] that says why not.
type AskStart struct{ By By }

// TellStop tells the group that a person has stopped the host. The group
// answers with [Heard].
type TellStop struct{}

// Slow tells that a start is over its time-out and waited for.
type Slow struct {
	Life  uint64
	After time.Duration
}

// Quiet tells that a start has been without a handshake for After.
type Quiet struct {
	Life  uint64
	After time.Duration
}

// Shortage tells that a start could not be made for want of something that the
// supervisor needs, and is tried again after Wait.
type Shortage struct {
	Life   uint64
	Detail string
	Wait   time.Duration
}

func (Transition) effect()  {}
func (Shortage) effect()    {}
func (SpawnLife) effect()   {}
func (TakePlace) effect()   {}
func (GivePlace) effect()   {}
func (StopLife) effect()    {}
func (KillLife) effect()    {}
func (SetTimer) effect()    {}
func (CancelTimer) effect() {}
func (AskStart) effect()    {}
func (TellStop) effect()    {}
func (Done) effect()        {}
func (Slow) effect()        {}
func (Quiet) effect()       {}

// Reason puts the end of a life in words.
func (e Ended) Reason() string {
	switch e.Cause {
	case CauseExit:
		if e.Detail != "" {
			return e.Detail // it says more: "out of memory"
		}
		return e.Status.String()
	case CauseVersion, CauseProtocol, CauseSpawn, CauseRefused, CauseInternal:
		return string(e.Cause) + ": " + e.Detail
	}
	if e.Detail != "" {
		return e.Detail
	}
	return string(e.Cause)
}

// String returns "exit 3" or "killed by SIGKILL".
func (s ExitStatus) String() string {
	if s.Signal != 0 {
		return "killed by " + signame.Of(s.Signal)
	}
	return fmt.Sprintf("exit %d", s.Code)
}

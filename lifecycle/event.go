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
	ByProgram    By = "program"    // a program that needs the host, or needs it no longer; it does not overrule a person
	BySchedule   By = "schedule"   // the schedule of the host; it does not overrule a person
	ByCall       By = "call"       // the first call to a lazy host
	ByDependent  By = "dependent"  // a host that needs this one
	ByGroup      By = "group"      // the strategy of the group
	BySelf       By = "self"       // the host ended by itself
	ByDone       By = "done"       // a job ended by itself, with success
	ByRule       By = "rule"       // the restart rule of the host
	ByDependency By = "dependency" // a host that this one needs: it has failed, or is back
	ByReplace    By = "replace"    // a new configuration of the host
)

// Event is what happened to a host. The types below are all there are.
type Event interface{ event() }

// Start comes from the group: the host may run now. In failed it opens a new
// window; in restarting it cuts the wait short; while running it changes
// nothing.
//
// Ack, here and in the other commands of a group, is the number of the host's
// last request that the group had acted on when it gave the command. While the
// host has made another one, a start is superseded: the group answers that
// request with another command.
type Start struct {
	By  By
	Ack int
}

// Stop asks for the host to end and stay down. Reason is shown to people. With
// Back the group starts the host again by itself; this is not asked of a host
// that is down already.
type Stop struct {
	By     By
	Reason string
	Back   bool
	Ack    int
}

// Replace gives the host the rules of a new configuration. [Adopt] follows: at once, or
// if the present life must not go on under them (Restart), when nothing of it is left.
// Then the next life begins. A host that has failed is started; one that is down is
// started if it is Eager and no person stopped it. A job that is done
// is started only with Restart.
//
// A Replace before the Adopt of another takes its place.
type Replace struct {
	Rules   HostRules
	Restart bool
}

// Wish asks for the host to run; the host asks its group, see [AskStart].
type Wish struct{ By By }

// Reset clears the crash window and the back-off; a failed host starts again.
type Reset struct{}

// DependencyFailed tells a host that is to start that it cannot.
type DependencyFailed struct {
	Name string
	Ack  int
}

// StopRefused answers [AskStop]: the host goes on.
type StopRefused struct{ Ack int }

// Waits tells a host that is to start what its group is waiting for.
type Waits struct {
	For string
	Ack int
}

// SlotGranted tells that a life has the start slot that [TakeSlot] asked for, SlotQueued
// that it has to wait for it.
type (
	SlotGranted struct{ Life uint64 }
	SlotQueued  struct{ Life uint64 }
)

// Ready tells that the handshake of a life is done (without a protocol: that
// it is spawned, or that it was found healthy).
type Ready struct{ Life uint64 }

// Hung and Alive are the liveness verdicts about a life, each from one kind of evidence. A
// host answers again when no kind says otherwise.
type (
	// Hung about a life that is starting keeps it from being Ready, and says why.
	Hung struct {
		Life  uint64
		For   time.Duration // how long it has given no sign of life, or no check has succeeded
		Check string        // what the last check says; "": no check, but silence
	}
	Alive struct {
		Life  uint64
		Check bool // a check has succeeded; else there was a sign of life
	}
)

// Ended tells that a life has ended or has to be ended, and what is left of it.
// Nothing is left to run in it, but its actor and its processes may still be on
// their way out.
type Ended struct {
	Life    uint64
	Cause   Cause
	Status  ExitStatus // CauseExit: how the process ended
	Detail  string     // evidence for people: an error text, what was wrong with the bytes
	Cleared bool       // what has caused the crashes so far, this one included, is somewhere else now
	Asked   int        // who was asked for advice about the end: [Advice] follows from each
	Rest    Rest
}

// Advice is what one of those has to say who were asked, see [Ended]. The machine waits
// for all of them, for [AdviceWait] at most, before it decides what follows the end. It does not wait for
// advice about an end that was asked for. Advice that comes later changes no
// decision; with Cleared it resets the crash window.
type Advice struct {
	Life    uint64
	Cleared bool // as in [Ended]
}

// AdviceWait is how long the machine waits for [Advice].
const AdviceWait = time.Second

// Vanished tells that the actor of a life that has ended is gone, and what is left
// of the life.
type Vanished struct {
	Life uint64
	Rest Rest
}

// Rest is what is left of a life that has ended.
type Rest uint8

// What may be left.
const (
	RestActor   Rest = iota // its actor, and all else: Vanished follows
	RestTree                // processes: their end is to be awaited
	RestNothing             // nothing, as if Gone followed
)

// Torn tells that the actor of the host ends, and its parts with it. Nothing
// follows from any event after that.
type Torn struct{}

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
func (Replace) event()          {}
func (Operate) event()          {}
func (Reset) event()            {}
func (DependencyFailed) event() {}
func (Waits) event()            {}
func (StopRefused) event()      {}
func (SlotGranted) event()      {}
func (SlotQueued) event()       {}
func (Ready) event()            {}
func (Hung) event()             {}
func (Alive) event()            {}
func (Ended) event()            {}
func (Advice) event()           {}
func (Vanished) event()         {}
func (Torn) event()             {}
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

// Timer is one of the timers of a host: a number below [Timers].
type Timer uint8

// The timers of a host. Setting one that runs replaces it.
const (
	StartTimer   Timer = iota // spawn to handshake done
	QuietTimer                // spawn to the report that no handshake has come
	KillTimer                 // unresponsive to killed
	BackoffTimer              // restarting to starting
	ShortTimer                // a start that the supervisor was too short for, to its next try
	RetryTimer                // failed to starting
	AdviceTimer               // the end of a life to the decision without advice

	Timers = iota // how many there are
)

// Effect is what the caller has to do. The types below are all there are.
type Effect interface{ effect() }

// Transition tells that the state has changed.
type Transition struct {
	From, To State
	Life     uint64
	Reason   string
	By       By   // who asked, for starting, stopping and stopped
	First    bool // the host has been in From since it was made
	End      bool // it follows from the end of the life
}

// SpawnLife asks for a new life. There is no other life when it is asked for.
type SpawnLife struct{ Life uint64 }

// TakeSlot asks for a start slot, one of MaxStarting, for a life
// that is spawned when [SlotGranted] says that it has one. The answer must be the next
// event: SlotGranted, or [SlotQueued] and later SlotGranted. The Transition to starting follows
// the answer. GiveSlot gives the slot back, or the wish for one.
type (
	TakeSlot struct{ Life uint64 }
	GiveSlot struct{ Life uint64 }
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

// AwaitTree asks for the end of the life's processes to be awaited. Gone follows.
type AwaitTree struct{ Life uint64 }

// SetTimer and CancelTimer run the timers of the host.
type (
	SetTimer struct {
		Timer Timer
		After time.Duration
	}
	CancelTimer struct{ Timer Timer }
)

// AskStart tells the group that the host wants to run. The group answers, now or
// later, with [Start], with [DependencyFailed], or with a [Stop] that says why
// not. TellStop tells it that a person has stopped the host. AskStop asks whether the
// host may be stopped that no program needs any longer; the group answers with a [Stop]
// or with [StopRefused]. They are requests, numbered from 1 in one sequence.
type (
	AskStart struct {
		By     By
		Number int
	}
	TellStop struct{ Number int }
	AskStop  struct{ Number int }
)

// Adopt tells that the configuration of the last [Replace] is in force. What follows it
// belongs to that one: a [SpawnLife], for example.
type Adopt struct{}

// Unadvised tells that some [Advice] did not come within [AdviceWait], and that the end
// of the life is decided without it.
type Unadvised struct{ Life uint64 }

// Slow tells that a start is over its time-out and waited for.
type Slow struct {
	Life  uint64
	After time.Duration
}

// Quiet tells that a start has been without a handshake for some time, and what
// that usually means.
type Quiet struct {
	Life   uint64
	Reason string
}

// Shortage tells that a start could not be made for want of something that the
// supervisor needs, and is tried again after Wait.
type Shortage struct {
	Life   uint64
	Detail string
	Wait   time.Duration
}

// Tried tells, once, that the first start has had its outcome: the host runs, has
// crashed or failed, or its start takes long.
type Tried struct{}

func (Transition) effect()  {}
func (Tried) effect()       {}
func (Shortage) effect()    {}
func (SpawnLife) effect()   {}
func (TakeSlot) effect()    {}
func (GiveSlot) effect()    {}
func (StopLife) effect()    {}
func (KillLife) effect()    {}
func (AwaitTree) effect()   {}
func (SetTimer) effect()    {}
func (CancelTimer) effect() {}
func (AskStart) effect()    {}
func (TellStop) effect()    {}
func (AskStop) effect()     {}
func (Done) effect()        {}
func (Unadvised) effect()   {}
func (Adopt) effect()       {}
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

package blame

import (
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// Home is the name of the cell that is the host itself.
const Home = ""

// Event is an input of the machine; the types below implement it.
type Event interface{ event() }

// LifeStarted reports that a cell has a new life, without active extensions.
type LifeStarted struct {
	Cell string
	Life uint64
}

// LifeEnded reports that a life has ended as requested.
type LifeEnded struct {
	Cell string
	Life uint64
}

// Began and Finished report an activation; a failed one is finished too.
type (
	Began struct {
		Cell string
		Life uint64
		ID   extensions.ID
	}
	Finished struct {
		Cell string
		Life uint64
		ID   extensions.ID
	}
)

// CallBegan and CallEnded report a call that an extension answers. The caller chooses
// the call numbers, which must be unique within the life.
type (
	CallBegan struct {
		Cell   string
		Life   uint64
		Call   uint64
		ID     extensions.ID
		Method string
		Age    time.Duration // how long ago it began
	}
	CallEnded struct {
		Cell string
		Life uint64
		Call uint64
	}
)

// Returned reports a number of calls that have ended without single reports.
type Returned struct {
	ID     extensions.ID
	Method string
	Count  int
	Spent  time.Duration // their durations together
}

// Uncaught reports an uncaught error of the extension that its stack leads to (see
// [Index]).
type Uncaught struct {
	Cell  string
	Life  uint64
	ID    extensions.ID
	Error string
}

// Share is an extension's share of the processor, 0 to 1.
type Share struct {
	ID    extensions.ID `json:"id"`
	Share float64       `json:"share"`
}

// Profile reports which extensions used the processor while the host hangs. It is
// ignored for a life that does not hang.
type Profile struct {
	Cell   string
	Life   uint64
	Shares []Share
}

// Source is what a [Trace] is from.
type Source string

// The sources.
const (
	Stack       Source = "stack"       // the stack that the runtime printed when it aborted
	Blocking    Source = "blocking"    // the stack of the call in which the event loop waited
	Native      Source = "native"      // native code crashed, of which these have some
	Sender      Source = "sender"      // of the message that was too large
	Allocations Source = "allocations" // while the memory grew
)

// Trace reports that something of the crash itself leads to extensions, before the crash is
// reported. Shares are how far it does, 0 to 1: those below a half are ignored. With Call,
// it is the extension of that call, which must be open.
type Trace struct {
	Cell   string
	Life   uint64
	Source Source
	Shares []Share
	Call   uint64
}

// Hung and Alive report that a life is unresponsive, and that it answers again.
type (
	Hung struct {
		Cell string
		Life uint64
	}
	Alive struct {
		Cell string
		Life uint64
	}
)

// Kind is the kind of a crash.
type Kind string

// The kinds. The last three are no extension's fault.
const (
	Exit     Kind = "exit"          // it ended by itself, by a code or a signal
	Hang     Kind = "hang"          // it was killed for being unresponsive
	Memory   Kind = "out of memory" // reported by the runtime or the kernel
	Protocol Kind = "protocol"      // its bytes violated the protocol, or a message was too large
	Version  Kind = "version"       // it is a different build
	Spawn    Kind = "spawn"         // it could not be started, or never became ready
	Outside  Kind = "outside"       // another process killed it
)

// hostFault returns why a crash of that kind is no extension's fault; "" if it may be.
func (k Kind) hostFault() string {
	switch k {
	case Version:
		return "it is a different build"
	case Spawn:
		return "it never became ready"
	case Outside:
		return "another process ended it"
	}
	return ""
}

// Crashed reports that a life has ended without a request.
type Crashed struct {
	Cell   string
	Life   uint64
	Kind   Kind
	Reason string // for people: "killed by SIGABRT"
}

// Isolate and Release are requests of a person.
type (
	Isolate struct{ ID extensions.ID }
	Release struct{ ID extensions.ID }
)

// Forget reports that extensions were removed.
type Forget struct{ IDs []extensions.ID }

// Fired reports that the timer set by [SetTimer] has expired.
type Fired struct{}

func (LifeStarted) event() {}
func (LifeEnded) event()   {}
func (Began) event()       {}
func (Finished) event()    {}
func (CallBegan) event()   {}
func (CallEnded) event()   {}
func (Returned) event()    {}
func (Uncaught) event()    {}
func (Profile) event()     {}
func (Trace) event()       {}
func (Hung) event()        {}
func (Alive) event()       {}
func (Crashed) event()     {}
func (Isolate) event()     {}
func (Release) event()     {}
func (Forget) event()      {}
func (Fired) event()       {}

// Purpose is the purpose of a cell.
type Purpose string

// The purposes.
const (
	AtHome     Purpose = "home"
	Trial      Purpose = "trial"      // one suspect, or half of several; its crashes do not count in the home's window
	Quarantine Purpose = "quarantine" // the culprit, or several of which one is
	Settled    Purpose = "settled"    // a cleared half; it goes home when its host ends
)

// Effect is an instruction for the caller; the types below implement it.
type Effect interface{ effect() }

// Open creates a cell: a host for the extensions of the following moves. Close
// removes an empty cell.
type (
	Open struct {
		Cell    string
		Purpose Purpose
	}
	Close struct{ Cell string }
)

// Turn changes the purpose of a cell.
type Turn struct {
	Cell    string
	Purpose Purpose
}

// Move moves an extension to another cell.
type Move struct {
	ID       extensions.ID
	From, To string
}

// Forgive resets the crash window of a cell, because the cause of its crashes has
// moved to another cell.
type Forgive struct{ Cell string }

// Record keeps a decision.
type Record struct{ Decision Decision }

// SetTimer and CancelTimer control the one timer of the machine; SetTimer replaces
// the previous setting.
type (
	SetTimer    struct{ After time.Duration }
	CancelTimer struct{}
)

func (Open) effect()        {}
func (Close) effect()       {}
func (Turn) effect()        {}
func (Move) effect()        {}
func (Forgive) effect()     {}
func (Record) effect()      {}
func (SetTimer) effect()    {}
func (CancelTimer) effect() {}

package blame

import (
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// Home is the name of the cell that is the host itself.
const Home = ""

// Event is what happened. The types below are all there are.
type Event interface{ event() }

// LifeStarted tells that a cell has a new life, in which nobody is active yet.
type LifeStarted struct {
	Cell string
	Life uint64
}

// LifeEnded tells that a life has ended because somebody wanted it to.
type LifeEnded struct {
	Cell string
	Life uint64
}

// Began and Finished tell of an activation; a failed one is finished, too.
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

// CallBegan and CallEnded tell of a call that an extension answers. Call
// numbers are the caller's, unique within the life.
type (
	CallBegan struct {
		Cell   string
		Life   uint64
		Call   uint64
		ID     extensions.ID
		Method string
	}
	CallEnded struct {
		Cell string
		Life uint64
		Call uint64
	}
)

// Returned tells of so many calls that have come and gone without a word on each
// of them.
type Returned struct {
	ID     extensions.ID
	Method string
	Count  int
}

// Uncaught tells of an error that nobody caught, of the extension that its
// stack leads to (see [Index]).
type Uncaught struct {
	Cell  string
	Life  uint64
	ID    extensions.ID
	Error string
}

// Share is how much of the processor an extension had, 0 to 1.
type Share struct {
	ID    extensions.ID `json:"id"`
	Share float64       `json:"share"`
}

// Profile tells who has had the processor while the host hangs. Of a life that
// does not hang it says nothing.
type Profile struct {
	Cell   string
	Life   uint64
	Shares []Share
}

// Hung and Alive tell that a life is unresponsive, and that it answers again.
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

// Kind says what sort of an end a crash was.
type Kind string

// The kinds. All but the first two are no extension's fault.
const (
	Exit     Kind = "exit"          // it ended by itself, by a code or a signal
	Hang     Kind = "hang"          // it was killed for being unresponsive
	Memory   Kind = "out of memory" // the runtime or the kernel said so
	Version  Kind = "version"       // it is of another build
	Spawn    Kind = "spawn"         // it could not be started, or never got ready
	Protocol Kind = "protocol"      // its bytes broke the protocol
	Outside  Kind = "outside"       // somebody else killed it
)

// nobody says why an end of that kind is no extension's fault.
func (k Kind) nobody() string {
	switch k {
	case Memory:
		return "they share their memory"
	case Version:
		return "it is of another build"
	case Spawn:
		return "it never got ready"
	case Protocol:
		return "its messages were broken"
	case Outside:
		return "somebody else ended it"
	}
	return string(k)
}

// Crashed tells that a life has ended and nobody wanted it to.
type Crashed struct {
	Cell   string
	Life   uint64
	Kind   Kind
	Reason string // for people: "killed by SIGABRT"
}

// Isolate and Release are a person's wish.
type (
	Isolate struct{ ID extensions.ID }
	Release struct{ ID extensions.ID }
)

// Forget tells that extensions were removed.
type Forget struct{ IDs []extensions.ID }

// Fired tells that the timer set by [SetTimer] has run out.
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
func (Hung) event()        {}
func (Alive) event()       {}
func (Crashed) event()     {}
func (Isolate) event()     {}
func (Release) event()     {}
func (Forget) event()      {}
func (Fired) event()       {}

// Purpose says what a cell is for.
type Purpose string

// The purposes.
const (
	AtHome     Purpose = "home"
	Trial      Purpose = "trial"      // a half of the suspects; its lives are not counted in the home's window
	Quarantine Purpose = "quarantine" // the guilty one, or those of whom one is
	Settled    Purpose = "settled"    // a half that was cleared; it goes home when its host ends
)

// Effect is what the caller has to do. The types below are all there are.
type Effect interface{ effect() }

// Open tells that a cell is wanted: a host of its own, with the members that
// the moves after it name. Close tells that nobody is left in one.
type (
	Open struct {
		Cell    string
		Purpose Purpose
	}
	Close struct{ Cell string }
)

// Turn tells that a cell goes on with another purpose.
type Turn struct {
	Cell    string
	Purpose Purpose
}

// Move puts an extension into another cell.
type Move struct {
	ID       extensions.ID
	From, To string
}

// Forgive takes the crashes of a cell off its account: what has caused them is
// somewhere else now.
type Forgive struct{ Cell string }

// Record keeps a decision.
type Record struct{ Decision Decision }

// SetTimer and CancelTimer run the one timer of the machine; setting it anew
// replaces it.
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

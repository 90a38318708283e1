package lifecycle

// GroupEvent is what happened in a group. The types below are all there are.
type GroupEvent interface{ groupEvent() }

// Boot starts what is not lazy, with all it depends on.
type Boot struct{}

// Shutdown stops all, dependents before what they depend on. Nothing is
// started any more.
type Shutdown struct{}

// Want asks for a host to run, see [AskStart]. What it depends on and does not
// run is started for it, except: a host that a person stopped and one that has
// failed come back for nobody but a person.
type Want struct {
	Name   string
	By     By
	Number int // of the request
}

// Unwant tells that a person has stopped a host, see [TellStop].
type Unwant struct {
	Name   string
	Number int
}

// Release asks for a host to be stopped that no program needs any longer, see [AskStop].
// It is not stopped while a host that depends on it runs or is to run.
type Release struct {
	Name   string
	Number int
}

// Changed tells the state of a host, after each change and once in answer to
// each command (which may have changed nothing).
type Changed struct {
	Name   string
	To     State
	By     By   // who asked, for stopped
	Answer bool // this answers a command; changes were told before
	Lost   bool // its actor is gone; what it was told is not answered
}

// Join adds a member and starts it unless it is lazy; Rejoin gives one another
// configuration, which starts and stops nothing by itself; Leave removes one that is at
// rest.
type (
	Join   struct{ Member Member }
	Rejoin struct{ Member Member }
	Leave  struct{ Name string }
)

func (Boot) groupEvent()     {}
func (Shutdown) groupEvent() {}
func (Want) groupEvent()     {}
func (Unwant) groupEvent()   {}
func (Release) groupEvent()  {}
func (Changed) groupEvent()  {}
func (Join) groupEvent()     {}
func (Rejoin) groupEvent()   {}
func (Leave) groupEvent()    {}

// GroupEffect is what the caller has to do. The types below are all there are.
type GroupEffect interface{ groupEffect() }

// Command gives a host an event: [Start], [Stop], [DependencyFailed], [Waits] or
// [StopRefused]. All but the last two are answered by a [Changed].
type Command struct {
	Name  string
	Event Event
}

// Escalate tells that a host has given up and what it meant for the group.
type Escalate struct{ Name string }

// AtRestAll tells that a shutdown is complete.
type AtRestAll struct{}

func (Command) groupEffect()   {}
func (Escalate) groupEffect()  {}
func (AtRestAll) groupEffect() {}

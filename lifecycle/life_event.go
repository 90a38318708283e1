package lifecycle

import "time"

// LifeEvent is what happened to a life: a [LifeNews], [Torn], or one of the types
// below.
type LifeEvent interface{ lifeEvent() }

// LifeNews is an event that says no more than its name.
type LifeNews string

// The news.
const (
	Begin         LifeNews = "begin"
	Spawned       LifeNews = "spawned"     // the process was started
	Arrived       LifeNews = "arrived"     // the host has come to the socket that was made for it
	Connected     LifeNews = "connected"   // the connection was made
	HandshakeDone LifeNews = "handshake"   // the host and we understand each other
	Drained       LifeNews = "drained"     // no call is open any more
	OutputRead    LifeNews = "output-read" // the ended process's output has been read
	LifeTimeout   LifeNews = "timeout"     // the timer set by [SetLifeTimer] has run out
)

type (
	// PreparationDone tells that what [Prepare] asked for is there, or what was wrong.
	PreparationDone struct{ Fault Fault }
	// NotStarted tells that there is no process, and why.
	NotStarted struct{ Fault Fault }
	// StreamEnded tells that nothing more comes from the host, and what that means by
	// itself. Truncated says that it ended within a frame.
	StreamEnded struct {
		Fault     Fault
		Truncated bool
	}
	// WriteFailed tells that the host reads no more, and what that means by itself.
	WriteFailed struct{ Fault Fault }
	// StopAsked asks for the end of the life. Silent says that the host does not
	// answer, so that a goodbye makes no sense.
	StopAsked struct{ Silent bool }
	// MustEnd asks for the process to be killed for a reason.
	MustEnd struct{ Fault Fault }
	// Exited tells that the process has ended, and the limit that it ended at, if that
	// is why.
	Exited struct {
		Status ExitStatus
		Limit  string
	}
	// Explained answers [Explain]: what the exit means, "" for nothing more than it
	// says, and whether another start would end the same way.
	Explained struct {
		Meaning string
		Final   bool
	}
	// PartEnded tells that what stands for the process, or the connection, has ended
	// before the life.
	PartEnded struct{ Connection bool }
)

func (LifeNews) lifeEvent()        {}
func (PreparationDone) lifeEvent() {}
func (NotStarted) lifeEvent()      {}
func (StreamEnded) lifeEvent()     {}
func (WriteFailed) lifeEvent()     {}
func (StopAsked) lifeEvent()       {}
func (MustEnd) lifeEvent()         {}
func (Exited) lifeEvent()          {}
func (Explained) lifeEvent()       {}
func (PartEnded) lifeEvent()       {}
func (Torn) lifeEvent()            {}

// LifeEffect is what the caller has to do for a life: a [LifeOrder], or one of the
// types below. What [Launch], [Connect], [ReadOutput] and [Explain] come to at once is
// the next event.
type LifeEffect interface{ lifeEffect() }

// LifeOrder is an effect that says no more than its name.
type LifeOrder string

// The orders.
const (
	Prepare         LifeOrder = "prepare"         // what the process needs first; PreparationDone follows
	CancelPrepare   LifeOrder = "prepare no more" // PreparationDone may follow
	Launch          LifeOrder = "launch"          // NotStarted or Spawned follows
	Connect         LifeOrder = "connect"         // take the stream of a host that has arrived
	DrainCalls      LifeOrder = "drain the calls" // let no new one in; Drained follows when none is open
	SayGoodbye      LifeOrder = "say goodbye"     // ask the host to end, as its protocol has it
	SignalProcess   LifeOrder = "signal"          // send the configured signal
	KillProcess     LifeOrder = "kill"            // SIGKILL to the process tree
	CancelLifeTimer LifeOrder = "no timer"
	ReadOutput      LifeOrder = "read the output" // OutputRead follows when that of the ended process is read
)

type (
	// SetLifeTimer sets the one timer of the life.
	SetLifeTimer struct{ After time.Duration }
	// CutOffCalls ends the calls that were not answered while they were waited for.
	CutOffCalls struct{ After time.Duration }
	// Explain asks what an exit means: the protocol, or the last line that the process
	// has printed. The answer must be the next event.
	Explain struct {
		Status ExitStatus
		Ready  bool // the handshake was done
	}
	// EndLife is the end of the life.
	EndLife struct {
		Fault    Fault
		Expected bool // somebody has asked for it
		Stuck    bool // the process is still there: what is known of that belongs to the detail
	}
)

func (LifeOrder) lifeEffect()    {}
func (SetLifeTimer) lifeEffect() {}
func (CutOffCalls) lifeEffect()  {}
func (Explain) lifeEffect()      {}
func (EndLife) lifeEffect()      {}

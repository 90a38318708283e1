package lifecycle

import "time"

// LifeEvent is what happened to a life. The types below, and [Torn], are all there
// are.
type LifeEvent interface{ lifeEvent() }

type (
	// Begin begins the life.
	Begin struct{}
	// PreparationDone tells that what [Prepare] asked for is there, or what was wrong.
	PreparationDone struct{ Fault Fault }
	// NotStarted tells that there is no process, and why.
	NotStarted struct{ Fault Fault }
	// Spawned tells that the process was started.
	Spawned struct{}
	// Arrived tells that the host has come to the socket that was made for it.
	Arrived struct{}
	// Connected tells that the connection was made.
	Connected struct{}
	// HandshakeDone tells that the host and we understand each other.
	HandshakeDone struct{}
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
	// Drained tells that no call is open any more.
	Drained struct{}
	// MustEnd asks for the process to be killed for a reason.
	MustEnd struct{ Fault Fault }
	// Exited tells that the process has ended, and the limit that it ended at, if that
	// is why.
	Exited struct {
		Status ExitStatus
		Limit  string
	}
	// OutputRead tells that all the output of the ended process has been read.
	OutputRead struct{}
	// Explained answers [Explain]: what the exit means, "" for nothing more than it
	// says, and whether another start would end the same way.
	Explained struct {
		Meaning string
		Final   bool
	}
	// PartEnded tells that what stands for the process, or the connection, has ended
	// before the life.
	PartEnded struct{ Connection bool }
	// LifeTimeout tells that the timer set by [SetLifeTimer] has run out.
	LifeTimeout struct{}
)

func (Begin) lifeEvent()           {}
func (PreparationDone) lifeEvent() {}
func (NotStarted) lifeEvent()      {}
func (Spawned) lifeEvent()         {}
func (Arrived) lifeEvent()         {}
func (Connected) lifeEvent()       {}
func (HandshakeDone) lifeEvent()   {}
func (StreamEnded) lifeEvent()     {}
func (WriteFailed) lifeEvent()     {}
func (StopAsked) lifeEvent()       {}
func (Drained) lifeEvent()         {}
func (MustEnd) lifeEvent()         {}
func (Exited) lifeEvent()          {}
func (OutputRead) lifeEvent()      {}
func (Explained) lifeEvent()       {}
func (PartEnded) lifeEvent()       {}
func (LifeTimeout) lifeEvent()     {}
func (Torn) lifeEvent()            {}

// LifeEffect is what the caller has to do for a life. The types below are all
// there are. Whether [Launch], [Connect], [ReadOutput] and [Explain] have come to
// something is told by the next event.
type LifeEffect interface{ lifeEffect() }

type (
	// Prepare asks for what the process needs first, CancelPrepare takes that back.
	Prepare       struct{}
	CancelPrepare struct{}
	// Launch asks for the process; NotStarted or Spawned follows.
	Launch struct{}
	// Connect takes the stream of a host that has arrived.
	Connect struct{}
	// DrainCalls lets no new call in; Drained follows when none is open.
	DrainCalls struct{}
	// CutOffCalls ends the calls that were not answered while they were waited for.
	CutOffCalls struct{ After time.Duration }
	// SayGoodbye asks the host to end, as its protocol has it.
	SayGoodbye struct{}
	// SignalProcess sends the configured signal to the process.
	SignalProcess struct{}
	// KillProcess sends SIGKILL to the process tree.
	KillProcess struct{}
	// SetLifeTimer and CancelLifeTimer run the one timer of the life.
	SetLifeTimer    struct{ After time.Duration }
	CancelLifeTimer struct{}
	// ReadOutput asks for OutputRead once the output of the ended process is read.
	ReadOutput struct{}
	// Explain asks the protocol what an exit means. The answer must be the next event.
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

func (Prepare) lifeEffect()         {}
func (CancelPrepare) lifeEffect()   {}
func (Launch) lifeEffect()          {}
func (Connect) lifeEffect()         {}
func (DrainCalls) lifeEffect()      {}
func (CutOffCalls) lifeEffect()     {}
func (SayGoodbye) lifeEffect()      {}
func (SignalProcess) lifeEffect()   {}
func (KillProcess) lifeEffect()     {}
func (SetLifeTimer) lifeEffect()    {}
func (CancelLifeTimer) lifeEffect() {}
func (ReadOutput) lifeEffect()      {}
func (Explain) lifeEffect()         {}
func (EndLife) lifeEffect()         {}

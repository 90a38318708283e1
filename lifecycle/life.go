package lifecycle

import "time"

// LifeRules is what the machine of a life needs to know of its configuration.
type LifeRules struct {
	Drain    time.Duration // how long a stop waits for open calls; 0: it does not
	Grace    time.Duration // of a stop, from the goodbye or the signal to SIGKILL
	Prepares bool          // something has to be prepared before the process is started
	Explains bool          // the protocol may know why a process ended
}

// Fault is why a life ends. The zero value is none.
type Fault struct {
	Cause  Cause
	Detail string
	Bad    []byte // the first bytes that broke the protocol
}

// The bounds of what a life waits for.
const (
	// KillWait is how long processes may take to end after SIGKILL. What is left
	// then is told, and nothing waits for it any longer.
	KillWait = 10 * time.Second
	// OutputWait is how long the output of an ended process is read for more: what it
	// wrote is in the pipes already, and what still holds them open is killed.
	OutputWait = 100 * time.Millisecond

	// closedGrace is how long a host that closed its connection has to end as well,
	// before that counts as closing the connection and living on. Node takes part of
	// a second to exit where others want the processor, too.
	closedGrace = time.Second
	// lastWords is how long the stream of an ended process is read for more.
	lastWords = 500 * time.Millisecond

	sigkill = 9
)

// awaited is what the one timer of a life bounds.
type awaited uint8

const (
	awaitNothing awaited = iota
	awaitRung            // the end of a rung of the stop
	awaitExit            // the exit of a host that has closed its connection
	awaitKill            // the exit of one that was killed
	awaitStream          // the end of the stream of one that has exited
	awaitOutput          // the last output of one that has exited
)

// phase is how far a life has come.
type phase uint8

const (
	unbegun   phase = iota
	preparing       // what the process needs is being prepared
	launched        // the process was asked for
	spawned         // the process is known
	exited          // the process has ended
	over            // nothing follows any more
)

// Life is the state machine of one life of a host: one process and at most one
// connection. It fails as a whole: whatever goes wrong, the process tree is
// killed, its end is awaited, and then the life ends with a [Fault]. It is a
// value as [Host] is.
type Life struct {
	rules LifeRules

	phase     phase
	connected bool // there is a connection
	talks     bool // the handshake is done
	closed    bool // the stream has ended
	stopping  bool // somebody has asked for the end
	read      bool // the last output of the ended process was waited for

	fault   Fault // why it is being ended
	suspect Fault // what the end of the stream means, unless an exit explains it
	status  ExitStatus
	limit   string // the limit that the process ended at, if that is why
	ladder  Ladder
	rung    Rung
	goodbye bool // it was said in this stop
	awaits  awaited
}

// NewLife returns the machine of a life that has not begun.
func NewLife(rules LifeRules) Life { return Life{rules: rules} }

// Over reports whether the life has ended, or was torn down.
func (l Life) Over() bool { return l.phase == over }

// Step takes one event and returns the next machine and what to do. Nothing
// follows from what comes after [EndLife] or [Torn].
func (l Life) Step(ev LifeEvent) (Life, []LifeEffect) {
	s := lifeStep{Life: l}
	if s.phase == over {
		return l, nil
	}
	switch ev := ev.(type) {
	case LifeNews:
		s.news(ev)
	case PreparationDone:
		switch {
		case s.phase != preparing: // too late
		case ev.Fault.Cause != "":
			s.end(ev.Fault)
		default:
			s.launch()
		}
	case NotStarted:
		s.end(ev.Fault)
	case StreamEnded:
		s.streamEnded(ev)
	case WriteFailed:
		if !s.leaving() && !s.stopping && !s.closed {
			s.suspect = ev.Fault // the end of the other half mostly comes right behind, and says more
			s.await(awaitExit, closedGrace)
		}
	case StopAsked:
		s.stop(ev)
	case MustEnd:
		s.mustEnd(ev.Fault)
	case Exited:
		s.exit(ev)
	case Explained:
		s.explained(ev)
	case PartEnded:
		s.partEnded(ev)
	case Torn:
		s.prepareNoMore()
		s.awaitNoMore()
		s.phase = over
	}
	return s.Life, s.out
}

func (s *lifeStep) news(n LifeNews) {
	switch n {
	case Begin:
		if !s.rules.Prepares {
			s.launch()
			break
		}
		s.phase = preparing
		s.do(Prepare)
	case Spawned:
		s.phase = spawned
	case Arrived:
		if !s.leaving() {
			s.do(Connect)
		}
	case Connected:
		s.connected = true
	case HandshakeDone:
		s.talks = true
	case Drained:
		s.drained()
	case OutputRead:
		if s.awaits == awaitOutput {
			s.awaitNoMore()
			s.read = true
			s.conclude()
		}
	case LifeTimeout:
		s.timeout()
	}
}

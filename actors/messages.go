package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// Messages for those who spawn the tree in an actor system of their own. All
// are sent to the PID of the supervisor; answers go to the sender. A message
// with an answer gets exactly one, also when the tree ends before it has read
// the message: the error is ErrClosed then. A message that is sent after the end
// of the tree is a dead letter of the actor system instead.

// Call asks a host for something. The answer is a *Result with the same ID.
type Call struct {
	ID         any // handed back in the Result
	Host       string
	Method     string
	Params     any           // encoded by the host's protocol
	Timeout    time.Duration // 0: the host's own
	Idempotent bool          // may be sent again, once, to the next life
}

// Notify tells a host something. It is not answered.
type Notify struct {
	Host   string
	Method string
	Params any
}

// Command asks for a change of one host. The answer is a *Done.
type Command struct {
	ID   any // handed back in the Done
	Host string
	Verb Verb
}

// Verb is what a person or a program can ask of a host.
type Verb string

// The verbs.
const (
	VerbStart   Verb = "start"   // answered when it runs, or has failed to
	VerbStop    Verb = "stop"    // answered when it is stopped
	VerbRestart Verb = "restart" // stop, then start
	VerbReset   Verb = "reset"   // clears the crash window; a failed host starts again
	VerbRaise   Verb = "raise"   // start for a program: refused where a person stopped the host, or it was given up
	VerbRelease Verb = "release" // stop for a program that needs the host no longer, unless hosts do that depend on it
)

// Done answers a Command, an AddHost, a RemoveHost, a ReplaceHost or a Shutdown.
type Done struct {
	ID  any
	Err error // nil, a *StateError, or what was wrong with the command
}

// AddHost adds a host to a group, or makes a group of its own for it when
// Group is "". It is started unless it is lazy. The answer is a *Done.
type AddHost struct {
	ID    any
	Group string
	Host  HostSpec
}

// RemoveHost stops a host and takes it out. The answer is a *Done.
type RemoveHost struct {
	ID   any
	Host string
}

// ReplaceHost gives the host of that name another configuration. What only the supervisor has
// to know of it (Start, Restart, Requests, Stop, Log) is in force at once; for anything
// else the life that runs is stopped first, and the next one begins with it. The answer is
// a *Done, when it is in force.
type ReplaceHost struct {
	ID   any
	Host HostSpec
	Keep bool // the process that runs stays whatever is different
}

// GetStatus asks for the status of all hosts. The answer is a []HostStatus. A
// tree that is ending does not answer: the message becomes a dead letter.
type GetStatus struct{}

// Shutdown stops all hosts, dependents first, then the supervisor itself. The
// answer is a *Done.
type Shutdown struct{ ID any }

// Ready asks to be told when every host that is not lazy is running or has had
// its first try. The answer is a *Done.
type Ready struct{ ID any }

// Ping asks for a sign of life. The answer is a *Done.
type Ping struct{ ID any }

// Escalated is sent to the parent of the supervisor, if it has one, when a
// host has given up.
type Escalated struct {
	Group, Host, Reason string
}

// Messages within the tree, in the direction of their travel.

type (
	// supervisor → group → host
	fromGroup struct {
		ev     lifecycle.Event
		answer bool // with a hostChanged, once it is carried out
	}
	groupEvent struct{ ev lifecycle.GroupEvent } // also host → group
	bootGroup  struct{ refs []*Ref }
	addToGroup struct {
		ref  *Ref
		done func(error)
	}
	removeFromGroup struct {
		host string
		done func(error)
	}
	replaceInGroup struct {
		spec *HostSpec
		keep bool
		done func(error)
	}
	replaceSpec struct {
		spec    *HostSpec
		rules   lifecycle.HostRules
		keep    bool
		restart bool // found out when it comes, by what is in force then
		done    func(error)
	}
	closeHost struct{} // at rest: end the actor
	treeEnds  struct{} // no host is started any more

	getGroups struct{ done func([]record.GroupStatus) } // Go API → supervisor

	// anyone → host
	verb struct {
		verb Verb
		by   lifecycle.By // "": a person, or a program as the verb says
		why  string       // of a schedule, and of a restart by a program
		done func(error)
	}
	slotGranted struct{ life uint64 } // of a start that has waited for its slot
	forget      struct{ q *Request }  // the caller of a parked call is gone
	timerFired  struct {
		timer lifecycle.Timer
		gen   uint64
	}
	lifeVanished struct{ life uint64 }

	// host → group → supervisor
	hostChanged struct {
		name   string
		to     lifecycle.State
		by     lifecycle.By
		reason string
		answer bool
	}
	groupAtRest struct{ group string }
	escalated   struct{ group, host, reason string }
	firstTry    struct{ host string }
	hostGone    struct{ group string } // a host of the group was taken out

	// host → life
	beginLife struct{}
	stopLife  struct{}
	killLife  struct {
		cause  lifecycle.Cause
		detail string
	}

	// life → host
	lifeReady struct {
		life     uint64
		pid      int
		conn     *conn // nil without a protocol
		liveness string
	}
	lifeSpawned struct {
		life  uint64
		child *sandbox.Child
	}
	// to itself: nothing of the life's process tree is left, or err says what is
	treeGone struct {
		life uint64
		err  error
	}
	lifeEnded struct{ *Failure }
	verdict   struct {
		life  uint64
		hung  bool
		since time.Duration // for how long it hangs
		check string        // what a check says; "": the signs of life say it
	}

	// life ↔ connection
	openConn      struct{}
	handshakeDone struct{ peer codec.Peer }
	connected     struct {
		life     uint64
		conn     *conn
		peer     codec.Peer
		liveness string
	}
	connEnded struct {
		life uint64
		err  error
	}
	hostDeaf      struct{} // nothing can be written to the host any more
	sayGoodbye    struct{}
	drained       struct{} // its callers have their answers
	signOfLife    struct{}
	checkLiveness struct{ gen uint64 }
	internalReply struct{ p *link.Pending }
	dialed        struct{ err error }
	lifePrepared  struct{ err error } // what this life alone is given is there
	lifeAlarm     struct{ gen uint64 }
	outputRead    struct{} // all that the ended process wrote
)

// Failure is why a life ended: what its actor fails with, and what the host's
// strategy hands to the rules.
type Failure struct {
	Life    uint64
	Cause   lifecycle.Cause
	Exit    *sandbox.Exit // nil when there was no process
	Detail  string
	Pending int        // requests it left behind
	Resend  []*Request // idempotent ones, for the next life
	Headers []record.Header
	Bad     []byte // the first bytes that broke the protocol

	child *sandbox.Child
	caps  []*capture.Capture
	pid   *actor.PID // of the life
}

// Error returns the reason in words.
func (f *Failure) Error() string { return f.event().Reason() }

func (f *Failure) event() lifecycle.Ended {
	e := lifecycle.Ended{Life: f.Life, Cause: f.Cause, Detail: f.Detail}
	if f.Exit != nil {
		e.Status = exitStatus(f.Exit)
	}
	return e
}

func exitStatus(e *sandbox.Exit) lifecycle.ExitStatus {
	return lifecycle.ExitStatus{Code: e.Code, Signal: e.Signal}
}

// redactFailure takes the values of secrets out of why a life ended, and what is
// too long: everything that is told of it, in events, status, report, log and
// answers, is made of this.
func redactFailure(r record.Redactor, f *Failure) {
	defer func() { f.Detail = record.Shortened(f.Detail) }() // behind, as half of a value is not known
	if !r.Active() {
		return
	}
	f.Detail, f.Bad = r.String(f.Detail), r.Last(f.Bad) // of these there are only the first
	for i := range f.Headers {
		f.Headers[i].Method = r.String(f.Headers[i].Method)
	}
}

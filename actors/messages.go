package actors

import (
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
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
)

// Done answers a Command, an AddHost, a RemoveHost or a Shutdown.
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

// GetStatus asks for the status of all hosts. The answer is a []HostStatus. A
// tree that is ending does not answer: the message becomes a dead letter.
type GetStatus struct{}

// Shutdown stops all hosts, dependents first, then the supervisor itself. The
// answer is a *Done.
type Shutdown struct{ ID any }

// Ready asks to be told when every host that is not lazy is running or has had
// its first try. The answer is a *Done.
type Ready struct{ ID any }

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
	closeHost struct{} // at rest: end the actor
	treeEnds  struct{} // no host is started any more

	// Go API → supervisor: the exported messages with a func instead of a sender
	getGroups struct{ done func([]GroupStatus) }
	addHost   struct {
		group string
		spec  HostSpec
		done  func(error)
	}
	removeHost struct {
		host string
		done func(error)
	}
	awaitReady struct{ done func(error) }
	shutdown   struct{ done func(error) }

	// anyone → host
	verb struct {
		verb Verb
		done func(error)
	}
	forget     struct{ q *Request } // the caller of a parked call is gone
	timerFired struct {
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
		life   uint64
		hung   bool
		silent time.Duration
	}

	// life ↔ process
	spawnProcess struct {
		cmd   *sandbox.Command
		close []*os.File // the child's ends; closed once it has them
		out   []output
	}
	spawned struct {
		child *sandbox.Child
		caps  []*capture.Capture
	}
	spawnFailed   struct{ err error }
	exited        struct{ exit sandbox.Exit }
	signalProcess struct{ sig int }
	killProcess   struct{}

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

// output is a pipe that carries one stream of a process.
type output struct {
	file   *os.File
	stream capture.Stream
}

// Failure is why a life ended: what its actor fails with, and what the host's
// strategy hands to the rules.
type Failure struct {
	Life    uint64
	Cause   lifecycle.Cause
	Exit    *sandbox.Exit // nil when there was no process
	Detail  string
	Pending int        // requests it left behind
	Resend  []*Request // idempotent ones, for the next life
	Headers []Header
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

package actors

import (
	"context"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// HostSpec says everything about one host. It is a value: nothing changes it
// after it was handed over. A host's identity is its name.
type HostSpec struct {
	Name       string            // unique within a supervisor, shared with group names
	Command    []string          // program and arguments; looked up in the supervisor's PATH
	Protocol   codec.Protocol    // nil: none, the process is supervised without speaking to it
	Transport  Transport         // "" means the protocol's default
	Dir        string            // working folder; "" means the supervisor's
	Env        map[string]string // added to what InheritEnv names; nothing else is inherited
	InheritEnv []string          // names
	Init       any               // handed to the host in the handshake
	Limits     codec.Limits      // of its messages
	Start      StartRule
	Restart    lifecycle.RestartRule
	Liveness   LivenessRule
	Requests   RequestRule
	Throttle   []throttle.Rule // notifications to it that are thinned out; none by default
	Answers    AnswerRule      // to what the host asks
	Guard      GuardRule       // what it may ask for, and what may be started as it
	Secrets    SecretRule      // values that are only read when a life begins, or it asks for them
	Attach     bool            // opened by the first program that attaches to it, see package attach; it starts lazily
	Stop       StopRule
	Log        LogRule

	// Prepare is called before each life is started and returns what that life
	// alone is given, such as a port or a token. It must return soon after ctx has
	// ended, which it does when the start is given up. An error ends the start as
	// that of a program which cannot be started does. nil: a life gets no more than
	// the spec says.
	Prepare func(ctx context.Context, life uint64) (Prepared, error)

	// Extensions says which extensions the host has, and that they are looked
	// after; see package extensions/service. nil: none. Such a host starts lazily.
	Extensions *plan.Spec

	// Sandbox confines the host's processes; nil does not. Where it cannot be
	// enforced as strictly as it demands, the host does not start.
	Sandbox *policy.Policy
	// Observe says whether a confined host is watched, so that its status tells
	// what it was denied; default auto.
	Observe Observe
	// Resources bound what a life of the host with everything it starts may use
	// up, also without Sandbox.
	Resources policy.Limits
}

// Prepared is what one life is given beside what the spec of its host says.
type Prepared struct {
	Env  map[string]string // wins over the spec's
	Args []string          // follow the spec's Command; all users of a machine can see them
}

// Observe says when a confined host is watched by a system call filter, which
// slows down what it does with files: several times, where it does nothing else.
type Observe string

// The three answers.
const (
	ObserveAuto   Observe = "auto"   // where the kernel does not record denials by itself
	ObserveAlways Observe = "always" // everywhere
	ObserveNever  Observe = "never"  // what is denied is told as far as the kernel and the network proxy record it
)

// Transport is how the bytes of a connection travel.
type Transport string

// The transports.
const (
	TransportFD    Transport = "fd"    // an inherited socket, fd 3
	TransportStdio Transport = "stdio" // stdin and stdout
	TransportUnix  Transport = "unix"  // the host connects back to a socket with a token
)

// StartRule says when and how long a start may go on.
type StartRule struct {
	Lazy      bool          // start at the first call instead of with the supervisor
	Timeout   time.Duration // spawn to handshake done; default 60 s
	OnTimeout OnTimeout     // default crash
	DependsOn []string      // hosts of the same group that must be running before each start of this one
}

// OnTimeout says what a start that takes too long means.
type OnTimeout string

// The two answers.
const (
	TimeoutCrash OnTimeout = "crash" // the life is killed and counts as a crash
	TimeoutWait  OnTimeout = "wait"  // reported as slow, the process is kept
)

// LivenessRule says when a host is unresponsive.
type LivenessRule struct {
	After     time.Duration // without a sign of life while something is unacknowledged; default 3 s
	KillAfter time.Duration // from unresponsive to killed; default 30 s, or never for some protocols
	NeverKill bool          // only report
	Ping      time.Duration // between pings; default 1 s
}

// WhileDown says what happens to a call while the host is crashed or restarting.
type WhileDown string

// The two answers. In starting, a call always waits.
const (
	FailFast WhileDown = "fail"
	Queue    WhileDown = "queue"
)

// RequestRule bounds the calls of a host.
type RequestRule struct {
	Timeout time.Duration // of a call whose context has no deadline; default 30 s

	// IdleTimeout ends a call earlier, when the host has not told of progress
	// for so long; 0: only Timeout does.
	IdleTimeout time.Duration

	MaxPending int       // requests open or waiting at once; default 1024
	WhileDown  WhileDown // default fail
}

// StopRule says how a host is asked to end.
type StopRule struct {
	Signal syscall.Signal // default SIGTERM
	Grace  time.Duration  // from the start of stopping, or the end of Drain, to SIGKILL; default 5 s
	// Drain is how long calls under way may go on before the goodbye, while new
	// ones are refused; what is not answered by then fails with ErrCutOff. 0: the
	// goodbye comes at once, and it is the host's affair what it still answers.
	Drain time.Duration
}

// LogRule bounds the captured output on disk.
type LogRule struct {
	MaxSize int64 // bytes of one file; default 16 MiB
	Files   int   // kept, the current one included; default 4
}

package hostspec

import (
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Spec says everything about one host but its features. It is a value: nothing changes
// it after it was handed over. Its fields are those of supervisor.HostSpec, which
// explains them.
type Spec struct {
	Name       string
	Job        bool
	Command    []string
	Protocol   codec.Protocol
	Transport  Transport
	Dir        string
	Env        map[string]string
	InheritEnv []string
	Init       any
	Limits     codec.Limits
	Start      StartRule
	Restart    lifecycle.RestartRule
	Liveness   LivenessRule
	Requests   RequestRule
	Stop       StopRule
	Log        LogRule
	Sandbox    *policy.Policy
	Observe    Observe
	Resources  policy.Limits
}

// Features returns what the protocol can besides messages: nothing without one.
func (s *Spec) Features() codec.Features {
	if s.Protocol == nil {
		return codec.Features{}
	}
	return s.Protocol.Features()
}

// TransportInForce returns the transport of the host: "" for none, or for a protocol that
// has a way of its own.
func (s *Spec) TransportInForce() Transport {
	if s.Transport == "" && s.Protocol != nil {
		return Transport(s.Protocol.Defaults().Transport)
	}
	return s.Transport
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

	// WhenHealthy has a host without a protocol start until it is found healthy, instead
	// of until its process is spawned. A HostSpec with Check has it.
	WhenHealthy bool
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
	Grace  time.Duration  // from the start of stopping, or the end of Drain, to SIGKILL; default 5 s, or what the protocol needs: vscode 12 s
	// Drain is how long calls under way may go on before the goodbye, while new
	// ones are refused; what is not answered by then is cut off. 0: the
	// goodbye comes at once, and it is the host's affair what it still answers.
	Drain time.Duration
}

// LogRule bounds the captured output on disk.
type LogRule struct {
	MaxSize int64 // bytes of one file; default 16 MiB
	Files   int   // kept, the current one included; default 4

	// RotateEvery starts another file at the first line that comes so long after the
	// first one of the current file; 0: only MaxSize does.
	RotateEvery time.Duration
	MaxAge      time.Duration // after its last line a file is removed, the current one too; 0: never for its age
	Compress    bool          // files other than the current one, with gzip

	// Journal hands lines to the journal of the system, if there is one, in place of the
	// files. What it does not take is lost and counted.
	Journal bool

	// JSON writes a line as an object with time, host, life, stream and text, and more if
	// the text continues; false: as text, separated by spaces.
	JSON bool
}

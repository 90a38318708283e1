package native

import (
	"io"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// Version is the number of the protocol spoken here.
const Version = 1

// MaxMethod is the length of the longest method name, in bytes.
const MaxMethod = 1024

// Names of the methods that the protocol gives a meaning to.
const (
	MethodInitialize  = "initialize"  // request; opens the connection
	MethodInitialized = "initialized" // notification; ends the handshake
	MethodShutdown    = "shutdown"    // request; asks the host to end
	MethodPing        = "$/ping"      // request; answered with nil

	MethodActivate   = "extension/activate"   // request of the supervisor; [Activate], answered with [Activated]
	MethodDeactivate = "extension/deactivate" // request of the supervisor; [Deactivate]
	MethodNeed       = "extension/need"       // request of a host; [Need]
	MethodUncaught   = "extension/uncaught"   // notification of a host; [Uncaught]
)

// New returns the protocol. Its sessions open a connection from the
// supervisor's side; a host uses [Open] and [Session.Accept].
func New() codec.Protocol { return protocol{} }

type protocol struct{ mpack.Encoding }

func (protocol) Name() string                        { return "hostsup" }
func (protocol) Open(lim codec.Limits) codec.Session { return Open(lim) }
func (protocol) Defaults() codec.Defaults            { return codec.Defaults{Transport: "fd"} }

func (protocol) Features() codec.Features { return codec.Features{Reserved: reserved} }

func reserved(method string) bool {
	return method == MethodInitialize || method == MethodInitialized || method == MethodShutdown
}

// Session is the state of one connection: its limits and the capabilities in
// force. Append, the Reader and the handshake may each be used by another
// goroutine.
type Session struct {
	lim  codec.Limits
	caps atomic.Uint32 // in force; set by the handshake, read by Append and Ping
	self *Self         // of a host; nil on the supervisor's side

	announced []codec.Announced // by the host, to the supervisor
	announces bool
}

// Open makes the session of one new connection. Limits that are zero get
// their defaults.
func Open(lim codec.Limits) *Session { return &Session{lim: lim.WithDefaults()} }

// Caps is what is in force: nothing before the handshake is done.
func (s *Session) Caps() codec.Caps { return codec.Caps(s.caps.Load()) }

// Ping returns "$/ping" when both sides have the capability, else "".
func (s *Session) Ping() string {
	if s.Caps().Has(codec.CapPing) {
		return MethodPing
	}
	return ""
}

// Goodbye returns the request "shutdown", its id not yet given. After the
// answer, or an error, the supervisor closes its writing half; a host ends
// when it reads the end of the stream.
func (s *Session) Goodbye() (ask *codec.Message, last []codec.Message) {
	return &codec.Message{Kind: codec.Request, Method: MethodShutdown}, nil
}

// Features returns what a host announces.
func (s *Session) Features() codec.SessionFeatures {
	return codec.SessionFeatures{Announced: s.Announced}
}

// NewReader reads frames from r. On a host, call [Session.Accept] before the
// first Next.
func (s *Session) NewReader(r io.Reader) codec.Reader { return newReader(s, r) }

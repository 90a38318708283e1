package codec

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Protocol is one wire language: framing, encoding, opening handshake,
// liveness question, goodbye. A Protocol is a value without state that many
// connections share; what belongs to one connection is its [Session].
type Protocol interface {
	// Name is the name used in configuration: "hostsup", "msgpack-rpc", ….
	Name() string
	// Open makes the session of one new connection. Limits that are zero get
	// their defaults.
	Open(lim Limits) Session
	// Defaults is what a host that speaks it has where nothing else was said.
	Defaults() Defaults
	// Features is what it can besides.
	Features() Features
	Encoding
}

// Defaults of hosts that speak a protocol.
type Defaults struct {
	Transport string // "fd", "stdio" or "unix"; "" with [Features.Rendezvous]
	// NeverKill: an unresponsive host is reported and not killed, because the
	// protocol has no way to tell one that is busy from one that hangs.
	NeverKill bool
	// Grace is how long a stop may take before the process tree is killed, if nothing
	// else is configured. Half of it is for the goodbye. 0: that of other hosts, 5 s.
	Grace time.Duration
	// URIObjects: hosts send URIs taken apart, as objects with a scheme and a path.
	URIObjects bool
}

// Rendezvous connects with one life of a host. Close may be called while Connect runs.
type Rendezvous interface {
	// Env returns the variables, NAME=value, that the host needs to connect.
	Env() []string
	// Files returns the files that the host inherits from descriptor 3 on. The caller must
	// close them after the start of the host, also if that fails.
	Files() []*os.File
	// Connect waits for the host until ctx ends. The host is started after Env was called.
	// The caller must close the Stream before it calls Close.
	Connect(ctx context.Context) (Stream, error)
	// Close releases everything.
	io.Closer
}

// Stream is a connected byte stream each way. Close ends a Read or Write that
// waits.
type Stream interface {
	io.ReadWriteCloser
	// TryWrite takes what it can of p without waiting for the host, and returns how
	// much that is; 0 without an error means that Write has to be used. It spares a
	// lone message the way over another goroutine.
	TryWrite(p []byte) (int, error)
	// CloseWrite ends our half: the host reads the end of the stream.
	CloseWrite() error
}

// Encoding turns values into payloads and back. Its methods are safe for
// concurrent use.
type Encoding interface {
	// Marshal encodes v. A nil v is the encoding's nil; a Raw is checked and
	// passed through.
	Marshal(v any) (Raw, error)
	// Unmarshal decodes raw into the pointer out. A nil out discards. raw need
	// not be trusted: it is checked against the default limits first.
	Unmarshal(raw Raw, out any) error
	// ToJSON renders raw for people and scripts; FromJSON is its inverse for
	// everything that JSON can say.
	ToJSON(raw Raw) ([]byte, error)
	FromJSON(text []byte) (Raw, error)
	// Walk tells v of each part of raw, in the order in which they stand there,
	// and leaves nothing out: of several members of one name v gets each. raw
	// need not be trusted: it is checked against the default limits first, and
	// nothing is told of one that is not well-formed. An empty raw has no parts.
	Walk(raw Raw, v Visitor) error
}

// Visitor is told of the parts of a payload by [Encoding.Walk]. The texts are
// valid until the method returns, and need not be UTF-8.
type Visitor interface {
	// Open begins an array or, if object, a map; Close ends the innermost one.
	Open(object bool)
	Close()
	// Key is the name of the member whose value comes next. A key that is not a
	// text, as MessagePack allows, is a value of its own before Key(nil).
	Key(text []byte)
	// Text is a value that is a string, or bytes.
	Text(text []byte)
	// Other is any other value.
	Other()
}

// Session is the protocol state of one connection. Append may be called by
// one goroutine at a time, the Reader by another; the two need no lock
// between them.
type Session interface {
	// Append encodes m behind dst and returns the longer slice. It does not
	// keep m. Payloads are taken as they are; those that [Encoding.Marshal] or
	// a Reader returned are well-formed.
	//
	// On an error, a *[FrameError], dst is returned as it was and the
	// connection is none the worse: a message over the frame limit is
	// [ErrTooLarge], one that the protocol or the capabilities in force do not
	// know is [ErrShape].
	Append(dst []byte, m *Message) ([]byte, error)
	// NewReader reads messages from r. It is called once per session.
	NewReader(r io.Reader) Reader
	// Handshake opens the connection from the supervisor's side.
	Handshake(h Hello) Handshake
	// Ping returns the method of the liveness request, or "" when the
	// protocol (or the peer, by its capabilities) has none. Valid once the
	// handshake is done.
	Ping() string
	// Goodbye returns the request that asks the peer to end, or nil, and what
	// is sent after its answer, before the stream is closed.
	Goodbye() (ask *Message, last []Message)
	// Features is what the peer can besides.
	Features() SessionFeatures
}

// Reader takes messages off a stream.
type Reader interface {
	// Next fills m with the next message. Errors: io.EOF at a clean end
	// between messages, a *[FrameError] for bytes that break the protocol,
	// else the stream's own error. After an error the reader is finished.
	Next(m *Message) error
	// Buffered says whether Next can return without waiting for the stream.
	Buffered() bool
}

// Hello is what a supervisor says of itself and of the life when it opens a
// connection.
type Hello struct {
	Supervisor string // name of the supervising program, "hostsup"
	Version    string // its version
	Host       string // name of the host
	Life       uint64 // number of the life, from 1
	Init       any    // handed to the host as it is, or put over the params of its opening request; may be nil

	// PID of the supervisor, for protocols that tell it, so that the host can
	// end when its parent is gone; 0 when the host could not see it, being in a
	// namespace of its own.
	PID int
	// Dir is the host's working folder, where one was set; else "".
	Dir string

	// Extended says that the host's extensions are spoken of, where the protocol
	// can do that; Extensions are the ids of those that live in this process, nil
	// as long as none is known.
	Extended   bool
	Extensions []string
}

// ErrUnrelated is what [Handshake.Handle] returns for a message that may come
// before the handshake is done and is no part of it: it is treated as it would
// be afterwards.
var ErrUnrelated = errors.New("no part of the handshake")

// Handshake is the opening of one connection as a pure machine: it is fed
// what arrives and says what to send. It holds no clock and does no I/O.
type Handshake interface {
	// Start returns the messages that open the connection. A handshake with
	// nothing to say and nothing to wait for is done at once. When
	// [Hello.Init] cannot be encoded there is nothing to send, and Handle
	// returns the reason.
	Start() (out []Message, done bool)
	// Handle takes one message of the peer and returns what to answer. An
	// error other than [ErrUnrelated] ends the connection: [ErrEarly] for a message that has no place
	// before the handshake is done, an *[Error] when the peer refused,
	// [ErrVersion] when trying again cannot help.
	Handle(m *Message) (out []Message, done bool, err error)
	// Peer is what the other side said of itself; valid once done.
	Peer() Peer
}

// Peer is what the other side of a connection said of itself.
type Peer struct {
	Name    string
	Version string
	Caps    Caps // what is in force: the intersection of both sides
}

// Caps is the set of optional abilities in force on a connection.
type Caps uint8

// What may be in force on a connection.
const (
	CapAck Caps = 1 << iota
	CapCancel
	CapStream
	CapTrace
	CapPing

	// CapExtensions is that of hosts whose extensions are switched on one by one.
	CapExtensions

	// CapAbandon is no capability of protocol 1, but what holds for protocols
	// that say less than it: a request whose caller has gone may stay unanswered,
	// and an answer that comes after all is ignored.
	CapAbandon

	// CapAll is what every host of protocol 1 may have.
	CapAll = CapAck | CapCancel | CapStream | CapTrace | CapPing
)

// Has says whether all of want are in force.
func (c Caps) Has(want Caps) bool { return c&want == want }

// Limits bound what a connection accepts before memory is set aside for it.
// Zero fields mean the default.
type Limits struct {
	Frame    int // bytes of one frame's body; default 50 MiB
	Depth    int // nesting of arrays and maps; default 128
	Elements int // array elements and map keys and values of one frame, summed; default 4,194,304
	String   int // bytes of one str, bin or ext; default: the frame limit
}

// WithDefaults returns l with zero fields replaced by the defaults.
func (l Limits) WithDefaults() Limits {
	if l.Frame <= 0 {
		l.Frame = 50 << 20
	}
	if l.Depth <= 0 {
		l.Depth = 128
	}
	if l.Elements <= 0 {
		l.Elements = 4 << 20
	}
	if l.String <= 0 || l.String > l.Frame {
		l.String = l.Frame
	}
	return l
}

package codec

import "context"

// Features lists the optional abilities of a protocol. A nil function means that the
// protocol does not have the ability. A host asks its [Protocol] for the value once, when
// it is made. The functions must be safe for concurrent use and must not block, unless
// they take a context.
type Features struct {
	// Rendezvous prepares the connection with one life of a host, for protocols with a
	// transport of their own instead of an inherited socket, stdin and stdout, or one unix
	// socket. folder makes a folder for the rendezvous alone that only the user can enter; it is
	// removed after the Rendezvous was closed. It may be called once.
	Rendezvous func(folder func() (string, error)) (Rendezvous, error)
	// Inherits reports whether such a host inherits everything that it needs to connect,
	// so that it can be confined.
	Inherits bool

	// Arguments returns the command, the name of the program first, as it is to be
	// started with an environment; neither is changed.
	Arguments func(command []string, env map[string]string) []string
	// Explain puts an end into words, such as "JavaScript heap out of memory"; ""
	// when there is nothing to add to the exit. final says that another start would
	// end the same way. An unrequested exit with status 0 is a crash when it is
	// explained, and else a good end.
	Explain func(e End) (meaning string, final bool)

	// Reserved reports whether method opens or ends a connection. Callers must not
	// send it: a host that was told to shut down, for example, answers nobody any
	// more and yet runs.
	Reserved func(method string) bool
	// Expand returns the call that is meant by one in fewer words, which may be the
	// one that is given.
	Expand func(method string, params Raw) (string, Raw)
	// Incremental says whether a notification to a host only tells what is different
	// from before, so that it cannot be left out for a later one. Without params it
	// says so where all of that method are.
	Incremental func(method string, params Raw) bool

	// Serve returns what works on a request of a host that nobody else answers, or
	// nil. It is called in the order of the requests.
	Serve func(method string) Service
	// Answer returns the result or the error with which a request of a host is answered that
	// nothing else answers. nil means that the protocol does not know the method.
	Answer func(method string) *Message
	// Secrets is for protocols whose hosts have secrets kept for those in them, such
	// as extensions, by requests of its own; else nil.
	Secrets *Secrets
}

// Service answers a request of a host. It may take its time, until ctx ends, and
// runs beside others.
type Service func(ctx context.Context, host string, params Raw) (Raw, error)

// Secrets are the requests of hosts by which secrets are kept.
type Secrets struct {
	// Serve returns what answers a request about secrets that nobody else answers, or
	// nil if it is about none. It is called in the order of the requests.
	Serve func(method string) SecretService
	// Confides says whether the params of such a request hold a value.
	Confides func(method string) bool
	// Household is the name under which the secrets of a host are. Hosts of the same
	// one share them.
	Household func(host string) string
}

// SecretService answers a request about secrets, which are in v. It may take its
// time, until ctx ends, and runs beside others.
type SecretService func(ctx context.Context, v Vault, host string, params Raw) (Raw, error)

// Vault holds the secrets of one household, each under a key of its owner's. No
// owner or key leads out of it. Errors can be told to the host.
type Vault interface {
	Get(ctx context.Context, owner, key string) (value string, found bool, err error)
	Set(ctx context.Context, owner, key, value string) error
	Delete(ctx context.Context, owner, key string) (found bool, err error)
	Keys(ctx context.Context, owner string) ([]string, error) // sorted
	// Tell sends a notification to all hosts of the household that are up, the one
	// that asks among them. It does not wait.
	Tell(method string, params Raw)
}

// End is how the process of a host ended by itself.
type End struct {
	Code   int      // exit code; means nothing when Signal is not 0
	Signal int      // the signal that ended it, or 0
	Ready  bool     // the handshake was done
	Output []string // the last lines that it printed, as far as they have been read
}

// PartEdge is how many bytes of both ends of a payload [SessionFeatures.AppendParts] puts
// with what comes before and behind it, so that no part is too short to be worth a write.
const PartEdge = 16 << 10

// SessionFeatures is what the peer of one connection can besides; nil functions
// stand for what it cannot. A connection asks its [Session] for the value once,
// before NewReader.
type SessionFeatures struct {
	// Opened returns the params and the result of a handshake that can be told again,
	// valid once it is done; nil where this peer was asked nothing.
	Opened func() (request, result Raw)
	// Announced returns the extensions that the peer has said that it consists of,
	// valid once the handshake is done. false: the peer does not speak of extensions,
	// or was not asked to.
	Announced func() ([]Announced, bool)
	// OnNoise sets what hears the lines that the peer says between messages and that
	// are none, a banner for example, without their ends. The reader's goroutine calls
	// listen, which must not keep the slice. Call it before NewReader.
	OnNoise func(listen func(line []byte))
	// Forget takes the peer's request of this id, which the peer has taken back, for
	// done, without a word. false: in this protocol it is answered all the same. It is
	// called in the place of the Append of its answer, and as that by one goroutine at
	// a time.
	Forget func(id uint32) bool
	// Written returns the id of an open request of the peer's as the peer has written
	// it, in the protocol's encoding; nil if there is no such request. Safe for
	// concurrent use.
	Written func(id uint32) Raw
	// AppendParts is [Session.Append] in parts, each to be written behind the one before:
	// of a payload of at least 4 times PartEdge the middle is not copied but a part of its
	// own. It and m's memory must not be changed before it is written; something may be
	// put behind the last part. nil: this protocol has Append only.
	AppendParts func(dst [][]byte, m *Message) ([][]byte, error)
	// Stacks says whether the peer waits inside of its request of this method for the
	// answer, and meanwhile makes others, each from within the one before. It then
	// takes answers in the reverse order only, as a call stack does: each is held back
	// until all later ones of that kind are answered. Safe for concurrent use.
	Stacks func(method string) bool
}

// Announced is what a host says of one of its extensions.
type Announced struct {
	ID        string // publisher.name
	Version   string
	Events    []string // activation events, besides those of the methods
	DependsOn []string // ids of what has to be active before it
	Methods   []string // that it answers
}

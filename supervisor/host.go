package supervisor

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/intercept/meter"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
)

// Host is the handle of one host, valid over all its lives. Calls go through it
// without a mailbox in between as long as the host runs; when it does not, the
// host's rules decide what becomes of them. After the host was removed, methods
// return ErrNoHost, and Status keeps what there was. Safe for concurrent use.
type Host struct {
	ref       *actors.Ref
	feed      *feed.Feed
	answers   *answer.Answers
	replacing sync.Mutex // held during a Replace
	seat      seat       // of an instance
}

// Ref returns the handle that package actors has of the host.
func (h *Host) Ref() *actors.Ref { return h.ref }

// PID returns the address of the host's actor, for the messages of package actors.
func (h *Host) PID() *actor.PID { return h.ref.PID() }

// Name returns the host's name.
func (h *Host) Name() string { return h.ref.Name() }

// Group returns the name of its group.
func (h *Host) Group() string { return h.ref.Group() }

// Spec returns the present configuration of the host, with its defaults.
func (h *Host) Spec() HostSpec { return specOf(h.ref) }

// Encoding returns how payloads of the host are encoded; nil without a protocol.
func (h *Host) Encoding() codec.Encoding { return h.ref.Encoding() }

// Life returns the number of the current life; 0 before the first.
func (h *Host) Life() uint64 { return h.ref.Life() }

// State returns the state of the host, without what [Host.Status] reads from the system.
func (h *Host) State() lifecycle.State { return h.ref.State() }

// Status returns the state of the host and its figures. Memory and processor time are read from the
// system by the call.
func (h *Host) Status() HostStatus { return h.ref.Status() }

// Peek returns Status without memory and processor time, which take most of its time: it
// may be asked often for each of many hosts.
func (h *Host) Peek() HostStatus { return h.ref.Peek() }

// Responses returns how long the host's answers to calls have taken, over all its lives.
// It costs little, so that it can be asked every second for each of many hosts; the
// quantiles of an interval are those of the difference of two. It is empty for a host
// without a protocol.
func (h *Host) Responses() ResponseTimes { return meter.Of(h.ref).Responses() }

// ResponseBounds returns the upper bounds of the buckets of [ResponseTimes], inclusive and
// ascending.
func ResponseBounds() []time.Duration { return meter.Bounds() }

// Start brings the host to running, after the hosts that it depends on. In failed
// it opens a new crash window. Errors: *StateError, ErrNoHost when the host was
// removed, ErrClosed when the supervisor stops, ctx's.
func (h *Host) Start(ctx context.Context) error { return h.ref.Start(ctx) }

// Raise brings the host to running for a program that needs it, as a call to a
// lazy host does. Unlike [Host.Start] it returns a *StateError that is ErrStopped
// when a person stopped the host, and one that is ErrFailed when the host was
// given up: only Start starts it then. Other errors as of Start.
func (h *Host) Raise(ctx context.Context) error { return h.ref.Raise(ctx) }

// Stop takes the host down; it stays down until it is started. Errors as of Start.
func (h *Host) Stop(ctx context.Context) error { return h.ref.Stop(ctx) }

// Restart stops the host and starts it again. Errors as of Start.
func (h *Host) Restart(ctx context.Context) error { return h.ref.Restart(ctx) }

// Reset clears the crash window and the back-off; a failed host starts again.
// Errors as of Start.
func (h *Host) Reset(ctx context.Context) error { return h.ref.Reset(ctx) }

// Wait returns when the host is in one of the states, or has been in one since
// the call began. Errors: ErrNoHost when the host was removed before that,
// ErrClosed when the supervisor has stopped, ctx's.
func (h *Host) Wait(ctx context.Context, states ...lifecycle.State) error {
	return h.ref.Wait(ctx, states...)
}

// Call sends a request to the host and waits for the outcome. in is encoded by
// the host's protocol (nil, values, or a codec.Raw); the result is decoded into
// the pointer out, or discarded when out is nil; a *codec.Raw gets it as it is.
//
// Errors: the host's own answer is a *codec.Error; *HostError (ErrCrashed,
// ErrUnresponsive, ErrStopped, ErrFailed) means that the host could not take
// or finish the request; *CallError is ErrTimeout, ErrCancelled, ErrOverloaded,
// ErrNoSuchMethod, ErrNoProtocol, ErrReserved or ErrUnsendable; any other error means
// that in could not be encoded or the result not be decoded. A call has exactly one
// outcome, and none after ctx has ended.
func (h *Host) Call(ctx context.Context, method string, in, out any, opts ...CallOption) error {
	return h.ref.Call(ctx, method, in, out, opts...)
}

// Stream asks for a streamed result and yields its items as they come, and then
// the result, unless it is nil: of a host without streams it is all there is. An
// error ends the sequence; leaving the loop cancels the call. The host may
// send a bounded number of items ahead of the loop's body. The time-out bounds
// the silence between two items, not the whole stream. Errors as of Call.
func (h *Host) Stream(ctx context.Context, method string, in any, opts ...CallOption) iter.Seq2[codec.Raw, error] {
	return h.ref.Stream(ctx, method, in, opts...)
}

// Go is Call without waiting: the outcome is taken from the Pending. ctx is
// not watched after Go has returned; its deadline is. Go itself waits only for
// room to write to a host that does not read, as long as ctx allows.
func (h *Host) Go(ctx context.Context, method string, in any, opts ...CallOption) (*Pending, error) {
	return h.ref.Go(ctx, method, in, opts...)
}

// Notify sends a notification to the host. It returns when the message is handed to
// the connection, or held back by a rule of [HostSpec].Throttle, not when the host
// has read it. A host that is not running gives a *HostError at once; other errors
// as of Call.
func (h *Host) Notify(ctx context.Context, method string, in any) error {
	return h.ref.Notify(ctx, method, in)
}

// Handle sets the handler of the requests of a method that the host makes, or of a
// pattern that ends in *. It goes before any rule as specific; see [AnswerRule]. For
// what a host asks right at its start, name the handler in the spec.
func (h *Host) Handle(pattern string, handler Handler) { h.answers.Handle(pattern, handler) }

// Messages returns the notifications and requests that the host makes from now
// on, over all its lives, until ctx ends or the host is removed. The supervisor's
// answers are not among them. Followers begin when the sequence is first asked
// for, and delay neither the host nor its callers.
func (h *Host) Messages(ctx context.Context) iter.Seq[HostMessage] { return h.feed.Messages(ctx) }

// Tail returns the last n lines of the host's output, oldest first.
func (h *Host) Tail(n int) []OutputLine { return h.ref.Tail(n) }

// History returns up to n last lines, reading back into the log files when the
// lines in memory are fewer. Errors are those of the files.
func (h *Host) History(n int) ([]OutputLine, error) { return h.ref.History(n) }

// Follow yields the last n lines, then what comes, until ctx ends or the host
// is removed. A reader that falls behind is told how many lines it missed, in
// the Lost of the next one.
func (h *Host) Follow(ctx context.Context, n int) iter.Seq[OutputLine] { return h.ref.Follow(ctx, n) }

// After yields the lines after number seq that are kept in memory, then what comes, as
// Follow does. A reader that has taken the lines of [Host.History] goes on with it. For
// one that falls behind 4,096 lines wait, as for Follow, and without backlog 200.
func (h *Host) After(ctx context.Context, seq uint64, backlog bool) iter.Seq[OutputLine] {
	return h.ref.After(ctx, seq, backlog)
}

// Types of what a Host takes and returns; see package actors.
type (
	// OutputLine is one line of a host's output, without its line end.
	OutputLine = capture.Line
	// Handler answers a request of a host.
	Handler = actors.Handler
	// HostMessage is one message of [Host.Messages].
	HostMessage = feed.Message
	// ResponseTimes is a histogram of the times until answers came.
	ResponseTimes = meter.Histogram
	// Pending is a call whose outcome is not waited for in place.
	Pending = actors.Pending
)

package controltest

import (
	"cmp"
	"context"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// Host is a [control.Host] that returns the values of its fields. A nil function
// succeeds and does nothing.
type Host struct {
	Enc      codec.Encoding
	Output   []capture.Line
	Live     chan capture.Line                                      // later lines, for followers
	Said     chan feed.Message                                      // what comes to those who follow what it says
	OnAttach func(ctx context.Context, rw io.ReadWriteCloser) error // nil: attaching is refused
	OnCall   func(ctx context.Context, c control.Call) (codec.Raw, error)
	OnStream func(ctx context.Context, c control.Call) iter.Seq2[codec.Raw, error]
	OnVerb   func(ctx context.Context, verb string) error // start, stop, restart, reset, wait

	OnInspect func(ctx context.Context) (*supervisor.Inspection, error) // nil: inspecting is refused
	// OnFile writes a profile of the length d, or with 0 a heap snapshot; nil: inspecting
	// is refused.
	OnFile func(ctx context.Context, d time.Duration, w io.Writer) error

	asked  atomic.Int64
	mu     sync.Mutex
	status record.HostStatus
}

var _ control.Host = (*Host)(nil)

// NewHost makes a host with a status.
func NewHost(st record.HostStatus) *Host { return &Host{status: st} }

// Set changes the status.
func (h *Host) Set(change func(*record.HostStatus)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.status)
}

// Status returns the status as changed by [Host.Set].
func (h *Host) Status() record.HostStatus {
	h.asked.Add(1)
	return h.peek()
}

// Asked returns how often Status was called.
func (h *Host) Asked() int { return int(h.asked.Load()) }

func (h *Host) peek() record.HostStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Encoding returns Enc.
func (h *Host) Encoding() codec.Encoding { return h.Enc }

// Call calls OnCall.
func (h *Host) Call(ctx context.Context, c control.Call) (codec.Raw, error) {
	if h.OnCall == nil {
		return c.Params, nil
	}
	return h.OnCall(ctx, c)
}

// Stream calls OnStream.
func (h *Host) Stream(ctx context.Context, c control.Call) iter.Seq2[codec.Raw, error] {
	if h.OnStream == nil {
		return func(func(codec.Raw, error) bool) {}
	}
	return h.OnStream(ctx, c)
}

// Notify calls OnCall and drops the result.
func (h *Host) Notify(ctx context.Context, method string, params codec.Raw) error {
	_, err := h.Call(ctx, control.Call{Method: method, Params: params})
	return err
}

// Start calls OnVerb.
func (h *Host) Start(ctx context.Context) error { return h.verb(ctx, "start", lifecycle.Running) }

// Stop calls OnVerb.
func (h *Host) Stop(ctx context.Context) error { return h.verb(ctx, "stop", lifecycle.Stopped) }

// Restart calls OnVerb.
func (h *Host) Restart(ctx context.Context) error { return h.verb(ctx, "restart", lifecycle.Running) }

// Reset calls OnVerb.
func (h *Host) Reset(ctx context.Context) error { return h.verb(ctx, "reset", "") }

// Wait calls OnVerb.
func (h *Host) Wait(ctx context.Context, _ ...lifecycle.State) error { return h.verb(ctx, "wait", "") }

func (h *Host) verb(ctx context.Context, verb string, to lifecycle.State) error {
	if h.OnVerb != nil {
		if err := h.OnVerb(ctx, verb); err != nil {
			return err
		}
	}
	if to != "" {
		h.Set(func(st *record.HostStatus) { st.State = to })
	}
	return nil
}

// History returns the end of Output.
func (h *Host) History(n int) ([]capture.Line, error) {
	return h.Output[max(0, len(h.Output)-n):], nil
}

// Follow yields the end of Output, then the lines from Live.
func (h *Host) Follow(ctx context.Context, n int) iter.Seq[capture.Line] {
	past, _ := h.History(n) // has no error
	return follower(ctx, past, h.Live, true)
}

// After yields the end of Output after a number, then the lines from Live.
func (h *Host) After(ctx context.Context, seq uint64, _ bool) iter.Seq[capture.Line] {
	past := slices.DeleteFunc(slices.Clone(h.Output), func(ln capture.Line) bool { return ln.Seq <= seq })
	return follower(ctx, past, h.Live, true)
}

// Messages yields the messages from Said.
func (h *Host) Messages(ctx context.Context) iter.Seq[feed.Message] {
	return follower(ctx, nil, h.Said, true)
}

// Inspect calls OnInspect.
func (h *Host) Inspect(ctx context.Context) (*supervisor.Inspection, error) {
	if h.OnInspect == nil {
		return nil, &supervisor.InspectError{Host: h.Status().Name, Reason: "it is not node"}
	}
	return h.OnInspect(ctx)
}

// Profile calls OnFile.
func (h *Host) Profile(ctx context.Context, d time.Duration, w io.Writer) error {
	if h.OnFile == nil {
		return &supervisor.InspectError{Host: h.Status().Name, Reason: "it is not node"}
	}
	return h.OnFile(ctx, d, w)
}

// HeapSnapshot calls OnFile.
func (h *Host) HeapSnapshot(ctx context.Context, w io.Writer) error { return h.Profile(ctx, 0, w) }

// AttachProtocols has that of the host, or of MCP servers, if there is an OnAttach.
func (h *Host) AttachProtocols() []string {
	if h.OnAttach == nil {
		return nil
	}
	return []string{cmp.Or(h.Status().Protocol, "jsonrpc-lines")}
}

// MaxMessage is the default of all hosts.
func (h *Host) MaxMessage() int { return codec.Limits{}.WithDefaults().Frame }

// Silent returns false.
func (h *Host) Silent() bool { return false }

// Refused returns what [attach.Refused] says of the status.
func (h *Host) Refused() error { return attach.Refused(h.Status()) }

// Attach calls OnAttach.
func (h *Host) Attach(ctx context.Context, rw io.ReadWriteCloser) error { return h.OnAttach(ctx, rw) }

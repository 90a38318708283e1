package control

import (
	"context"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// Supervisor is the tree that a Server controls; [Over] makes one of a running tree. Its
// methods are called concurrently.
type Supervisor interface {
	Status() supervisor.Status
	Events(ctx context.Context, follow bool) iter.Seq[supervisor.Event]
	Crashes(host string) ([]actors.CrashReport, error)
	Crash(id string) (*actors.CrashReport, error)
	Activate(ctx context.Context, host, event string) error // host "": every host that it concerns
	Extensions(host string) ([]service.Status, error)
	SetExtension(ctx context.Context, host, id string, verb service.Verb) error
	RescanExtensions(ctx context.Context, host string) ([]service.Difference, error) // host "": all hosts that have folders
	Host(name string) (Host, error)
	Done() <-chan struct{} // closed when it has ended
}

// Host is one host of a [Supervisor].
type Host interface {
	Status() actors.HostStatus
	Encoding() codec.Encoding // nil: it cannot be called
	Call(ctx context.Context, c Call) (codec.Raw, error)
	Stream(ctx context.Context, c Call) iter.Seq2[codec.Raw, error]
	Notify(ctx context.Context, method string, params codec.Raw) error
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Restart(ctx context.Context) error
	Reset(ctx context.Context) error
	Wait(ctx context.Context, states ...lifecycle.State) error
	History(n int) ([]capture.Line, error)
	Follow(ctx context.Context, n int) iter.Seq[capture.Line]
	Messages(ctx context.Context) iter.Seq[feed.Message]
	Inspect(ctx context.Context) (*supervisor.Inspection, error)
	Profile(ctx context.Context, d time.Duration, w io.Writer) error
	HeapSnapshot(ctx context.Context, w io.Writer) error
	CanAttach() bool
	Attach(ctx context.Context, rw io.ReadWriteCloser) error
}

// Call is a call of a host.
type Call struct {
	Method     string
	Params     codec.Raw
	Timeout    time.Duration // 0: the host's own
	Idempotent bool          // may be sent again to the next life
}

// Over makes sup the tree of a Server.
func Over(sup *supervisor.Supervisor) Supervisor { return tree{sup} }

type tree struct{ *supervisor.Supervisor }

func (t tree) Events(ctx context.Context, follow bool) iter.Seq[supervisor.Event] {
	if follow {
		return t.Follow(ctx)
	}
	return slices.Values(t.Supervisor.History())
}

func (t tree) Host(name string) (Host, error) {
	h, err := t.Supervisor.Host(name)
	if err != nil {
		return nil, err
	}
	return member{h, t.Supervisor}, nil
}

type member struct {
	*supervisor.Host
	sup *supervisor.Supervisor
}

func (m member) CanAttach() bool { return attach.Can(m.Spec().Protocol) }

func (m member) Attach(ctx context.Context, rw io.ReadWriteCloser) error {
	return m.sup.Attach(ctx, m.Name(), rw)
}

func (m member) Inspect(ctx context.Context) (*supervisor.Inspection, error) {
	return m.sup.Inspect(ctx, m.Name())
}

func (m member) Profile(ctx context.Context, d time.Duration, w io.Writer) error {
	return m.sup.Profile(ctx, m.Name(), d, w)
}

func (m member) HeapSnapshot(ctx context.Context, w io.Writer) error {
	return m.sup.HeapSnapshot(ctx, m.Name(), w)
}

func (m member) Call(ctx context.Context, c Call) (codec.Raw, error) {
	var out codec.Raw
	err := m.Host.Call(ctx, c.Method, c.Params, &out, c.options()...)
	return out, err
}

func (m member) Stream(ctx context.Context, c Call) iter.Seq2[codec.Raw, error] {
	return m.Host.Stream(ctx, c.Method, c.Params, c.options()...)
}

func (m member) Notify(ctx context.Context, method string, params codec.Raw) error {
	return m.Host.Notify(ctx, method, params)
}

func (c Call) options() []supervisor.CallOption {
	var opts []supervisor.CallOption
	if c.Timeout > 0 {
		opts = append(opts, supervisor.Timeout(c.Timeout))
	}
	if c.Idempotent {
		opts = append(opts, supervisor.Idempotent())
	}
	return opts
}

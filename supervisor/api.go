package supervisor

import (
	"context"
	"iter"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
)

// (signatures fixed first; bodies follow)

type Option func()

func WithLogger(l hclog.Logger) Option { return nil }

type Supervisor struct{}

func Start(ctx context.Context, spec Spec, opts ...Option) (*Supervisor, error) { return nil, nil }

func (s *Supervisor) Host(name string) (*Host, error)                         { return nil, nil } // ErrNoHost
func (s *Supervisor) Status() Status                                          { return Status{} }
func (s *Supervisor) Ready(ctx context.Context) error                         { return nil }      // every eager host is running or had its first try
func (s *Supervisor) Events(ctx context.Context, follow bool) iter.Seq[Event] { return nil }      // history first; then, with follow, what comes until ctx ends
func (s *Supervisor) Crashes(host string) ([]actors.CrashReport, error)       { return nil, nil } // "" all; newest last
func (s *Supervisor) Crash(id string) (*actors.CrashReport, error)            { return nil, nil } // ErrNoCrash
func (s *Supervisor) Add(ctx context.Context, group string, h HostSpec) error { return nil }      // "" or new name: group of its own
func (s *Supervisor) Remove(ctx context.Context, name string) error           { return nil }
func (s *Supervisor) Stop(ctx context.Context) error                          { return nil } // graceful, reverse order; ctx's end kills
func (s *Supervisor) Done() <-chan struct{}                                   { return nil }
func (s *Supervisor) Err() error                                              { return nil } // ErrHostFailed with OnFailed Exit

// Host is the handle of one host; valid over all its lives.
type Host struct{}

type CallOption func()

func Idempotent() CallOption             { return nil }
func Timeout(d time.Duration) CallOption { return nil }

func (h *Host) Name() string              { return "" }
func (h *Host) Encoding() codec.Encoding  { return nil } // nil for protocol none
func (h *Host) Status() actors.HostStatus { return actors.HostStatus{} }
func (h *Host) Call(ctx context.Context, method string, in, out any, opts ...CallOption) error {
	return nil
}
func (h *Host) Notify(ctx context.Context, method string, in any) error { return nil }
func (h *Host) Stream(ctx context.Context, method string, in any, opts ...CallOption) iter.Seq2[codec.Raw, error] {
	return nil
}
func (h *Host) Start(ctx context.Context) error                           { return nil } // until running, or *StateError why not
func (h *Host) Stop(ctx context.Context) error                            { return nil } // until stopped
func (h *Host) Restart(ctx context.Context) error                         { return nil } // until running again
func (h *Host) Reset(ctx context.Context) error                           { return nil } // clears the window; failed: starts again
func (h *Host) Wait(ctx context.Context, states ...lifecycle.State) error { return nil }
func (h *Host) Tail(n int) []capture.Line                                 { return nil }
func (h *Host) Follow(ctx context.Context, n int) iter.Seq[capture.Line]  { return nil } // last n, then what comes

type Event = actors.Event

// Status is the whole supervisor as `status --json` shows it.
type Status struct {
	Supervisor Info                `json:"supervisor"`
	Groups     []GroupStatus       `json:"groups"`
	Hosts      []actors.HostStatus `json:"hosts"`
}

type Info struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Config  *string   `json:"config"`
	Socket  *string   `json:"socket"`
	Kill    string    `json:"kill"`
	Missing []string  `json:"missing"` // why stronger ways of killing are not in force
}

type GroupStatus struct {
	Name     string             `json:"name"`
	Strategy lifecycle.Strategy `json:"strategy"`
	Hosts    []string           `json:"hosts"`
}

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrNoInspector means that a host cannot be inspected: an *InspectError says
// why.
var ErrNoInspector = errors.New("no inspector")

// InspectError says why a host could not be inspected. It is [ErrNoInspector].
type InspectError struct {
	Host   string
	Reason string
}

func (e *InspectError) Error() string {
	return fmt.Sprintf("host %q cannot be inspected: %s", e.Host, e.Reason)
}

// Unwrap returns [ErrNoInspector].
func (e *InspectError) Unwrap() error { return ErrNoInspector }

// Inspection is the open inspector of a host that is node.
type Inspection struct {
	Host     string `json:"host"`
	Life     uint64 `json:"life"`
	PID      int    `json:"pid"`
	URL      string `json:"url"`      // what a debugger connects to
	DevTools string `json:"devtools"` // what Chrome opens
	// Apart: it can be reached only in the network that the process sees, which
	// is another than the supervisor's.
	Apart bool `json:"apart"`
	// Opened: it was not open before the first who asked for it.
	Opened bool `json:"opened"`
}

// Bounds of what is asked of a host's inspector.
const (
	MinProfile = 10 * time.Millisecond
	MaxProfile = 5 * time.Minute
)

// Inspect has a running host that is node open its inspector, at a free port of
// the loopback where the host's protocol is vscode, else where node opens it. It
// stays open as long as the process lives. The tree needs a part that inspects, as
// package inspect has one. Errors: an *InspectError, ErrNoHost, a *StateError for a
// host that does not run, ErrClosed, ctx's.
func (s *Supervisor) Inspect(ctx context.Context, host string) (*Inspection, error) {
	h, in, err := s.inspector(host)
	if err != nil {
		return nil, err
	}
	return in.Inspect(ctx, h)
}

// Profile takes a CPU profile of a host that is node, which lasts d (from
// MinProfile to MaxProfile), and writes it to w: what Chrome and VS Code open as
// a .cpuprofile. The inspector is closed again unless it was open. Errors as of
// Inspect, those of w, and an *InspectError when the host ends before it is done.
func (s *Supervisor) Profile(ctx context.Context, host string, d time.Duration, w io.Writer) error {
	if d < MinProfile || d > MaxProfile {
		return &InspectError{host, fmt.Sprintf("a profile lasts from %v to %v, not %v", MinProfile, MaxProfile, d)}
	}
	data, err := s.ProfileLife(ctx, host, 0, d)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// ProfileLife is Profile of a life of the host, or with 0 of the one that runs.
func (s *Supervisor) ProfileLife(ctx context.Context, host string, life uint64, d time.Duration) ([]byte, error) {
	h, in, err := s.inspector(host)
	if err != nil {
		return nil, err
	}
	return in.Profile(ctx, h, life, d)
}

// SampleAllocations samples the allocations of a life of a host that is node, until ctx ends. It
// passes to take, after each interval: what V8 has of the allocations that are still in use, as
// Chrome opens a .heapprofile, and a CPU profile of the interval. Errors as of Profile, but
// nil after the end of ctx.
func (s *Supervisor) SampleAllocations(ctx context.Context, host string, life uint64, every time.Duration, take func(heap, cpu json.RawMessage)) error {
	h, in, err := s.inspector(host)
	if err != nil {
		return err
	}
	return in.Allocations(ctx, h, life, every, take)
}

// NoteCalls makes a life of a host that is node note, from now on, each call that stops its event
// loop before that call begins, large allocations, and native code that is loaded. The caller must close the notes. The
// inspector is closed again unless it was open. Errors as of Profile.
func (s *Supervisor) NoteCalls(ctx context.Context, host string, life uint64) (Notes, error) {
	h, in, err := s.inspector(host)
	if err != nil {
		return nil, err
	}
	return in.NoteCalls(ctx, h, life)
}

// HeapSnapshot writes a snapshot of the heap of a host that is node to w, as it
// comes: what Chrome and VS Code open as a .heapsnapshot. The host stands still
// until it has been made, which for a large heap can take longer than the host
// may be unresponsive. Errors as of Profile.
func (s *Supervisor) HeapSnapshot(ctx context.Context, host string, w io.Writer) error {
	h, in, err := s.inspector(host)
	if err != nil {
		return err
	}
	return in.HeapSnapshot(ctx, h, w)
}

// inspector returns a host and what inspects it.
func (s *Supervisor) inspector(host string) (*Host, Inspector, error) {
	h, err := s.Host(host)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range s.parts {
		if p.Inspector != nil {
			return h, p.Inspector, nil
		}
	}
	return nil, nil, &InspectError{host, "the supervisor was started without an inspector"}
}

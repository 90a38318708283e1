package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/inspector"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
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
// stays open as long as the process lives. Errors: an *InspectError, ErrNoHost,
// a *StateError for a host that does not run, ErrClosed, ctx's.
func (s *Supervisor) Inspect(ctx context.Context, host string) (*Inspection, error) {
	v, lease, err := s.lease(ctx, host, 0)
	if err != nil {
		return nil, err
	}
	lease.Keep()
	defer func() { _ = lease.Release() }() // it stays
	a := lease.Address()
	return &Inspection{Host: host, Life: v.life, PID: a.PID, URL: a.URL(), DevTools: a.DevTools(), Apart: a.Apart, Opened: lease.Opened()}, nil
}

// Profile takes a CPU profile of a host that is node, which lasts d (from
// MinProfile to MaxProfile), and writes it to w: what Chrome and VS Code open as
// a .cpuprofile. The inspector is closed again unless it was open. Errors as of
// Inspect, those of w, and an *InspectError when the host ends before it is done.
func (s *Supervisor) Profile(ctx context.Context, host string, d time.Duration, w io.Writer) error {
	if d < MinProfile || d > MaxProfile {
		return &InspectError{host, fmt.Sprintf("a profile lasts from %v to %v, not %v", MinProfile, MaxProfile, d)}
	}
	data, err := s.profile(ctx, host, 0, d)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// profile takes a profile of a life, or with 0 of the one that runs.
func (s *Supervisor) profile(ctx context.Context, host string, life uint64, d time.Duration) (data []byte, err error) {
	err = s.session(ctx, host, life, func(ctx context.Context, session *inspector.Session) error {
		h, err := s.Host(host)
		if err != nil {
			return err
		}
		data, err = session.Profile(ctx, d, h.Status().State == lifecycle.Unresponsive)
		return err
	})
	return data, err
}

// HeapSnapshot writes a snapshot of the heap of a host that is node to w, as it
// comes: what Chrome and VS Code open as a .heapsnapshot. The host stands still
// until it has been made, which for a large heap can take longer than the host
// may be unresponsive. Errors as of Profile.
func (s *Supervisor) HeapSnapshot(ctx context.Context, host string, w io.Writer) error {
	return s.session(ctx, host, 0, func(ctx context.Context, session *inspector.Session) error {
		return session.Snapshot(ctx, w)
	})
}

// session does something with the inspector of a host, and closes it then.
func (s *Supervisor) session(ctx context.Context, host string, life uint64, do func(context.Context, *inspector.Session) error) error {
	v, lease, err := s.lease(ctx, host, life)
	if err != nil {
		return err
	}
	defer func() {
		if err := lease.Release(); err != nil {
			s.world.Log.Named(host).Warn("the inspector stays open", "url", lease.Address().URL(), "error", err)
		}
	}()
	return v.explain(ctx, lease.Session(ctx, do))
}

// profiles is the folder for profiles that go with crash reports, "" for none.
func (s *Supervisor) profiles() string {
	if s.spec.StateDir == "" {
		return ""
	}
	return filepath.Join(s.spec.StateDir, "profiles")
}

// visit is the use of the inspector of one life.
type visit struct {
	s    *Supervisor
	host *Host
	life uint64
	pid  int
}

// lease opens the inspector of a life of a host, or with 0 of the one that runs.
func (s *Supervisor) lease(ctx context.Context, host string, life uint64) (*visit, *inspector.Lease, error) {
	h, err := s.Host(host)
	if err != nil {
		return nil, nil, err
	}
	st := h.Status()
	if st.PID == nil || !inspectable(st.State) {
		e := &StateError{Host: host, Want: lifecycle.Running, State: st.State}
		if st.Reason != nil {
			e.Reason = *st.Reason
		}
		return nil, nil, e
	}
	if life != 0 && st.Life != life {
		return nil, nil, &InspectError{host, "its life has ended"}
	}
	v := &visit{s: s, host: h, life: st.Life, pid: *st.PID}
	opening, cancel := context.WithTimeout(ctx, opensIn)
	defer cancel()
	lease, err := s.ports.Open(opening, inspector.Target{
		Key: fmt.Sprintf("%s/%d", host, v.life), PID: v.pid, Signal: v.signal, Errors: v.errors, Await: v.await,
	})
	if err != nil && opening.Err() != nil && ctx.Err() == nil {
		err = &InspectError{host, fmt.Sprintf("its node has not opened its inspector in %v: it is busy outside of JavaScript, or it was open before and has not said where in its last lines", opensIn)}
	}
	return v, lease, v.explain(ctx, err)
}

// opensIn bounds how long a host may take to open its inspector.
const opensIn = 20 * time.Second

func inspectable(s lifecycle.State) bool {
	return s == lifecycle.Running || s == lifecycle.Unresponsive
}

// up says whether it is still the same life, and not being ended.
func (v *visit) up() bool {
	st := v.host.Status()
	return st.Life == v.life && inspectable(st.State)
}

// lookAgain is how often it is asked whether a life is up that was not heard to
// end.
const lookAgain = 2 * time.Second

// await waits until the life ends or is being ended.
func (v *visit) await(ctx context.Context) {
	for ctx.Err() == nil && v.up() {
		waiting, cancel := context.WithTimeout(ctx, lookAgain)
		_ = v.host.Wait(waiting, lifecycle.Starting, lifecycle.Crashed, lifecycle.Restarting, lifecycle.Failed, lifecycle.Stopping, lifecycle.Stopped)
		cancel()
	}
}

// signal sends a signal to the process of the life, and to no other that may
// have got its number.
func (v *visit) signal(sig syscall.Signal) error {
	return sys.SignalIf(v.pid, sig, v.up)
}

// lines is how many lines back a host is looked for to have told of its port.
const lines = 200

// errors are the lines that the life has written to its standard error.
func (v *visit) errors(ctx context.Context, after uint64, follow bool) iter.Seq[inspector.Line] {
	all := slices.Values(v.host.Tail(lines))
	if follow {
		all = v.host.Follow(ctx, lines)
	}
	return func(yield func(inspector.Line) bool) {
		for l := range all {
			if l.Life == v.life && l.Stream == capture.Stderr && l.Seq > after && !yield(inspector.Line{Seq: l.Seq, Text: l.Text}) {
				return
			}
		}
	}
}

// explain puts an error in the words of this package.
func (v *visit) explain(ctx context.Context, err error) error {
	var refused *inspector.RefusedError
	var told *inspector.CallError
	var reason string
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, inspector.ErrClosed):
		return ErrClosed
	case errors.As(err, &refused):
		reason = refused.Reason
	case errors.As(err, &told), errors.Is(err, inspector.ErrProtocol):
		reason = err.Error()
	case errors.Is(err, inspector.ErrGone), errors.Is(err, context.Canceled):
		if reason = err.Error(); !v.up() {
			reason = "it ended, or was being ended, before that was done"
		}
	default:
		return err
	}
	return &InspectError{v.host.Name(), reason}
}

package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/inspector"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// Part inspects the hosts of a supervisor that are node.
type Part struct{}

var _ supervisor.Part = Part{}

// Identity implements [supervisor.Part].
func (Part) Identity() (kind, name string) { return "inspector", "" }

// Validate implements [supervisor.Part].
func (Part) Validate() error { return nil }

// Open implements [supervisor.Part].
func (Part) Open(t supervisor.Tree) (*supervisor.Opened, error) {
	in := &hosts{ports: inspector.NewPorts(), log: t.Log}
	return &supervisor.Opened{Inspector: in, Close: func() error { in.ports.Close(); return nil }}, nil
}

// hosts are the inspectors of the hosts of one tree.
type hosts struct {
	ports *inspector.Ports
	log   hclog.Logger
}

// Inspect implements [supervisor.Inspector].
func (in *hosts) Inspect(ctx context.Context, host *supervisor.Host) (*supervisor.Inspection, error) {
	v, lease, err := in.lease(ctx, host, 0)
	if err != nil {
		return nil, err
	}
	lease.Keep()
	defer func() { _ = lease.Release() }() // it stays
	a := lease.Address()
	return &supervisor.Inspection{Host: host.Name(), Life: v.life, PID: a.PID, URL: a.URL(), DevTools: a.DevTools(), Apart: a.Apart, Opened: lease.Opened()}, nil
}

// Profile implements [supervisor.Inspector].
func (in *hosts) Profile(ctx context.Context, host *supervisor.Host, life uint64, d time.Duration) (data []byte, err error) {
	err = in.session(ctx, host, life, func(ctx context.Context, session *inspector.Session) error {
		data, err = session.Profile(ctx, d, host.Status().State == lifecycle.Unresponsive)
		return err
	})
	return data, err
}

// Allocations implements [supervisor.Inspector].
func (in *hosts) Allocations(ctx context.Context, host *supervisor.Host, life uint64, every time.Duration, take func(heap, cpu json.RawMessage)) error {
	return in.session(ctx, host, life, func(ctx context.Context, session *inspector.Session) error {
		return session.Allocations(ctx, every, take)
	})
}

// NoteCalls implements [supervisor.Inspector].
func (in *hosts) NoteCalls(ctx context.Context, host *supervisor.Host, life uint64) (out supervisor.Notes, err error) {
	err = in.session(ctx, host, life, func(ctx context.Context, session *inspector.Session) error {
		notes, err := session.Note(ctx)
		if err == nil {
			out = notes
		}
		return err
	})
	if err != nil && out != nil {
		_ = out.Close() // it was only read
		out = nil
	}
	return out, err
}

// HeapSnapshot implements [supervisor.Inspector].
func (in *hosts) HeapSnapshot(ctx context.Context, host *supervisor.Host, w io.Writer) error {
	return in.session(ctx, host, 0, func(ctx context.Context, session *inspector.Session) error {
		return session.Snapshot(ctx, w)
	})
}

// session does something with the inspector of a host, and closes it then.
func (in *hosts) session(ctx context.Context, host *supervisor.Host, life uint64, do func(context.Context, *inspector.Session) error) error {
	v, lease, err := in.lease(ctx, host, life)
	if err != nil {
		return err
	}
	defer func() {
		if err := lease.Release(); err != nil {
			in.log.Named(host.Name()).Warn("the inspector stays open", "url", lease.Address().URL(), "error", err)
		}
	}()
	return v.explain(ctx, lease.Session(ctx, do))
}

// visit is the use of the inspector of one life.
type visit struct {
	host *supervisor.Host
	life uint64
	pid  int
}

// lease opens the inspector of a life of a host, or with 0 of the one that runs.
func (in *hosts) lease(ctx context.Context, host *supervisor.Host, life uint64) (*visit, *inspector.Lease, error) {
	st := host.Status()
	if st.PID == nil || !inspectable(st.State) {
		e := &supervisor.StateError{Host: host.Name(), Want: lifecycle.Running, State: st.State}
		if st.Reason != nil {
			e.Reason = *st.Reason
		}
		return nil, nil, e
	}
	if life != 0 && st.Life != life {
		return nil, nil, &supervisor.InspectError{Host: host.Name(), Reason: "its life has ended"}
	}
	v := &visit{host: host, life: st.Life, pid: *st.PID}
	opening, cancel := context.WithTimeout(ctx, opensIn)
	defer cancel()
	lease, err := in.ports.Open(opening, inspector.Target{
		Key: fmt.Sprintf("%s/%d", host.Name(), v.life), PID: v.pid, Signal: v.signal, Errors: v.errors, Await: v.await,
	})
	if err != nil && opening.Err() != nil && ctx.Err() == nil {
		err = &supervisor.InspectError{Host: host.Name(), Reason: fmt.Sprintf("its node has not opened its inspector in %v: it is busy outside of JavaScript, or it was open before and has not said where in its last lines", opensIn)}
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

// explain puts an error in the words of package supervisor.
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
		return supervisor.ErrClosed
	case errors.As(err, &refused):
		reason = refused.Reason
	case errors.As(err, &told), errors.Is(err, inspector.ErrProtocol), errors.Is(err, inspector.ErrThrown):
		reason = err.Error()
	case errors.Is(err, inspector.ErrGone), errors.Is(err, context.Canceled):
		if reason = err.Error(); !v.up() {
			reason = "it ended, or was being ended, before that was done"
		}
	default:
		return err
	}
	return &supervisor.InspectError{Host: v.host.Name(), Reason: reason}
}

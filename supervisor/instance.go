package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
)

// spareSuffix ends the name of the spare of instances, which takes part while they are
// replaced.
const spareSuffix = "~next"

// instanceOf returns the name that a host is an instance of, or "".
func instanceOf(r *actors.Ref) string {
	if rest, ok := r.Spec().Origin.(*rest); ok {
		return rest.InstanceOf
	}
	return ""
}

// IsSpare reports whether a name is one that no configuration can give: that of the spare
// of instances, see [Apply], of an instance for programs that attach, see package attach, or
// of a host for isolated extensions.
func IsSpare(host string) bool { return strings.ContainsAny(host, "~@") }

// seat counts the callers that [Supervisor.Instance] has sent to a host.
type seat struct {
	mu    sync.Mutex
	busy  int
	left  bool          // nobody is sent to it any more
	empty chan struct{} // closed when the last caller has gone, once it is left
}

func (s *seat) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return false
	}
	s.busy++
	return true
}

func (s *seat) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy--; s.busy == 0 && s.left {
		close(s.empty)
	}
}

// leave returns a channel that is closed when nobody is there any more.
func (s *seat) leave() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.empty = true, make(chan struct{})
	if s.busy == 0 {
		close(s.empty)
	}
	return s.empty
}

func (s *seat) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = false
}

func (s *seat) callers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

// Instances returns the hosts that are instances of name (HostSpec.InstanceOf): NAME-1,
// NAME-2 and so on, and their spare if there is one now. It is empty if there are none.
func (s *Supervisor) Instances(name string) []*Host {
	var out []*Host
	add := func(host string) bool {
		r := s.world.Ref(host)
		if r == nil || instanceOf(r) != name {
			return false
		}
		out = append(out, s.handle(r))
		return true
	}
	for n := 1; add(fmt.Sprintf("%s-%d", name, n)); n++ {
	}
	add(name + spareSuffix)
	return out
}

// Instance returns the instance of name that runs and has the fewest callers; if none runs,
// the first one, for its own rules to decide what becomes of a call. release must be
// called when the call is over: an instance is not replaced by [Apply] before its callers
// have gone, so far as they do within its Requests.Timeout. The error wraps ErrNoHost.
func (s *Supervisor) Instance(name string) (h *Host, release func(), err error) {
	for {
		all := s.Instances(name)
		if len(all) == 0 {
			return nil, nil, fmt.Errorf("%w: %q", ErrNoHost, name)
		}
		best, least := all[0], -1
		for _, h := range all {
			if n := h.seat.callers(); h.ref.State().Up() && !h.seat.isLeft() && (least < 0 || n < least) {
				best, least = h, n
			}
		}
		if best.seat.take() {
			return best, best.seat.release, nil
		}
		if least < 0 { // all are being replaced, or down
			return best, func() {}, nil
		}
	}
}

func (s *seat) isLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// family is a set of instances of which some are replaced by one Apply. They take their
// turns, so that what is here belongs to one at a time.
type family struct {
	turn   chan struct{} // closed after the last one whose turn is known
	left   int           // turns to come
	tried  bool
	failed bool  // the new configuration did not come up: the others keep theirs
	spare  *Host // nil: there is none
}

// roll replaces an instance in its turn, if the configuration is known to come up. When
// it does not, the instance has its old one again.
func (a *application) roll(ctx, whole context.Context, f *family, next HostSpec) {
	defer func() {
		if f.left--; f.left == 0 && f.spare != nil {
			a.did("remove", f.spare.Name(), a.dismiss(whole, f.spare))
		}
	}()
	if f.failed || ctx.Err() != nil {
		return
	}
	host, err := a.Host(next.Name)
	if err != nil {
		a.did("replace", next.Name, err)
		return
	}
	up := host.ref.State()
	if up != lifecycle.Starting && !up.Up() { // nothing is lost with it
		a.did("replace", next.Name, a.Replace(whole, next))
		return
	}
	if !f.tried {
		f.tried = true
		if f.spare, err = a.hire(whole, next); err != nil {
			f.failed = true
			a.did("replace", next.Name, fmt.Errorf("the new configuration did not come up in a process beside it, so that all instances keep theirs: %w", err))
			return
		}
	}
	old := host.Spec()
	a.empty(host)
	defer host.seat.enter()
	if err = a.Replace(whole, next); err == nil {
		err = comesUp(whole, host)
	}
	if err != nil {
		f.failed = true
		a.did("replace", next.Name, fmt.Errorf("it has its old configuration again, and the instances after it keep theirs: %w", errors.Join(err, a.Replace(whole, old))))
	}
}

// hire starts a spare with the configuration of an instance, for calls while others are
// replaced. It is nil without an error if two processes of the host cannot stand in for
// each other: only calls of a plain protocol can go to either.
func (a *application) hire(ctx context.Context, like HostSpec) (*Host, error) {
	if like.Protocol == nil || like.Protocol.Features().Rendezvous != nil || like.Attach || like.Extensions != nil {
		return nil, nil
	}
	like.Name, like.Start.DependsOn, like.Start.Lazy = like.InstanceOf+spareSuffix, nil, true
	spare, err := a.Add(ctx, "", like)
	if err != nil {
		return nil, err
	}
	if err := comesUp(ctx, spare); err != nil {
		return nil, errors.Join(err, a.Remove(ctx, spare.Name()))
	}
	return spare, nil
}

// dismiss ends a spare after its callers.
func (a *application) dismiss(ctx context.Context, spare *Host) error {
	a.empty(spare)
	return a.Remove(ctx, spare.Name())
}

// empty waits until the callers of an instance have gone, for as long as a call may take.
func (a *application) empty(h *Host) {
	select {
	case <-h.seat.leave():
	case <-time.After(h.Spec().Requests.Timeout):
	case <-a.done:
	}
}

// comesUp waits until a host runs.
func comesUp(ctx context.Context, h *Host) error {
	ctx, cancel := context.WithTimeout(ctx, h.upWithin())
	defer cancel()
	return h.Raise(ctx)
}

// upWithin bounds the wait for a host that stops and starts, also for one that is slow and
// whose start is waited for (hostspec.Wait).
func (h *Host) upWithin() time.Duration {
	spec := h.Spec()
	return spec.Stop.Grace + spec.Start.Timeout + spec.Start.Timeout/2
}

// restart is Restart, but does not wait for ever: a host that is slow goes on starting.
func (h *Host) restart(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, h.upWithin())
	defer cancel()
	if err := h.Restart(short); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ctx.Err()
}

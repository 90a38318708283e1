package attach

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// ruleName is that of the interceptor of a [Rule].
const ruleName = "attach rule"

// usage stops a host that no program has used for some time, over all configurations of
// the host.
type usage struct {
	host *actors.Ref
	ctx  context.Context // ends with the host
	end  context.CancelFunc

	mu        sync.Mutex
	after     time.Duration // 0: the host is never stopped
	instances *instances    // of the host; nil until a program attaches to one that has them
	per       Sharing       // of the rule
	up        bool          // a life is up
	since     time.Time     // when a life came up, or a program left
	timer     link.Timer    // nil: the host is in use, or does not run
	releasing chan struct{} // closed when the stop that was asked for has ended; nil: none was
}

// usageOf returns the usage of a host, nil if it has no rule.
func usageOf(host *actors.Ref) *usage {
	u, _ := host.Interceptor(ruleName).(*usage)
	return u
}

// newUsage returns the usage of a host of which no life is up.
func newUsage(host *actors.Ref) *usage {
	u := &usage{host: host}
	u.ctx, u.end = context.WithCancel(context.Background())
	return u
}

func (u *usage) interceptor() *actors.Interceptor {
	return &actors.Interceptor{
		Name: ruleName, Stage: actors.StageServe, Value: u, Starting: u.starting,
		Up: func(_ *actors.Line, publish func()) {
			u.changed(func() { u.up, u.since = true, u.host.Now() })
			publish()
		},
		Down:   func(uint64) { u.changed(func() { u.up = false }) },
		Closed: func() { u.end(); u.changed(func() {}) },
		Status: u.status,
	}
}

// starting refuses to start a template, whose specification has no values yet.
func (u *usage) starting(context.Context, *actors.Start) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.per == PerKey {
		return fmt.Errorf("%w: %q is a template, of which only instances for keys run", ErrKey, u.host.Name())
	}
	return nil
}

// set gives the usage a rule. The time counts from now on if it is another one.
func (u *usage) set(r Rule) {
	u.changed(func() {
		after := r.IdleStop
		if r.Instances != Shared {
			after = time.Millisecond // whatever started it, programs do not use it
		}
		u.per = r.Instances
		if u.after != after {
			u.after, u.since = after, u.host.Now()
		}
	})
}

// changed carries out a change, and sets the timer anew.
func (u *usage) changed(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	if u.idle() {
		u.timer = u.host.Env().AfterFunc(u.since.Add(u.after).Sub(u.host.Now()), u.expired)
	}
}

// status says of a host that does not run itself how many instances it has.
func (u *usage) status(s *record.HostStatus) {
	u.mu.Lock()
	per, i := u.per, u.instances
	u.mu.Unlock()
	if per == Shared || s.State != lifecycle.Stopped || s.StoppedByPerson {
		return
	}
	n := 0
	if i != nil {
		n = len(i.all())
	}
	text := fmt.Sprintf("runs as instances: one for each %s, %d now", per, n)
	s.Reason = &text
}

// idle reports whether the host runs and no program is attached to it. The caller must
// hold mu.
func (u *usage) idle() bool {
	if !u.up || u.after == 0 || u.releasing != nil || u.ctx.Err() != nil {
		return false
	}
	return Clients(u.host) == 0
}

// left follows a program that has left.
func (u *usage) left() { u.changed(func() { u.since = u.host.Now() }) }

// entered follows a program that has attached. It waits until the host has stopped if it
// is being stopped, so that it is started again and the program does not lose it.
func (u *usage) entered(ctx context.Context) {
	u.mu.Lock()
	wait := u.releasing
	u.mu.Unlock()
	if wait == nil {
		return
	}
	select {
	case <-wait:
	case <-ctx.Done():
	}
}

// expired stops a host that has not been used for as long as it may be. Calls that are
// under way keep it from that.
func (u *usage) expired() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.idle() || u.host.Now().Before(u.since.Add(u.after)) || usageOf(u.host) != u {
		return
	}
	if u.host.Pending() > 0 {
		u.since = u.host.Now()
		u.timer = u.host.Env().AfterFunc(u.after, u.expired)
		return
	}
	done := make(chan struct{})
	u.releasing = done
	u.host.Background(func() {
		err := u.host.Release(u.ctx)
		close(done)
		u.changed(func() { u.releasing, u.since = nil, u.host.Now() })
		if err != nil && u.ctx.Err() == nil {
			u.host.Log().Debug("an idle host is not stopped", "error", err)
		}
	})
}

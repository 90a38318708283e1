package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// replace takes another configuration. Who waits for one that is not in force yet waits
// for this one.
func (h *Host) replace(ctx actor.Context, m *replaceSpec) {
	if h.ref.lasting.Err() != nil { // the actor is ending, and its children have not yet
		m.done(h.world.noHost(h.ref.Name()))
		return
	}
	m.restart = !m.keep && (m.spec.Interceptors != nil || h.ref.spec().Restarts(&m.spec.Spec))
	if before := h.next; before != nil {
		last := m.done
		m.done = func(err error) {
			before.done(err)
			last(err)
		}
		m.restart = m.restart || before.restart
		if m.spec.Interceptors == nil {
			m.spec.Interceptors = before.spec.Interceptors
		}
	}
	h.next = m
	h.step(ctx, lifecycle.Replace{Rules: m.rules, Restart: m.restart})
}

// adopt has the next configuration hold.
func (h *Host) adopt() {
	m := h.next
	h.next = nil
	h.ref.adopt(m.spec)
	h.parked = slices.DeleteFunc(h.parked, func(q *Request) bool {
		if q.spec.speaks(h.ref.spec()) {
			return false
		}
		q.Settle(nil, h.ref.outdated())
		return true
	})
	h.event(record.Event{Kind: record.KindReplaced, Reason: "its configuration was replaced"})
	m.done(nil)
}

// adopt puts another configuration in the place of the present one.
func (r *Ref) adopt(spec *HostSpec) {
	old, made := r.spec(), spec.Interceptors
	next := newConfig(r.world, *spec)
	if spec.Requests.Timeout == old.Requests.Timeout {
		next.deadlines = old.deadlines // else the old ones run out by themselves
	}
	r.now.Store(next)
	r.log.SetRules(fileRules(spec.Log))
	if made == nil {
		return
	}
	list := made(r)
	r.rechain(func(_, added []*Interceptor) (_, _ []*Interceptor) { return list, added })
}

// speaks reports whether a message made under one configuration can be sent under the
// other.
func (c *config) speaks(other *config) bool {
	return c == other || c.Protocol != nil && c.protocol() == other.protocol()
}

// outdated is the outcome of a call that was made for another protocol.
func (r *Ref) outdated() error {
	return &HostError{Host: r.Name(), Err: ErrStopped, Reason: fmt.Sprintf("its configuration was replaced: its protocol is %s now", r.spec().protocol())}
}

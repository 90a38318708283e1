package actors

import (
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/lifecycle"
)

// park takes a call that found no connection.
func (h *Host) park(ctx actor.Context, q *Request) {
	if q.settled.Load() {
		return
	}
	if c := h.ref.conn.Load(); c != nil {
		h.deliverOrKeep(q, c)
		return
	}
	h.parked = append(h.parked, q)
	if h.machine.State() == lifecycle.Stopped && h.ref.spec.Start.Lazy && !h.machine.StoppedByPerson() {
		h.calling = true
		h.said++
		tell(ctx, ctx.Parent(), &wantStart{h.ref.spec.Name, lifecycle.ByCall})
		return
	}
	h.settleParked(ctx)
}

// deliverOrKeep writes a call to the connection; when that has just closed,
// the call waits for what follows.
func (h *Host) deliverOrKeep(q *Request, c *conn) {
	switch err := c.sendNow(q); {
	case err == nil:
	case errors.Is(err, errConnClosed):
		h.parked = append(h.parked, q)
	default:
		q.settle(nil, err)
	}
}

func (h *Host) forget(q *Request) {
	h.parked = slices.DeleteFunc(h.parked, func(p *Request) bool { return p == q || p.settled.Load() })
}

// settleParked answers the calls that cannot wait in the present state.
func (h *Host) settleParked(ctx actor.Context) {
	if len(h.parked) == 0 {
		return
	}
	state := h.machine.State()
	keep := func(*Request) bool { return true }
	switch state {
	case lifecycle.Starting, lifecycle.Running, lifecycle.Unresponsive:
		// Running without a connection: it has just ended, and the host's own
		// end follows.
	case lifecycle.Crashed, lifecycle.Restarting:
		queue := h.ref.spec.Requests.WhileDown == Queue
		keep = func(q *Request) bool { return queue || q.resent || q.patient }
	case lifecycle.Stopped:
		if h.awaitsStart() {
			break
		}
		keep = func(*Request) bool { return false }
	default:
		keep = func(*Request) bool { return false }
	}
	err := downError(h.ref.spec.Name, state, h.machine.Reason(), h.lastExit)
	h.parked = slices.DeleteFunc(h.parked, func(q *Request) bool {
		if q.settled.Load() {
			return true
		}
		if keep(q) {
			return false
		}
		q.settle(nil, err)
		return true
	})
}

// awaitsStart says whether a stopped host is about to be started: by its
// group, once what it depends on is there, or by the call that waits.
func (h *Host) awaitsStart() bool {
	if h.machine.StoppedByPerson() {
		return false
	}
	return h.calling || h.lifeNo == 0 && !h.ref.spec.Start.Lazy || h.machine.By() == lifecycle.ByGroup && h.back
}

// verb carries out what a person or a program asked for.
func (h *Host) verb(ctx actor.Context, m *verb) {
	state := h.machine.State()
	name := h.ref.spec.Name
	switch m.verb {
	case VerbStart:
		if state == lifecycle.Running || state == lifecycle.Unresponsive {
			m.done(nil)
			return
		}
		h.want(ctx, m)
	case VerbStop:
		h.said++
		h.void = h.said
		tell(ctx, ctx.Parent(), &unwant{name})
		if state != lifecycle.Stopped {
			h.waiting = append(h.waiting, waiter{m.verb, h.said, m.done})
		}
		h.step(ctx, lifecycle.Stop{By: lifecycle.ByPerson, Reason: "stopped by request"})
		h.overrule("stopped by request")
		if state == lifecycle.Stopped {
			m.done(nil)
		}
	case VerbRestart:
		if state == lifecycle.Stopped || state == lifecycle.Failed {
			h.want(ctx, m)
			return
		}
		h.waiting = append(h.waiting, waiter{m.verb, h.said, m.done})
		h.step(ctx, lifecycle.Restart{By: lifecycle.ByPerson})
	case VerbReset:
		h.event(Event{Kind: KindReset, Reason: "crash window cleared"})
		h.step(ctx, lifecycle.Reset{})
		if state == lifecycle.Failed {
			h.said++
			tell(ctx, ctx.Parent(), &wantStart{name, lifecycle.ByPerson})
		}
		m.done(nil)
	default:
		m.done(&CallError{name, string(m.verb), ErrNoSuchMethod, "", nil})
	}
}

// want asks the group for a start, which it gives once what the host depends
// on is there, and lets the verb wait for it.
func (h *Host) want(ctx actor.Context, m *verb) {
	h.said++
	h.waiting = append(h.waiting, waiter{m.verb, h.said, m.done})
	tell(ctx, ctx.Parent(), &wantStart{h.ref.spec.Name, lifecycle.ByPerson})
}

// overrule answers those who wait for the host to run: somebody has spoken
// after them.
func (h *Host) overrule(reason string) {
	h.waiting = slices.DeleteFunc(h.waiting, func(w waiter) bool {
		if w.verb == VerbStop {
			return false
		}
		w.done(&StateError{h.ref.spec.Name, w.target(), h.machine.State(), reason})
		return true
	})
}

// target is the state that ends the wait well.
func (w waiter) target() lifecycle.State {
	if w.verb == VerbStop {
		return lifecycle.Stopped
	}
	return lifecycle.Running
}

// settleWaiters answers the verbs whose outcome a change is.
func (h *Host) settleWaiters(to lifecycle.State, reason string) {
	h.waiting = slices.DeleteFunc(h.waiting, func(w waiter) bool {
		target := w.target()
		fail := &StateError{h.ref.spec.Name, target, to, reason}
		switch {
		case to == target:
			w.done(nil)
		case w.verb == VerbStop:
			return false // every way down ends in stopped
		case to == lifecycle.Crashed:
			fail.Reason = reason
			w.done(fail)
		case to == lifecycle.Failed:
			w.done(fail)
		case to == lifecycle.Stopping && w.verb == VerbStart:
			w.done(fail)
		case to == lifecycle.Stopped && h.machine.State() == lifecycle.Stopped && !h.machine.Pending() && h.heard >= w.wish:
			w.done(fail)
		default:
			return false
		}
		return true
	})
}

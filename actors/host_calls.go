package actors

import (
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// park takes a call that found no connection.
func (h *Host) park(ctx actor.Context, q *Request) {
	if q.IsSettled() {
		return
	}
	if c := h.ref.conn.Load(); c != nil {
		h.deliver(q, c)
		return
	}
	h.parked = append(h.parked, q)
	if h.machine.StartsAtCall() && !h.world.ending.Load() {
		h.step(ctx, lifecycle.Wish{By: lifecycle.ByCall})
		return
	}
	h.settleParked(ctx)
}

// deliver writes a call to the connection; when that has just closed, the call
// waits for what follows.
func (h *Host) deliver(q *Request, c *conn) {
	if q.IsSettled() {
		return
	}
	switch err := c.sendNow(q); {
	case err == nil:
	case errors.Is(err, link.ErrClosed):
		h.parked = append(h.parked, q)
	default:
		q.Settle(nil, err)
	}
}

func (h *Host) forget(q *Request) {
	h.parked = slices.DeleteFunc(h.parked, func(p *Request) bool { return p == q || p.IsSettled() })
}

// settleParked answers the calls that cannot wait in the present state.
func (h *Host) settleParked(ctx actor.Context) {
	if len(h.parked) == 0 {
		return
	}
	state, calls := h.machine.State(), h.machine.Calls()
	if state == lifecycle.Stopped && h.world.ending.Load() {
		calls = lifecycle.CallsRefused
	}
	queue := h.ref.spec().Requests.WhileDown == hostspec.Queue
	keep := func(q *Request) bool {
		return calls == lifecycle.CallsWait || calls == lifecycle.CallsKept && (queue || q.resent || q.patient)
	}
	err := h.ref.downErrorIn(state, h.machine.Reason(), h.lastExit)
	h.parked = slices.DeleteFunc(h.parked, func(q *Request) bool {
		if q.IsSettled() {
			return true
		}
		if keep(q) {
			return false
		}
		q.Settle(nil, err)
		return true
	})
}

// verb carries out what a person or a program asked for.
func (h *Host) verb(ctx actor.Context, m *verb) {
	if h.world.ending.Load() && m.verb != VerbStop {
		m.done(ErrClosed)
		return
	}
	op, by := lifecycle.OpStart, m.by
	if by == "" {
		by = lifecycle.ByPerson
	}
	switch m.verb {
	case VerbStart:
	case VerbRaise:
		by = lifecycle.ByProgram
	case VerbStop:
		op = lifecycle.OpStop
	case VerbRelease:
		op, by = lifecycle.OpStop, lifecycle.ByProgram
	case VerbRestart:
		op = lifecycle.OpRestart
	case VerbReset:
		h.event(record.Event{Kind: record.KindReset, Reason: "crash window cleared"})
		h.step(ctx, lifecycle.Reset{})
		for _, i := range h.ref.chain.Load().list {
			if i.Reset != nil {
				i.Reset()
			}
		}
		m.done(nil)
		return
	default:
		m.done(&CallError{h.ref.spec().Name, string(m.verb), ErrNoSuchMethod, "", nil})
		return
	}
	h.operations++
	h.waiting[h.operations] = waiter{op, m.done}
	h.step(ctx, lifecycle.Operate{Operation: op, By: by, ID: h.operations, Why: m.why})
}

// waiter is who waits for an operation.
type waiter struct {
	op   lifecycle.Operation
	done func(error)
}

// done answers the one who waits for an operation.
func (h *Host) done(e lifecycle.Done) {
	w, ok := h.waiting[e.ID]
	if !ok {
		return // answered when the tree began to end
	}
	delete(h.waiting, e.ID)
	want := lifecycle.Running
	if w.op == lifecycle.OpStop {
		want = lifecycle.Stopped
	}
	var err error
	if !e.OK {
		err = &StateError{h.ref.spec().Name, want, e.State, e.Reason}
	}
	w.done(err)
}

// treeEnds answers those who wait for a start, which there will not be.
func (h *Host) treeEnds(ctx actor.Context) {
	for id, w := range h.waiting {
		if w.op != lifecycle.OpStop {
			delete(h.waiting, id)
			w.done(ErrClosed)
		}
	}
	h.settleParked(ctx)
}

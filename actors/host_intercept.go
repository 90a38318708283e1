package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
)

// letIn publishes the connection of a life, interceptors first.
func (h *Host) letIn(publish func()) {
	if h.conn == nil {
		publish()
		return
	}
	if h.up != h.conn {
		h.up, h.told = h.conn, nil
	}
	list := h.ref.chain.Load().list
	for _, i := range slices.Backward(list) {
		if i.Up != nil && !slices.Contains(h.told, i) {
			then := publish
			publish = func() { i.Up(&h.up.line, then) }
		}
	}
	h.told = list
	publish()
}

// letOut tells the interceptors that the life is over.
func (h *Host) letOut() {
	if h.up == nil {
		return
	}
	for _, i := range h.told {
		if i.Down != nil {
			i.Down(h.up.life)
		}
	}
	h.up, h.told = nil, nil
}

// advised is what an interceptor says of the end of a life.
type advised struct {
	life   uint64
	advice Advice
}

// consult tells the interceptors of the end of a life, and returns how many of them
// will give advice about it.
func (h *Host) consult(ctx actor.Context, f *Failure, ev lifecycle.Ended) (asked int) {
	end := LifeEnd{
		Life: f.Life, Cause: ev.Cause, Status: ev.Status, Reason: ev.Reason(),
		Expected: h.machine.State() == lifecycle.Stopping,
	}
	h.lifeEnd = end
	list := h.ref.chain.Load().list
	self, root := ctx.Self(), ctx.ActorSystem().Root
	for _, i := range list {
		if i.Ended != nil {
			i.Ended(end)
		}
		if i.Advise != nil {
			asked++
			i.Advise(end, func(a Advice) { safeactor.Tell(root, self, &advised{f.Life, a}) })
		}
	}
	return asked
}

// advise takes the advice of one interceptor. What comes when the end is decided
// has no part in the crash report.
func (h *Host) advise(ctx actor.Context, m *advised) {
	if h.end != nil && h.end.failure.Life == m.life && m.advice.Extensions != nil {
		h.end.extensions = m.advice.Extensions
	}
	h.step(ctx, lifecycle.Advice{Life: m.life, Cleared: m.advice.Clear})
}

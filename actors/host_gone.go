package actors

import (
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
)

// terminated follows the end of a child.
func (h *Host) terminated(ctx actor.Context, who *actor.PID) {
	if h.life == nil || !who.Equal(h.life) {
		return // an aftermath
	}
	// What the strategy or the life said of the end is in the mailbox already,
	// but user messages come after this one: look at it from behind them.
	safeactor.Tell(ctx, ctx.Self(), &lifeVanished{h.lifeNo})
}

func (h *Host) vanished(ctx actor.Context, life uint64) {
	if h.machine.Lives(life) { // the actor was stopped from outside, or has a defect
		h.ended(ctx, &Failure{Life: life, Cause: lifecycle.CauseInternal, Detail: "the actor of the life ended"})
		return
	}
	h.step(ctx, lifecycle.Vanished{Life: life, Rest: h.rest()})
}

// rest returns what is left of a life whose process or actor has ended: its other
// processes may still have the memory, the ports and the files that the next life
// needs.
func (h *Host) rest() lifecycle.Rest {
	switch {
	case h.ref.chain.Load().gone:
		return lifecycle.RestTree // interceptors are waited for as well
	case h.child == nil:
		return lifecycle.RestNothing
	}
	select {
	case <-h.child.Gone():
		return lifecycle.RestNothing
	default:
		return lifecycle.RestTree
	}
}

func (h *Host) awaitTree(ctx actor.Context, life uint64) {
	child, end, list, self, root := h.child, h.lifeEnd, h.ref.chain.Load().list, ctx.Self(), ctx.ActorSystem().Root
	h.world.run(func() {
		var err error
		if child != nil {
			err = child.AwaitGone(lifecycle.KillWait)
		}
		for _, i := range slices.Backward(list) {
			if i.Gone != nil && end.Life == life {
				i.Gone(end)
			}
		}
		safeactor.Tell(root, self, &treeGone{life, err})
	})
}

// out tells the rules that nothing is left of a life that could be in the way
// of the next, or that what is left is not waited for any longer.
func (h *Host) out(ctx actor.Context, m *treeGone) {
	gone := lifecycle.Gone{Life: m.life}
	if m.err != nil {
		gone.Left = m.err.Error()
		h.log.Error("processes do not end", "error", m.err)
		e := record.Event{Kind: record.KindStuck, Life: &gone.Life, Reason: gone.Left}
		var stuck *sandbox.StuckError
		if errors.As(m.err, &stuck) {
			for _, l := range stuck.Left {
				e.PIDs = append(e.PIDs, l.PID)
			}
		}
		h.event(e)
	}
	h.step(ctx, gone)
}

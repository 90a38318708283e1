package actors

import (
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// terminated follows the end of a child.
func (h *Host) terminated(ctx actor.Context, who *actor.PID) {
	if h.life == nil || !who.Equal(h.life) {
		return // an aftermath
	}
	// What the strategy or the life said of the end is in the mailbox already,
	// but user messages come after this one: look at it from behind them.
	tell(ctx, ctx.Self(), &lifeVanished{h.lifeNo})
}

func (h *Host) vanished(ctx actor.Context, life uint64) {
	if life != h.lifeNo || h.life == nil {
		return
	}
	if h.endedNo != life { // the actor was stopped from outside, or has a defect
		h.ended(ctx, &Failure{Life: life, Cause: lifecycle.CauseInternal, Detail: "the actor of the life ended"})
	}
	h.gone(ctx, life)
}

// gone follows the end of a life that has no process any more: what that has
// left behind may still have the memory, the ports and the files that the next
// life needs.
func (h *Host) gone(ctx actor.Context, life uint64) {
	if h.failure == nil || h.dying {
		return // the rules know, or are about to
	}
	h.dying = true
	child := h.child
	if child == nil {
		h.out(ctx, nil)
		return
	}
	select {
	case <-child.Gone():
		h.out(ctx, nil)
		return
	default:
	}
	h.publish()
	self, root := ctx.Self(), ctx.ActorSystem().Root
	h.world.serving.Go(func() { tell(root, self, &treeGone{life, child.AwaitGone(killWait)}) })
}

// out tells the rules that nothing is left of the life that could be in the way
// of the next, or with err that what is left is not waited for any longer.
func (h *Host) out(ctx actor.Context, err error) {
	gone := lifecycle.Gone{Life: h.lifeNo}
	if err != nil {
		gone.Left = err.Error()
		h.log.Error("processes do not end", "error", err)
		e := Event{Kind: KindStuck, Life: &gone.Life, Reason: gone.Left}
		var stuck *sandbox.StuckError
		if errors.As(err, &stuck) {
			for _, l := range stuck.Left {
				e.PIDs = append(e.PIDs, l.PID)
			}
		}
		h.event(e)
	}
	h.life, h.failure, h.pid, h.child, h.dying = nil, nil, 0, nil, false
	h.step(ctx, gone)
}

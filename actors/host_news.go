package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/lifecycle"
)

// news is a change that is to be made known.
type news struct {
	lifecycle.Transition
	event Event
	pid   int
}

// tellNews tells journal, log, group and those who wait of the changes, in
// their order.
func (h *Host) tellNews(ctx actor.Context) {
	for _, n := range h.news {
		h.event(n.event)
		h.logTransition(n)
		tell(ctx, ctx.Parent(), &hostChanged{name: h.ref.spec.Name, to: n.To, by: n.By, reason: n.Reason})
		h.settleWaiters(n.To, n.Reason)
		switch n.To {
		case lifecycle.Running, lifecycle.Crashed, lifecycle.Failed:
			h.firstTry(ctx)
		}
	}
	h.news = nil
}

func (h *Host) logTransition(t news) {
	args := []any{"reason", t.Reason}
	if t.Life > 0 {
		args = append(args, "life", t.Life)
	}
	if t.pid != 0 {
		args = append(args, "pid", t.pid)
	}
	switch t.To {
	case lifecycle.Failed:
		h.log.Error(string(t.To), args...)
	case lifecycle.Crashed, lifecycle.Unresponsive:
		h.log.Warn(string(t.To), args...)
	case lifecycle.Starting, lifecycle.Stopping:
		h.log.Debug(string(t.To), args...)
	default:
		h.log.Info(string(t.To), args...)
	}
}

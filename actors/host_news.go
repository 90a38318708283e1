package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
)

// afterNews calls f behind what was made known before it: now, unless the next
// life is to begin first.
func (h *Host) afterNews(f func()) {
	if h.holding {
		h.news = append(h.news, f)
		return
	}
	f()
}

// tellNews tells journal, log and group of a change.
func (h *Host) tellNews(ctx actor.Context, t lifecycle.Transition, e Event, pid int) {
	h.event(e)
	h.logTransition(t, e.CrashID, pid)
	tell(ctx, ctx.Parent(), &hostChanged{name: h.ref.spec.Name, to: t.To, by: t.By, reason: t.Reason})
	switch t.To {
	case lifecycle.Running, lifecycle.Crashed, lifecycle.Failed:
		h.firstTry(ctx)
	}
}

func (h *Host) logTransition(t lifecycle.Transition, crash *string, pid int) {
	args := []any{"reason", t.Reason}
	if t.Life > 0 {
		args = append(args, "life", t.Life)
	}
	if pid != 0 {
		args = append(args, "pid", pid)
	}
	if crash != nil {
		args = append(args, "crash", *crash)
	}
	switch t.To {
	case lifecycle.Failed:
		if advice := h.world.Advice; advice != nil {
			id := ""
			if crash != nil {
				id = *crash
			}
			err := link.Contain(func() error {
				args = append(args, "next", advice(h.ref.spec.Name, id))
				return nil
			})
			if err != nil { // the program's own, which is no fault of the host
				h.log.Error("the callback for advice panicked", "error", err)
			}
		}
		h.log.Error(string(t.To), args...)
	case lifecycle.Crashed, lifecycle.Unresponsive:
		h.log.Warn(string(t.To), args...)
	case lifecycle.Starting, lifecycle.Stopping:
		h.log.Debug(string(t.To), args...)
	default:
		h.log.Info(string(t.To), args...)
	}
}

func (h *Host) firstTry(ctx actor.Context) {
	if !h.tried {
		h.tried = true
		tell(ctx, ctx.Parent(), &firstTry{h.ref.spec.Name})
	}
}

func (h *Host) event(e Event) {
	name, group := h.ref.spec.Name, h.ref.group
	e.Host, e.Group = &name, &group
	h.world.Journal.Write(e)
}

package actors

import (
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

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
				args = append(args, "next", advice(h.ref.spec().Name, id))
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

func (h *Host) event(e record.Event) { Record(h.ref, e) }

// Record writes an event about a host into the history.
func Record(r *Ref, e record.Event) {
	name, group := r.spec().Name, r.group
	e.Host, e.Group = &name, &group
	r.world.Journal.Write(e)
}

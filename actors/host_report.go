package actors

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// shortage makes known that a start waits because the supervisor lacks something.
func (h *Host) shortage(e lifecycle.Shortage) {
	h.event(record.Event{Kind: record.KindShortage, Life: &e.Life, Reason: fmt.Sprintf("%s; again in %s", e.Detail, e.Wait)})
	h.log.Error("cannot start the host, which is not its fault", "reason", e.Detail, "again", e.Wait)
}

// report returns the crash report of the life that has ended in state, so far as
// it is known at its end.
func (h *Host) report(state lifecycle.State) *record.CrashReport {
	f, now := h.end.failure, h.world.now()
	r := &record.CrashReport{
		ID: reports.NewID(fmt.Sprintf("%s-%d", h.ref.spec().Name, f.Life), now), Time: now,
		Host: h.ref.spec().Name, Group: h.ref.group, Life: f.Life, PID: h.end.pid,
		Command: record.Strings(h.world.redactor(), h.ref.spec().Command), State: state, Reason: f.Error(), Exit: h.lastExit, Crashes: h.machine.CrashesInWindow(now),
		Uptime: h.end.uptime.Seconds(), Extensions: h.end.extensions, Pending: f.Pending, Messages: f.Headers, Noise: f.Bad,
		Protocol: h.ref.spec().protocol(),
	}
	if f.Exit != nil {
		r.Core, r.User, r.System, r.MaxRSS = f.Exit.Core, f.Exit.User.Seconds(), f.Exit.System.Seconds(), f.Exit.MaxRSS
	}
	return r
}

func exitInfo(f *Failure, reason string, now time.Time) *record.ExitInfo {
	e := &record.ExitInfo{Reason: reason, At: now}
	if f.Exit != nil {
		e.At = f.Exit.At
		if f.Exit.Signal != 0 {
			name := signame.Of(f.Exit.Signal)
			e.Signal = &name
		} else {
			e.Code = &f.Exit.Code
		}
	}
	return e
}

package attach

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// changed tells the people behind the clients of a change of the host's state.
func (h *Hub) changed(t lifecycle.Transition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused(nil) != nil {
		return // the client is told by the answer to its opening
	}
	now := time.Now()
	due := h.notices.changed(now, t, h.advice())
	if h.relayed != nil {
		h.notices.starting = time.Time{} // the supervisor that it is relayed to tells of a slow start
	}
	h.announce(now, due)
}

// tick tells them what is due.
func (h *Hub) tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.announce(now, h.notices.tick(now, h.advice()))
}

// announce hands notices to those clients that can show them, and sets the timer for the
// next ones. Under the lock.
func (h *Hub) announce(now time.Time, list []notice) {
	for _, n := range list {
		if n.printed {
			n.text += h.lastPrinted()
		}
		if !h.spreadNotice(n) {
			h.notices.unheard()
		}
	}
	h.showWork()
	if h.ticking != nil {
		h.ticking.Stop()
		h.ticking = nil
	}
	if at := h.notices.next(); !at.IsZero() && h.closed == nil {
		h.ticking = time.AfterFunc(at.Sub(now), h.tick)
	}
}

// spreadNotice returns false if no client was there to be told. Under the lock.
func (h *Hub) spreadNotice(n notice) (heard bool) {
	if RuleOf(h.of.Spec()).Silent {
		return false
	}
	for _, c := range h.clients {
		switch {
		case c.leaving, !c.introduced && c.capabilities == nil: // it has said nothing of itself
		case n.relief && !c.alarmed:
			heard = true
		case h.dialect.show(h, c, n):
			heard, c.alarmed = true, !n.relief
		}
	}
	return heard
}

// mute ends the notices.
func (h *Hub) mute() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ticking != nil {
		h.ticking.Stop()
	}
	h.ticking, h.notices = nil, notices{}
}

// advice returns what helps with this host.
func (h *Hub) advice() advice {
	spec := h.of.Spec()
	name, slow := h.dialect.describe()
	a := advice{name: name + " " + spec.Name, slow: slow, exited: "the next request starts it again"}
	if h.alone {
		a.failed = "this connection ends"
		return a
	}
	a.failed = fmt.Sprintf("hostsup crashes %s shows what it printed, hostsup start %[1]s starts it again", spec.Name)
	if d := spec.Restart.RetryFailed; d > 0 {
		a.failed = fmt.Sprintf("it is tried again in %s; hostsup crashes %s shows what it printed", d, spec.Name)
	}
	if !spec.Start.Lazy {
		a.exited = fmt.Sprintf("hostsup start %s starts it again", spec.Name)
	}
	return a
}

// lastPrinted returns what the host has printed last, for a person.
func (h *Hub) lastPrinted() string {
	var lines []string
	life := h.of.Life()
	for _, l := range h.of.Tail(lastPrintedLines) {
		if l.Life == life && l.Stream.String() == "stderr" {
			lines = append(lines, l.Text)
		}
	}
	if last := record.LastWords(lines); last != "" {
		return fmt.Sprintf("; it has printed %q", last)
	}
	return ""
}

// lastPrintedLines is how many lines are looked at for what a host has printed last.
const lastPrintedLines = 50

package activation

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// wait is a request that is not settled.
type wait struct {
	tag     uint64
	bounded time.Time // when the request was made; zero: it waits without a bound
	events  []string  // empty for a request of one extension
	ids     []extensions.ID
	left    []extensions.ID // those of ids that their hosts activate themselves
	hosts   []string        // hosts that are not idle and have not announced their extensions yet
	errs    []*Error
}

// open reports whether a request must still wait.
func (m *Machine) open(w *wait) bool {
	for _, name := range w.hosts {
		switch h := m.host(name); {
		case h.state == hostStarting:
			return true
		case h.state == hostUp:
			w.ids = m.concerned(w.events)
		}
	}
	for _, id := range w.ids {
		e := m.exts[id]
		if e != nil && (e.State == Activating && !m.overdue(w, e) || w.leftToHost(e) && m.beginsLater(e)) {
			return true
		}
	}
	return false
}

// leftToHost reports whether an extension that its host activates itself has had no
// outcome yet.
func (w *wait) leftToHost(e *ext) bool {
	return e.State == Inactive && slices.Contains(w.left, e.Extension.ID) && !w.has(e.Extension.ID)
}

// has reports whether the request has an error for an extension.
func (w *wait) has(id extensions.ID) bool {
	return slices.ContainsFunc(w.errs, func(err *Error) bool { return err.ID == id })
}

// due returns when a request stops waiting for an extension that is activating, and which one is then
// still being activated: itself or one that it depends on. The time is zero if that is not known: the
// request waits without a bound, or for a host.
func (m *Machine) due(w *wait, e *ext) (at time.Time, by *ext) {
	switch {
	case w.bounded.IsZero() || e.State != Activating:
		return at, nil
	case e.Asked:
		return later(w.bounded, e.asked).Add(6 * m.rules.Startup), e
	}
	for _, dep := range e.Dependencies {
		d := m.exts[dep]
		if d == nil {
			continue
		}
		if t, x := m.due(w, d); !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at, by = t, x
		}
	}
	return at, by
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// overdue reports whether a request no longer waits for an extension.
func (m *Machine) overdue(w *wait, e *ext) bool {
	at, _ := m.due(w, e)
	return !at.IsZero() && !m.now.Before(at)
}

// concerned returns the extensions that declare one of events.
func (m *Machine) concerned(events []string) []extensions.ID {
	var out []extensions.ID
	for _, event := range events {
		out = append(out, m.byEvent[event]...)
	}
	return out
}

// beginsLater reports whether the host of an extension may still activate it: the
// host is starting, or its startup may not be over.
func (m *Machine) beginsLater(e *ext) bool {
	h := m.host(e.Host)
	return h.state == hostStarting || h.state == hostUp && m.now.Before(m.startupEnds(h))
}

// startupEnds returns when the startup of a host that does it itself is over: the
// latest time of onStartupFinished, and the same time again for its reports.
func (m *Machine) startupEnds(h *host) time.Time { return h.since.Add(2 * m.rules.Startup) }

// settle answers the requests that are no longer open.
func (m *Machine) settle() {
	m.waits = slices.DeleteFunc(m.waits, func(w wait) bool {
		if m.open(&w) {
			return false
		}
		m.emit(Settled{w.tag, m.failures(&w)})
		return true
	})
}

// failures returns why extensions of a request are not active.
func (m *Machine) failures(w *wait) []*Error {
	for _, name := range w.hosts {
		if h := m.host(name); h.state != hostUp {
			w.errs = append(w.errs, &Error{Cause: ErrHostDown, Detail: name + ": " + h.cause})
		}
	}
	for _, id := range w.ids {
		e := m.exts[id]
		if w.has(id) {
			continue
		}
		switch {
		case e == nil:
			w.errs = append(w.errs, &Error{ID: id, Cause: ErrUnknown})
		case e.State == Broken:
			w.errs = append(w.errs, e.Err)
		case e.State == Activating:
			w.errs = append(w.errs, m.stillActivating(w, e))
		case w.leftToHost(e) && e.Host == "":
			w.errs = append(w.errs, &Error{ID: id, Cause: ErrNoHost})
		case w.leftToHost(e) && m.host(e.Host).state == hostUp:
			w.errs = append(w.errs, &Error{ID: id, Cause: ErrNotBegun, Detail: fmt.Sprintf("within %s of the start of host %s", 2*m.rules.Startup, e.Host)})
		case w.leftToHost(e):
			w.errs = append(w.errs, m.downError(e))
		}
	}
	return w.errs
}

// stillActivating returns the error of a request that has stopped waiting for an extension.
func (m *Machine) stillActivating(w *wait, e *ext) *Error {
	err := &Error{ID: e.Extension.ID, Cause: ErrActivating}
	if _, by := m.due(w, e); by != nil {
		err.Detail = fmt.Sprintf("in %s for %s", by.Host, m.now.Sub(by.asked).Round(time.Second))
		if by != e {
			err.Detail = fmt.Sprintf("it needs %s, which is being activated %s", by.Extension.ID, err.Detail)
		}
	}
	return err
}

// downError returns the error that the host of an extension is down.
func (m *Machine) downError(e *ext) *Error {
	detail := e.Host
	if cause := m.host(e.Host).cause; cause != "" {
		detail += ": " + cause
	}
	return &Error{ID: e.Extension.ID, Cause: ErrHostDown, Detail: detail}
}

// timerFired handles the expiry of the timer.
func (m *Machine) timerFired() {
	if m.timerAt.IsZero() || m.now.Before(m.timerAt) {
		return // it was stopped or set again after it expired
	}
	m.timerAt = time.Time{}
	if !m.finish.IsZero() && !m.now.Before(m.finish) {
		m.finish = time.Time{}
		m.finishStartup()
	}
}

// setTimer sets the timer to the next deadline.
func (m *Machine) setTimer() {
	next := m.finish
	for i := range m.waits {
		w := &m.waits[i]
		for _, id := range w.ids {
			if e := m.exts[id]; e != nil {
				if due, _ := m.due(w, e); !due.IsZero() && (next.IsZero() || due.Before(next)) {
					next = due
				}
			}
		}
		for _, id := range w.left {
			e := m.exts[id]
			if e == nil || !w.leftToHost(e) || m.host(e.Host).state != hostUp {
				continue
			}
			if due := m.startupEnds(m.host(e.Host)); next.IsZero() || due.Before(next) {
				next = due
			}
		}
	}
	if next.Equal(m.timerAt) {
		return
	}
	if !m.timerAt.IsZero() {
		m.emit(CancelTimer{})
	}
	if m.timerAt = next; !next.IsZero() {
		m.emit(SetTimer{next.Sub(m.now)})
	}
}

package activation

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// wait is a request that is not settled.
type wait struct {
	tag    uint64
	events []string // none for that of one extension
	ids    []extensions.ID
	left   []extensions.ID // those of ids that their hosts are to activate by themselves
	hosts  []string        // those that have not told yet what lives in them, and are not idle
	errs   []*Error
}

// open reports whether a request has to wait for something.
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
		if e != nil && (e.State == Activating || w.leaves(e) && m.beginsLater(e)) {
			return true
		}
	}
	return false
}

// leaves reports whether nothing is known yet of an extension that its host is to
// activate by itself.
func (w *wait) leaves(e *ext) bool {
	return e.State == Inactive && slices.Contains(w.left, e.Extension.ID) && !w.has(e.Extension.ID)
}

// has reports whether the request has an error of an extension.
func (w *wait) has(id extensions.ID) bool {
	return slices.ContainsFunc(w.errs, func(err *Error) bool { return err.ID == id })
}

// concerned returns the extensions that want one of some events.
func (m *Machine) concerned(events []string) []extensions.ID {
	var out []extensions.ID
	for _, event := range events {
		out = append(out, m.by[event]...)
	}
	return out
}

// beginsLater reports whether the host of an extension may still begin to activate
// it by itself: the host is starting, or its startup may not be over.
func (m *Machine) beginsLater(e *ext) bool {
	h := m.host(e.Host)
	return h.state == hostStarting || h.state == hostUp && m.now.Before(m.startupEnds(h))
}

// startupEnds returns when the startup of a host that does it by itself is over:
// as late as onStartupFinished may be requested, and as long again to be told of.
func (m *Machine) startupEnds(h *host) time.Time { return h.since.Add(2 * m.rules.Startup) }

// settle answers the requests of which nothing is open.
func (m *Machine) settle() {
	m.waits = slices.DeleteFunc(m.waits, func(w wait) bool {
		if m.open(&w) {
			return false
		}
		m.do(Settled{w.tag, m.failures(&w)})
		return true
	})
}

// failures returns why extensions that a request concerns are not active.
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
		case w.leaves(e) && e.Host == "":
			w.errs = append(w.errs, &Error{ID: id, Cause: ErrNoHost})
		case w.leaves(e) && m.host(e.Host).state == hostUp:
			w.errs = append(w.errs, &Error{ID: id, Cause: ErrNotBegun, Detail: fmt.Sprintf("within %s of the start of host %s", 2*m.rules.Startup, e.Host)})
		case w.leaves(e):
			w.errs = append(w.errs, m.downError(e))
		}
	}
	return w.errs
}

// downError says that the host of an extension is down.
func (m *Machine) downError(e *ext) *Error {
	detail := e.Host
	if cause := m.host(e.Host).cause; cause != "" {
		detail += ": " + cause
	}
	return &Error{ID: e.Extension.ID, Cause: ErrHostDown, Detail: detail}
}

// fired takes that the timer has run out.
func (m *Machine) fired() {
	if m.alarm.IsZero() || m.now.Before(m.alarm) {
		return // it was stopped, or set anew, after it had run out
	}
	m.alarm = time.Time{}
	if !m.finish.IsZero() && !m.now.Before(m.finish) {
		m.finish = time.Time{}
		m.finishStartup()
	}
}

// setTimer has the timer run out when the next thing is due.
func (m *Machine) setTimer() {
	next := m.finish
	for i := range m.waits {
		w := &m.waits[i]
		for _, id := range w.left {
			e := m.exts[id]
			if e == nil || !w.leaves(e) || m.host(e.Host).state != hostUp {
				continue
			}
			if due := m.startupEnds(m.host(e.Host)); next.IsZero() || due.Before(next) {
				next = due
			}
		}
	}
	if next.Equal(m.alarm) {
		return
	}
	if !m.alarm.IsZero() {
		m.do(CancelTimer{})
	}
	if m.alarm = next; !next.IsZero() {
		m.do(SetTimer{next.Sub(m.now)})
	}
}

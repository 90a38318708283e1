package activation

import "github.com/hostsup/hostsup/extensions"

// Ended tells that a host has ended an extension that it goes on to be the place
// of, because something that the extension needs has ended. What was requested
// of it is requested once more, and fails as long as that is missing.
type Ended struct {
	Host string
	Life uint64
	ID   extensions.ID
	Why  string
}

func (Ended) event() {}

func (m *Machine) ended(ev Ended) {
	e := m.at(ev.Host, ev.Life, ev.ID)
	if e == nil || !e.Asked {
		return
	}
	if e.State == Activating {
		m.interrupt(ev.ID, &Error{ID: ev.ID, Cause: ErrFailed, Detail: ev.Why})
	}
	back := e.Reason
	m.reset(e, ev.Why)
	m.again(e, back)
	m.advance()
}

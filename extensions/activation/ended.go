package activation

import "github.com/hostsup/hostsup/extensions"

// Ended reports that a host has deactivated an extension that still belongs to it,
// because a dependency has ended. The machine repeats the request of the extension,
// which fails while the dependency is missing.
type Ended struct {
	Host string
	Life uint64
	ID   extensions.ID
	Why  string
}

func (Ended) event() {}

func (m *Machine) ended(ev Ended) {
	e := m.find(ev.Host, ev.Life, ev.ID)
	if e == nil || !e.Asked {
		return
	}
	if e.State == Activating {
		m.reportFailure(ev.ID, &Error{ID: ev.ID, Cause: ErrFailed, Detail: ev.Why})
	}
	why := e.Reason
	m.reset(e, ev.Why)
	m.repeat(e, why)
	m.advance()
}

package activation

import (
	"slices"
	"strings"

	"github.com/hostsup/hostsup/extensions"
)

func (m *Machine) request(r Request) {
	w := wait{tag: r.Tag, events: EventsOf(r.Event)}
	if r.Bounded {
		w.bounded = m.now
	}
	for _, event := range w.events {
		m.fire(event, event == eventStar, &w)
	}
	if r.Tag == 0 {
		return
	}
	for _, s := range m.rules.Hosts {
		if h := m.host(s.Name); s.Tells && h.life == 0 && h.state != hostIdle {
			w.hosts = append(w.hosts, s.Name)
		}
	}
	m.waits = append(m.waits, w)
}

// EventsOf returns the events that a request of event stands for: itself, and for
// "onLanguage:x" also "onLanguage".
func EventsOf(event string) []string {
	if strings.HasPrefix(event, "onLanguage:") {
		return []string{"onLanguage", event}
	}
	return []string{event}
}

// fire requests one event and adds to w the extensions that declare it, and the
// errors of those that cannot be activated.
func (m *Machine) fire(event string, atStart bool, w *wait) {
	ids := m.byEvent[event]
	m.remember(ask{event: event}, len(ids) > 0)
	w.ids = append(w.ids, ids...)
	for _, id := range ids {
		e := m.exts[id]
		if !m.leaveToHost(e, event) {
			if err := m.begin(e, Reason{atStart, id, event}, nil); err != nil {
				w.errs = append(w.errs, err)
			}
			continue
		}
		switch {
		case e.State != Inactive || !e.HasCode():
		case m.beginsLater(e):
			w.left = append(w.left, id)
		case m.host(e.Host).state == hostNever:
			w.errs = append(w.errs, m.downError(e))
		}
	}
}

// leaveToHost reports whether the extension's host handles an event itself, and
// starts the host. An extension that was installed while the host was up has missed
// the startup of that life, so the machine handles its events.
func (m *Machine) leaveToHost(e *ext, event string) bool {
	if e.Host == "" || !isStartup(event) || !m.host(e.Host).spec.Own {
		return false
	}
	if h := m.host(e.Host); h.state == hostUp && h.life == e.missed {
		return false
	}
	m.requireHost(e.Host, event+" for "+string(e.Extension.ID))
	return true
}

func (m *Machine) requestExtension(r RequestExtension) {
	w := wait{tag: r.Tag, ids: []extensions.ID{r.ID}}
	if e := m.exts[r.ID]; e != nil {
		m.remember(ask{id: r.ID}, true)
		if err := m.begin(e, apiReason(r.ID, r.From), nil); err != nil {
			w.errs = append(w.errs, err)
		}
	}
	if r.Tag != 0 {
		m.waits = append(m.waits, w)
	}
}

func apiReason(id, from extensions.ID) Reason {
	if from == "" {
		from = id
	}
	return Reason{false, from, eventAPI}
}

// begin activates an extension as far as currently possible. A lasting error becomes
// the failure of the extension. chain lists the dependents for which it is needed.
func (m *Machine) begin(e *ext, why Reason, chain []extensions.ID) *Error {
	id := e.Extension.ID
	if slices.Contains(chain, id) {
		return &Error{ID: id, Cause: ErrLoop}
	}
	switch {
	case e.State == Broken && e.Asked:
		return e.Err
	case e.State == Activating, e.State == Active, !e.HasCode():
		return nil // one that failed before its host was asked is tried again
	case e.Host == "":
		return &Error{ID: id, Cause: ErrNoHost}
	case !m.requireHost(e.Host, why.Event+" for "+string(why.ID)):
		return &Error{ID: id, Cause: ErrHostDown, Detail: e.Host}
	}
	e.Reason, e.Err = why, nil
	m.setState(e, Activating, why.Event)
	if err := m.needs(e, why, chain); err != nil {
		m.fail(e, err)
		return err
	}
	m.send(e)
	return nil
}

// needs begins the dependencies of an extension.
func (m *Machine) needs(e *ext, why Reason, chain []extensions.ID) *Error {
	id := e.Extension.ID
	for _, dep := range e.Dependencies {
		d := m.exts[dep]
		if d == nil {
			return &Error{ID: id, Cause: ErrMissing, On: dep}
		}
		if err := m.begin(d, why, append(chain, id)); err != nil {
			return &Error{ID: id, Cause: ErrDependency, On: dep, Detail: err.Error()}
		}
	}
	return nil
}

// send asks the host to activate an extension when its dependencies are settled.
func (m *Machine) send(e *ext) {
	if e.State != Activating || e.Asked {
		return
	}
	for _, dep := range e.Dependencies {
		d := m.exts[dep]
		switch {
		case d == nil:
			m.fail(e, &Error{ID: e.Extension.ID, Cause: ErrMissing, On: dep})
			return
		case d.State == Broken:
			m.fail(e, &Error{ID: e.Extension.ID, Cause: ErrDependency, On: dep, Detail: d.Err.Error()})
			return
		case !d.settled():
			return
		}
	}
	if h := m.host(e.Host); h.state == hostUp {
		e.Asked, e.asked = true, m.now
		m.emit(Activate{e.Host, h.life, e.Extension.ID, e.Reason})
	}
}

// advance retries waiting extensions until nothing changes: a failure may settle a
// dependency of another.
func (m *Machine) advance() {
	for again := true; again; {
		again = false
		for _, id := range m.order {
			e := m.exts[id]
			if e.State == Activating && !e.Asked {
				m.send(e)
				again = again || e.State == Broken
			}
		}
	}
}

func (m *Machine) hostUp(ev HostUp) {
	h := m.host(ev.Host)
	if h.state == hostUp {
		if h.life == ev.Life {
			return
		}
		m.hostDown(HostDown{ev.Host, NextRestart, "it has a new life"})
	}
	h.state, h.life, h.since = hostUp, ev.Life, m.now
	m.replay(func(e *ext) bool { return e.Host == ev.Host })
	// Dependencies that were active for another host were never requested.
	for _, id := range m.order {
		e := m.exts[id]
		if e.Host != ev.Host || e.previous.Event == "" {
			continue
		}
		if e.State == Inactive && !(h.spec.Own && isStartup(e.previous.Event)) {
			m.repeat(e, e.previous)
		}
		e.previous = Reason{}
	}
}

// replay repeats the remembered requests for some extensions.
func (m *Machine) replay(which func(*ext) bool) {
	for _, a := range m.asked {
		if a.id != "" {
			if e := m.exts[a.id]; e != nil && which(e) {
				m.repeat(e, apiReason(a.id, ""))
			}
			continue
		}
		for _, id := range m.byEvent[a.event] {
			if e := m.exts[id]; which(e) && !m.leaveToHost(e, a.event) {
				m.repeat(e, Reason{isStartup(a.event) && a.event != eventFinished, id, a.event})
			}
		}
	}
	m.advance()
}

func (m *Machine) repeat(e *ext, why Reason) {
	if e.State == Activating {
		m.send(e)
		return
	}
	// The next request of the extension gets the error.
	_ = m.begin(e, why, nil)
}

func (m *Machine) hostDown(ev HostDown) {
	h := m.host(ev.Host)
	h.state, h.cause = map[Next]hostState{NextIdle: hostIdle, NextRestart: hostStarting, NextNever: hostNever}[ev.Next], ev.Cause
	for _, id := range m.order {
		e := m.exts[id]
		if e.Host != ev.Host || e.State == Inactive {
			continue
		}
		if e.State == Activating && !e.Asked && h.state == hostStarting {
			continue // it keeps waiting for the host
		}
		if e.State == Activating {
			m.reportFailure(id, &Error{ID: id, Cause: ErrHostDown, Detail: ev.Host + ": " + ev.Cause})
		}
		if e.State == Active || e.Asked {
			e.previous = e.Reason
		}
		m.reset(e, "host "+ev.Host+" ended: "+ev.Cause)
	}
	// Dependents in other hosts keep waiting if their dependency comes back.
	for _, id := range m.order {
		e := m.exts[id]
		if e.State != Activating || e.Asked {
			continue
		}
		for _, dep := range e.Dependencies {
			if d := m.exts[dep]; d != nil && d.State == Inactive && d.HasCode() {
				if err := m.revive(d, e, h); err != nil {
					m.fail(e, &Error{ID: id, Cause: ErrDependency, On: dep, Detail: err.Error()})
					break
				}
			}
		}
	}
	m.advance()
}

// revive begins a dependency again, unless that would start a host that has just
// gone down and must stay down.
func (m *Machine) revive(d, whom *ext, ended *host) *Error {
	if h := m.host(d.Host); h == ended && h.state != hostStarting {
		return &Error{ID: d.Extension.ID, Cause: ErrHostDown, Detail: d.Host}
	}
	return m.begin(d, whom.Reason, nil)
}

// reportFailure adds an error to the requests that wait for an extension.
func (m *Machine) reportFailure(id extensions.ID, err *Error) {
	for i, w := range m.waits {
		if slices.Contains(w.ids, id) {
			m.waits[i].errs = append(m.waits[i].errs, err)
		}
	}
}

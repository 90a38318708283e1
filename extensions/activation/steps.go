package activation

import (
	"slices"
	"strings"

	"github.com/hostsup/hostsup/extensions"
)

func (m *Machine) request(r Request) {
	w := wait{tag: r.Tag, events: []string{r.Event}}
	if strings.HasPrefix(r.Event, "onLanguage:") {
		w.events = []string{"onLanguage", r.Event}
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

// fire requests one event and adds to w the extensions that it concerns, and why some of those
// cannot be activated.
func (m *Machine) fire(event string, atStart bool, w *wait) {
	ids := m.by[event]
	m.remember(ask{event: event}, len(ids) > 0)
	w.ids = append(w.ids, ids...)
	for _, id := range ids {
		e := m.exts[id]
		if !m.leave(e, event) {
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

// leave says whether an event is left to the extension's host, which is only
// started for it. One that has come into a life that had begun has missed the
// startup there, which is done once.
func (m *Machine) leave(e *ext, event string) bool {
	if e.Host == "" || !startup(event) || !m.host(e.Host).spec.Own {
		return false
	}
	if h := m.host(e.Host); h.state == hostUp && h.life == e.late {
		return false
	}
	m.need(e.Host, event+" for "+string(e.Extension.ID))
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

// begin activates an extension, or takes its way as far as it goes now. The
// error says why that cannot be; a lasting one is kept as the extension's
// failure. chain is for whom it is needed.
func (m *Machine) begin(e *ext, why Reason, chain []extensions.ID) *Error {
	id := e.Extension.ID
	if slices.Contains(chain, id) {
		return &Error{ID: id, Cause: ErrLoop}
	}
	switch {
	case e.State == Broken && e.Asked:
		return e.Err
	case e.State == Activating, e.State == Active, !e.HasCode():
		return nil // one that has failed before its host was asked is tried again
	case e.Host == "":
		return &Error{ID: id, Cause: ErrNoHost}
	case !m.need(e.Host, why.Event+" for "+string(why.ID)):
		return &Error{ID: id, Cause: ErrHostDown, Detail: e.Host}
	}
	e.Reason, e.Err = why, nil
	m.to(e, Activating, why.Event)
	if err := m.needs(e, why, chain); err != nil {
		m.fail(e, err)
		return err
	}
	m.send(e)
	return nil
}

// needs begins what an extension needs. The error says why that cannot be.
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

// send asks the host, when there is nothing more to wait for.
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
		e.Asked = true
		m.do(Activate{e.Host, h.life, e.Extension.ID, e.Reason})
	}
}

// advance goes on with what waits, until nothing moves: a failure may be what
// another waits for.
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

func (m *Machine) up(ev HostUp) {
	h := m.host(ev.Host)
	if h.state == hostUp {
		if h.life == ev.Life {
			return
		}
		m.down(HostDown{ev.Host, NextRestart, "it has a new life"})
	}
	h.state, h.life, h.since = hostUp, ev.Life, m.now
	m.replay(func(e *ext) bool { return e.Host == ev.Host })
	// What was active for the sake of another host was never requested.
	for _, id := range m.order {
		e := m.exts[id]
		if e.Host != ev.Host || e.back.Event == "" {
			continue
		}
		if e.State == Inactive && !(h.spec.Own && startup(e.back.Event)) {
			m.again(e, e.back)
		}
		e.back = Reason{}
	}
}

// replay repeats what was requested, for some extensions.
func (m *Machine) replay(which func(*ext) bool) {
	for _, a := range m.asked {
		if a.id != "" {
			if e := m.exts[a.id]; e != nil && which(e) {
				m.again(e, apiReason(a.id, ""))
			}
			continue
		}
		for _, id := range m.by[a.event] {
			if e := m.exts[id]; which(e) && !m.leave(e, a.event) {
				m.again(e, Reason{startup(a.event) && a.event != eventFinished, id, a.event})
			}
		}
	}
	m.advance()
}

func (m *Machine) again(e *ext, why Reason) {
	if e.State == Activating {
		m.send(e)
		return
	}
	// What cannot be is said to whoever requests it again.
	_ = m.begin(e, why, nil)
}

func (m *Machine) down(ev HostDown) {
	h := m.host(ev.Host)
	h.state, h.cause = map[Next]hostState{NextIdle: hostIdle, NextRestart: hostStarting, NextNever: hostNever}[ev.Next], ev.Cause
	for _, id := range m.order {
		e := m.exts[id]
		if e.Host != ev.Host || e.State == Inactive {
			continue
		}
		if e.State == Activating && !e.Asked && h.state == hostStarting {
			continue // it has waited for the host and goes on doing so
		}
		if e.State == Activating {
			m.interrupt(id, &Error{ID: id, Cause: ErrHostDown, Detail: ev.Host + ": " + ev.Cause})
		}
		if e.State == Active || e.Asked {
			e.back = e.Reason
		}
		m.reset(e, "host "+ev.Host+" ended: "+ev.Cause)
	}
	// Who waits in another host for what was lost waits on when it comes back.
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

// revive begins a dependency once more, unless that would start a host that
// has just gone down and is not meant to come back.
func (m *Machine) revive(d, whom *ext, ended *host) *Error {
	if h := m.host(d.Host); h == ended && h.state != hostStarting {
		return &Error{ID: d.Extension.ID, Cause: ErrHostDown, Detail: d.Host}
	}
	return m.begin(d, whom.Reason, nil)
}

// interrupt tells who waits for an extension that this was in vain.
func (m *Machine) interrupt(id extensions.ID, err *Error) {
	for i, w := range m.waits {
		if slices.Contains(w.ids, id) {
			m.waits[i].errs = append(m.waits[i].errs, err)
		}
	}
}

package activation

import (
	"bytes"
	"errors"
	"strings"

	"github.com/hostsup/hostsup/extensions"
)

func (m *Machine) installed(ev Installed) {
	next := make(map[extensions.ID]*ext, len(ev.List))
	order := make([]extensions.ID, 0, len(ev.List))
	by := map[string][]extensions.ID{}
	fresh := map[extensions.ID]bool{}
	lacked := map[extensions.ID]bool{} // those that failed for a dependency that is known now
	for _, x := range ev.List {
		old, where := m.exts[x.ID], ev.Where[x.ID]
		if next[x.ID] != nil {
			continue
		}
		e := &ext{Extension: x, Status: Status{ID: x.ID, Host: where, State: Inactive, Since: m.now}, events: make(map[string]bool, len(x.Events))}
		for _, event := range x.Events {
			if !e.events[event] {
				e.events[event] = true
				by[event] = append(by[event], x.ID)
			}
		}
		if h := m.hosts[where]; h != nil && h.state == hostUp {
			e.missed = h.life
		}
		order = append(order, x.ID)
		next[x.ID] = e
		switch {
		case old == nil:
			fresh[x.ID] = true
		case old.Host != where, old.Version != "" && old.Version != x.Version, old.Folder != x.Folder, !bytes.Equal(old.Description, x.Description):
			fresh[x.ID] = true
			why := "it is replaced"
			if old.Host != where {
				why = "it moves to no host"
				if where != "" {
					why = "it moves to host " + where
				}
			}
			m.endExt(old, Inactive, why)
		default:
			e.Status, e.previous, e.missed = old.Status, old.previous, old.missed
		}
	}
	for _, id := range m.order {
		if next[id] == nil {
			m.endExt(m.exts[id], Removed, "it is removed")
			delete(m.searching, id)
		}
	}
	m.exts, m.order, m.byEvent = next, order, by
	for _, id := range order {
		switch e := next[id]; {
		case e.State == Activating && !e.Asked: // a dependency may be another one now, or have been replaced
			if err := m.needs(e, e.Reason, nil); err != nil {
				m.fail(e, err)
			}
		case e.State == Broken && !e.Asked && e.Err != nil && errors.Is(e.Err, ErrMissing) && next[e.Err.On] != nil:
			lacked[id] = true
			if h := m.hosts[e.Host]; h != nil && h.state == hostUp {
				e.missed = h.life // what the host did at its start has failed
			}
		}
	}
	m.replay(func(e *ext) bool { return fresh[e.Extension.ID] || lacked[e.Extension.ID] })
	if m.booted {
		m.search(fresh)
	}
}

// endExt removes an extension from its host.
func (m *Machine) endExt(e *ext, to State, why string) {
	if h := m.host(e.Host); e.Asked && h.state == hostUp && e.State != Broken {
		m.emit(Deactivate{e.Host, h.life, e.Extension.ID})
	}
	if e.State == Activating {
		m.reportFailure(e.Extension.ID, &Error{ID: e.Extension.ID, Cause: ErrFailed, Detail: why})
	}
	m.setState(e, to, why)
}

func (m *Machine) boot() {
	if m.booted {
		return
	}
	m.booted = true
	for _, s := range m.rules.Hosts {
		if s.Eager {
			m.requireHost(s.Name, "eager")
		}
	}
	m.finish = m.now.Add(m.rules.Startup)
	m.setTimer()
	m.fire(eventStar, true, &wait{})
	all := map[extensions.ID]bool{}
	for _, id := range m.order {
		all[id] = true
	}
	m.search(all)
}

// search asks the caller to search the workspace for extensions that are not active.
func (m *Machine) search(which map[extensions.ID]bool) {
	for _, id := range m.order {
		e := m.exts[id]
		if !which[id] || e.State != Inactive || e.Host == "" {
			continue
		}
		var events []string
		for _, event := range e.Events {
			if strings.HasPrefix(event, eventContains) {
				events = append(events, event)
			}
		}
		if len(events) > 0 {
			m.searching[id] = true
			m.emit(Search{id, events})
		}
	}
}

// found handles the result of a search, which is for one extension; another one with
// the same event gets its own result.
func (m *Machine) found(ev Found) {
	delete(m.searching, ev.ID)
	e := m.exts[ev.ID]
	if e == nil || ev.Event == "" || !e.wants(ev.Event) {
		return
	}
	m.remember(ask{event: ev.Event}, true)
	if !m.leaveToHost(e, ev.Event) {
		_ = m.begin(e, Reason{true, ev.ID, ev.Event}, nil) // no request waits for it
	}
}

// startupDone reports whether all activations of the startup are done.
func (m *Machine) startupDone() bool {
	if len(m.searching) > 0 {
		return false
	}
	for _, id := range m.order {
		if e := m.exts[id]; e.State == Activating && e.Reason.Startup {
			return false
		}
	}
	return true
}

// finishStartup requests onStartupFinished, once.
func (m *Machine) finishStartup() {
	if !m.booted || m.finished {
		return
	}
	m.finished = true
	m.fire(eventFinished, false, &wait{})
}

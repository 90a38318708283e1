package activation

import (
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// The events of the startup.
const (
	eventStar     = "*"
	eventFinished = "onStartupFinished"
	eventContains = "workspaceContains:"
	eventAPI      = "api"
)

// Machine has the state of every extension. It must be made by [New].
type Machine struct {
	rules    Rules
	specs    map[string]HostSpec
	hosts    map[string]*host
	order    []extensions.ID // of the registry
	exts     map[extensions.ID]*ext
	byEvent  map[string][]extensions.ID // the extensions that declare an event, in order
	asked    []ask
	seen     map[ask]bool
	unwanted int // how many of asked no extension declared
	waits    []wait

	booted    bool
	finished  bool // onStartupFinished was requested
	searching map[extensions.ID]bool
	finish    time.Time // deadline for requesting onStartupFinished; zero: it was requested, or before Boot
	timerAt   time.Time // when the timer expires; zero: it is not running

	now time.Time
	out []Effect
}

// ask is a remembered request for an event or an extension.
type ask struct {
	event string
	id    extensions.ID
}

type ext struct {
	extensions.Extension
	Status
	events   map[string]bool
	asked    time.Time // when its host was asked to activate it, or began by itself; only while Asked
	previous Reason    // of the activation that ended with the last life; Event is "" without one
	missed   uint64    // the life of its host that was up when it, or what it had lacked, was installed; 0: none
}

type hostState int

const (
	hostIdle hostState = iota
	hostStarting
	hostUp
	hostNever
)

type host struct {
	spec  HostSpec
	state hostState
	life  uint64
	since time.Time // when the life came up
	cause string    // why it is down, after a life or a start
}

// New returns a machine without extensions.
func New(rules Rules) *Machine {
	if rules.Startup <= 0 {
		rules.Startup = 10 * time.Second
	}
	if rules.MaxEvents <= 0 {
		rules.MaxEvents = 4096
	}
	m := &Machine{rules: rules, specs: map[string]HostSpec{}, hosts: map[string]*host{}, exts: map[extensions.ID]*ext{}, seen: map[ask]bool{}, searching: map[extensions.ID]bool{}}
	for _, s := range rules.Hosts {
		m.specs[s.Name] = s
	}
	return m
}

// Get returns the status of an extension.
func (m *Machine) Get(id extensions.ID) (Status, bool) {
	e, ok := m.exts[id]
	if !ok {
		return Status{}, false
	}
	s := e.Status
	if s.State == Activating && !s.Asked {
		for _, dep := range e.Dependencies {
			if d := m.exts[dep]; d == nil || !d.settled() {
				s.Waits = append(s.Waits, dep)
			}
		}
	}
	return s, true
}

// All returns the status of all extensions, in the order of the registry.
func (m *Machine) All() []Status {
	out := make([]Status, 0, len(m.order))
	for _, id := range m.order {
		s, _ := m.Get(id)
		out = append(out, s)
	}
	return out
}

// In returns the extensions that a host was asked to activate in this life, in the
// order of the registry; with busy only those whose activation is in progress.
func (m *Machine) In(host string, busy bool) []extensions.ID {
	var out []extensions.ID
	for _, id := range m.order {
		if e := m.exts[id]; e.Host == host && e.Asked && (!busy || e.State == Activating) {
			out = append(out, id)
		}
	}
	return out
}

// Requested returns the requested events, in order and once each.
func (m *Machine) Requested() []string {
	var out []string
	for _, a := range m.asked {
		if a.id == "" {
			out = append(out, a.event)
		}
	}
	return out
}

// Step applies one event and returns its effects.
func (m *Machine) Step(ev Event, now time.Time) []Effect {
	m.now, m.out = now, nil
	switch ev := ev.(type) {
	case Boot:
		m.boot()
	case Installed:
		m.installed(ev)
	case Request:
		m.request(ev)
	case RequestExtension:
		m.requestExtension(ev)
	case HostUp:
		m.hostUp(ev)
	case HostDown:
		m.hostDown(ev)
	case Began:
		if e := m.find(ev.Host, ev.Life, ev.ID); e != nil && (e.State == Inactive || e.State == Activating) {
			if !e.Asked {
				e.Reason, e.Asked, e.asked = ev.Reason, true, m.now
			}
			m.setState(e, Activating, "the host began it")
		}
	case Done:
		if e := m.find(ev.Host, ev.Life, ev.ID); e != nil && e.State != Active {
			if !e.Asked || e.Reason.Event == "" { // Began had no reason
				e.Reason, e.Asked = ev.Reason, true
			}
			e.Times, e.Err = ev.Times, nil
			m.setState(e, Active, "")
			m.advance()
		}
	case Failed:
		if e := m.find(ev.Host, ev.Life, ev.ID); e != nil && e.State != Active {
			err := &Error{ID: ev.ID, Cause: ErrFailed, Detail: ev.Cause}
			if ev.Missing != "" {
				err.Cause, err.On = ErrMissing, ev.Missing
			}
			m.fail(e, err)
			m.advance()
		}
	case Ended:
		m.ended(ev)
	case Forget:
		m.forget(ev.Tag)
	case Found:
		m.found(ev)
	case Fired:
		m.timerFired()
	}
	m.settle()
	if m.booted && !m.finished && m.startupDone() {
		m.finish = time.Time{}
		m.setTimer()
		m.finishStartup()
		m.settle()
	}
	m.setTimer()
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

// setState changes the state of an extension and reports the change.
func (m *Machine) setState(e *ext, next State, why string) {
	if e.State == next {
		return
	}
	m.emit(Changed{e.Extension.ID, e.Host, e.State, next, why})
	e.State, e.Since = next, m.now
}

func (m *Machine) fail(e *ext, err *Error) {
	e.Err = err
	m.setState(e, Broken, err.Error())
}

// reset makes an extension inactive, as if it had never been requested.
func (m *Machine) reset(e *ext, why string) {
	m.setState(e, Inactive, why)
	e.Asked, e.Err, e.Times, e.Reason = false, nil, Times{}, Reason{}
}

// find returns the extension if it belongs to that life of that host, or nil.
func (m *Machine) find(name string, life uint64, id extensions.ID) *ext {
	e, h := m.exts[id], m.hosts[name]
	if e == nil || h == nil || e.Host != name || h.state != hostUp || h.life != life {
		return nil
	}
	return e
}

func (m *Machine) host(name string) *host {
	h := m.hosts[name]
	if h == nil {
		h = &host{spec: m.specs[name]}
		m.hosts[name] = h
	}
	return h
}

// requireHost starts a host if it is idle; it returns false if the host is not
// available.
func (m *Machine) requireHost(name, why string) bool {
	h := m.host(name)
	if h.state == hostIdle {
		h.state = hostStarting
		m.emit(StartHost{name, why})
	}
	return h.state != hostNever
}

// wants reports whether the extension declares an event.
func (e *ext) wants(event string) bool { return e.events[event] }

// settled reports whether waiting for the extension is over.
func (e *ext) settled() bool { return e.State == Active || e.State == Broken || !e.HasCode() }

// isStartup reports whether an event belongs to the startup, which some hosts do
// themselves.
func isStartup(event string) bool {
	return event == eventStar || event == eventFinished || strings.HasPrefix(event, eventContains)
}

// remember keeps a request for later; it returns false if it does not.
func (m *Machine) remember(a ask, wanted bool) bool {
	if m.seen[a] {
		return false
	}
	if !wanted {
		if m.unwanted >= m.rules.MaxEvents {
			return false
		}
		m.unwanted++
	}
	m.seen[a] = true
	m.asked = append(m.asked, a)
	return true
}

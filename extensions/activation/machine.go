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

// Machine knows the state of every extension. Make it with [New].
type Machine struct {
	rules Rules
	specs map[string]HostSpec
	hosts map[string]*host
	order []extensions.ID // of the registry
	exts  map[extensions.ID]*ext
	by    map[string][]extensions.ID // whom an event concerns, in order
	asked []ask
	seen  map[ask]bool
	idle  int // how many of asked nobody wanted
	waits []wait

	booted    bool
	finished  bool // onStartupFinished was requested
	searching map[extensions.ID]bool
	finish    time.Time // when onStartupFinished is requested at the latest; zero: it was, or Boot has not come
	alarm     time.Time // when the timer runs out; zero: it does not run

	now time.Time
	out []Effect
}

// ask is one request that is remembered: an event, or an extension.
type ask struct {
	event string
	id    extensions.ID
}

type ext struct {
	extensions.Extension
	Status
	events map[string]bool
	back   Reason // of the activation that the last life took with it; Event "": none
	late   uint64 // the life of its host that had begun when it came; 0: none had
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
	cause string    // why it is down, if it was up or was to start
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

// Get returns what is known of an extension.
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

// All returns what is known of all extensions, in the order of the registry.
func (m *Machine) All() []Status {
	out := make([]Status, 0, len(m.order))
	for _, id := range m.order {
		s, _ := m.Get(id)
		out = append(out, s)
	}
	return out
}

// In lists the extensions that a host was asked to activate in this life, in
// the order of the registry; busy ones only, when only those that are not done
// are wanted.
func (m *Machine) In(host string, busy bool) []extensions.ID {
	var out []extensions.ID
	for _, id := range m.order {
		if e := m.exts[id]; e.Host == host && e.Asked && (!busy || e.State == Activating) {
			out = append(out, id)
		}
	}
	return out
}

// Requested lists the events that were requested, in order and once each.
func (m *Machine) Requested() []string {
	var out []string
	for _, a := range m.asked {
		if a.id == "" {
			out = append(out, a.event)
		}
	}
	return out
}

// Step takes one event and returns what to do.
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
		m.up(ev)
	case HostDown:
		m.down(ev)
	case Began:
		if e := m.at(ev.Host, ev.Life, ev.ID); e != nil && (e.State == Inactive || e.State == Activating) {
			if !e.Asked {
				e.Reason, e.Asked = ev.Reason, true
			}
			m.to(e, Activating, "the host began it")
		}
	case Done:
		if e := m.at(ev.Host, ev.Life, ev.ID); e != nil && e.State != Active {
			if !e.Asked || e.Reason.Event == "" { // it did not say why when it began
				e.Reason, e.Asked = ev.Reason, true
			}
			e.Times, e.Err = ev.Times, nil
			m.to(e, Active, "")
			m.advance()
		}
	case Failed:
		if e := m.at(ev.Host, ev.Life, ev.ID); e != nil && e.State != Active {
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
		m.fired()
	}
	m.settle()
	if m.booted && !m.finished && m.quiet() {
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

func (m *Machine) do(e Effect) { m.out = append(m.out, e) }

// to changes a state.
func (m *Machine) to(e *ext, next State, why string) {
	if e.State == next {
		return
	}
	m.do(Changed{e.Extension.ID, e.Host, e.State, next, why})
	e.State, e.Since = next, m.now
}

func (m *Machine) fail(e *ext, err *Error) {
	e.Err = err
	m.to(e, Broken, err.Error())
}

// reset makes an extension as if nothing had been asked of it.
func (m *Machine) reset(e *ext, why string) {
	m.to(e, Inactive, why)
	e.Asked, e.Err, e.Times, e.Reason = false, nil, Times{}, Reason{}
}

// at returns the extension when it is in that life of that host.
func (m *Machine) at(name string, life uint64, id extensions.ID) *ext {
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

// need asks for a host; false when there is none to be had.
func (m *Machine) need(name, why string) bool {
	h := m.host(name)
	if h.state == hostIdle {
		h.state = hostStarting
		m.do(StartHost{name, why})
	}
	return h.state != hostNever
}

// wants says whether an event is one of the extension's.
func (e *ext) wants(event string) bool { return e.events[event] }

// settled says whether nobody has to wait for it (any more).
func (e *ext) settled() bool { return e.State == Active || e.State == Broken || !e.HasCode() }

// startup says whether an event belongs to the startup, which some hosts do
// by themselves.
func startup(event string) bool {
	return event == eventStar || event == eventFinished || strings.HasPrefix(event, eventContains)
}

// remember keeps a request for later; false when it was there.
func (m *Machine) remember(a ask, wanted bool) bool {
	if m.seen[a] {
		return false
	}
	if !wanted {
		if m.idle >= m.rules.MaxEvents {
			return false
		}
		m.idle++
	}
	m.seen[a] = true
	m.asked = append(m.asked, a)
	return true
}

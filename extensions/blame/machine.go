package blame

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// Rules of a machine. The zero value is usable.
type Rules struct {
	Window   time.Duration // crashes further apart have nothing to do with each other; default 5 min
	MaxLives int           // lives that one search by trials may cost; default 8
	Quiet    time.Duration // trials that long without a crash have shown that apart nothing happens; default Window
	Prefix   string        // of the names of trial cells, when several machines share them; default "trial-"
}

// Machine looks after one host. Make it with [New].
type Machine struct {
	rules Rules
	cells map[string]*cell
	where map[extensions.ID]string // those who are not at home
	parts map[extensions.ID]*apart // those in quarantine
	crash []Evidence               // at home and in settled cells, within the window
	trial *bisection
	freed map[extensions.ID]bool // who was acquitted once
	calls map[command]int        // that have ended
	count int                    // trial cells so far
	seq   int

	now time.Time
	out []Effect
}

type cell struct {
	name    string
	purpose Purpose
	life    *life // nil: none
}

// apart is an extension in quarantine.
type apart struct {
	crashes   []Evidence      // that put it there
	confirmed bool            // it has crashed alone, or a person wants it so
	instead   []extensions.ID // who it could have been as well
}

// New returns a machine that suspects nobody.
func New(rules Rules) *Machine {
	if rules.Window <= 0 {
		rules.Window = 5 * time.Minute
	}
	if rules.MaxLives <= 0 {
		rules.MaxLives = 8
	}
	if rules.Quiet <= 0 {
		rules.Quiet = rules.Window
	}
	if rules.Prefix == "" {
		rules.Prefix = "trial-"
	}
	return &Machine{rules: rules, cells: map[string]*cell{Home: {purpose: AtHome}}, where: map[extensions.ID]string{}, parts: map[extensions.ID]*apart{}, freed: map[extensions.ID]bool{}, calls: map[command]int{}}
}

// Cells returns who is not at home, and in which cell. The map is the caller's.
func (m *Machine) Cells() map[extensions.ID]string {
	out := make(map[extensions.ID]string, len(m.where))
	for id, c := range m.where {
		out[id] = c
	}
	return out
}

// Purpose returns what a cell is for; "" when no cell has that name.
func (m *Machine) Purpose(name string) Purpose {
	if c := m.cells[name]; c != nil {
		return c.purpose
	}
	return ""
}

// Quarantined lists who is in quarantine, by id.
func (m *Machine) Quarantined() []extensions.ID {
	var out []extensions.ID
	for id := range m.parts {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// Lives returns how many trial lives the running search has cost; 0 when there
// is none.
func (m *Machine) Lives() int {
	if m.trial == nil {
		return 0
	}
	return m.trial.lives
}

// Step takes one event and returns what to do.
func (m *Machine) Step(ev Event, now time.Time) []Effect {
	m.now, m.out = now, nil
	switch ev := ev.(type) {
	case LifeStarted:
		m.started(ev)
	case LifeEnded:
		if c, _ := m.at(ev.Cell, ev.Life); c != nil {
			m.over(c)
		}
	case Began:
		if _, l := m.at(ev.Cell, ev.Life); l != nil {
			l.began(ev.ID)
		}
	case Finished:
		if _, l := m.at(ev.Cell, ev.Life); l != nil {
			l.began(ev.ID)
			delete(l.activating, ev.ID)
		}
	case CallBegan:
		if _, l := m.at(ev.Cell, ev.Life); l != nil {
			l.calls[ev.Call] = call{ev.ID, ev.Method, now}
		}
	case CallEnded:
		if _, l := m.at(ev.Cell, ev.Life); l != nil {
			m.returned(l, ev.Call)
		}
	case Returned:
		m.ended(command{ev.ID, ev.Method}, ev.Count)
	case Uncaught:
		if _, l := m.at(ev.Cell, ev.Life); l != nil {
			l.uncaught[ev.ID] = uncaught{ev.Error, now}
		}
	case Profile:
		if _, l := m.at(ev.Cell, ev.Life); l != nil && l.hung { // else it is over what was measured
			clear(l.shares)
			for _, s := range ev.Shares {
				l.shares[s.ID] += s.Share
			}
		}
	case Hung:
		if _, l := m.at(ev.Cell, ev.Life); l != nil {
			l.hung = true
			clear(l.shares)
		}
	case Alive:
		m.alive(ev)
	case Crashed:
		if c, l := m.at(ev.Cell, ev.Life); l != nil {
			m.crashed(c, l, ev)
		}
	case Isolate:
		m.isolate([]extensions.ID{ev.ID}, nil, "a person wants it so")
		m.parts[ev.ID].confirmed = true
	case Release:
		if m.where[ev.ID] != Home {
			m.record(Cleared, m.where[ev.ID], []extensions.ID{ev.ID}, "a person wants it so", nil)
			m.home(ev.ID)
		}
	case Forget:
		m.forget(ev.IDs)
	case Fired:
		m.quiet()
	}
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) do(e Effect) { m.out = append(m.out, e) }

func (m *Machine) record(v Verdict, cell string, ids []extensions.ID, why string, evidence []Evidence) {
	m.seq++
	m.do(Record{Decision{m.seq, m.now, v, cell, slices.Clone(ids), why, evidence}})
}

// at returns a cell and its life, when that is the current one.
func (m *Machine) at(name string, number uint64) (*cell, *life) {
	c := m.cells[name]
	if c == nil || c.life == nil || c.life.number != number {
		return nil, nil
	}
	return c, c.life
}

func (m *Machine) started(ev LifeStarted) {
	c := m.cells[ev.Cell]
	if c == nil {
		return // it was closed while it started
	}
	c.life = newLife(ev.Life)
	if c.purpose == Trial && m.trial != nil {
		m.trial.lives++
	}
}

// over is the end of a life. A settled cell has no reason to have another.
func (m *Machine) over(c *cell) {
	c.life = nil
	if c.purpose == Settled {
		for _, id := range m.members(c.name) {
			m.home(id)
		}
	}
}

func (m *Machine) alive(ev Alive) {
	c, l := m.at(ev.Cell, ev.Life)
	if l == nil || !l.hung {
		return
	}
	e := l.evidence(Crashed{c.name, l.number, Hang, "unresponsive, and back"}, m.calls, m.now)
	l.hung = false
	clear(l.shares)
	if !e.Vague {
		m.record(Spell, c.name, e.ids(), "the host hung and came back; that alone moves nobody", []Evidence{e})
	}
}

// remembered is of how many commands it is known whether they end.
const remembered = 10_000

func (m *Machine) returned(l *life, number uint64) {
	c, ok := l.calls[number]
	if !ok {
		return
	}
	delete(l.calls, number)
	m.ended(command{c.id, c.method}, 1)
}

// ended counts calls that have ended.
func (m *Machine) ended(c command, n int) {
	if _, known := m.calls[c]; known || len(m.calls) < remembered {
		m.calls[c] += n
	}
}

// members lists who is in a cell that is not the home, by id.
func (m *Machine) members(name string) []extensions.ID {
	var out []extensions.ID
	for id, c := range m.where {
		if c == name {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// open makes a cell.
func (m *Machine) open(name string, purpose Purpose) {
	if m.cells[name] == nil {
		m.cells[name] = &cell{name: name, purpose: purpose}
		m.do(Open{name, purpose})
	}
}

// move puts an extension into a cell, and closes the one that it leaves empty.
func (m *Machine) move(id extensions.ID, to string) {
	from := m.where[id]
	if from == to {
		return
	}
	delete(m.where, id)
	if to != Home {
		m.where[id] = to
	}
	m.do(Move{id, from, to})
	m.closeEmpty(from)
}

func (m *Machine) closeEmpty(name string) {
	if name != Home && m.cells[name] != nil && len(m.members(name)) == 0 {
		delete(m.cells, name)
		m.do(Close{name})
	}
}

// home lets an extension back.
func (m *Machine) home(id extensions.ID) {
	m.move(id, Home)
	delete(m.parts, id)
}

func (m *Machine) turn(c *cell, p Purpose) {
	if c.purpose != p {
		c.purpose = p
		m.do(Turn{c.name, p})
	}
}

func (m *Machine) forget(ids []extensions.ID) {
	for _, id := range ids {
		for k := range m.calls {
			if k.id == id {
				delete(m.calls, k)
			}
		}
		from := m.where[id]
		delete(m.where, id)
		delete(m.parts, id)
		delete(m.freed, id)
		m.closeEmpty(from)
	}
	if m.trial != nil && !slices.ContainsFunc(m.trial.cells, func(name string) bool { return m.cells[name] != nil }) {
		m.endTrial()
	}
}

func join(ids []extensions.ID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, ", ")
}

func times(n int) string {
	if n == 1 {
		return "1 crash"
	}
	return fmt.Sprintf("%d crashes", n)
}

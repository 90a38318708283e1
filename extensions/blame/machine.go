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
	Window   time.Duration // crashes further apart are unrelated; default 5 min
	MaxLives int           // the maximum number of lives of one search by trials; default 8
	Quiet    time.Duration // trials end after this time without a crash; default Window
	Prefix   string        // of the names of trial cells, if several machines share them; default "trial-"
}

// Machine manages one host. It must be made by [New].
type Machine struct {
	rules  Rules
	cells  map[string]*cell
	where  map[extensions.ID]string // the cells of extensions that are not at home
	parts  map[extensions.ID]*apart // extensions in quarantine
	crash  []Evidence               // crashes at home and in settled cells, each at most a window before the next
	trial  *bisection
	misled int             // after how many searches m.crash has gone on without the suspects
	rounds int             // the same for all crashes since the last culprit was found
	calls  map[command]int // the number of ended calls
	past   past
	freed  map[extensions.ID]bool // they went home after a trial without a crash, because no direct trace leads to them
	count  int                    // trial cells so far
	seq    int

	now time.Time
	out []Effect
}

type cell struct {
	name    string
	purpose Purpose
	life    *life // nil while it is down
}

// apart is an extension in quarantine.
type apart struct {
	crashes   []Evidence // why it is there
	confirmed bool       // it has crashed alone, or a person requested it
}

// New returns a machine without suspects.
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
	return &Machine{rules: rules, cells: map[string]*cell{Home: {purpose: AtHome}}, where: map[extensions.ID]string{}, parts: map[extensions.ID]*apart{}, calls: map[command]int{}, past: past{busy: map[activity]time.Duration{}}, freed: map[extensions.ID]bool{}}
}

// Cells returns the cells of the extensions that are not at home. The caller owns
// the map.
func (m *Machine) Cells() map[extensions.ID]string {
	out := make(map[extensions.ID]string, len(m.where))
	for id, c := range m.where {
		out[id] = c
	}
	return out
}

// Purpose returns the purpose of a cell; "" if no cell has that name.
func (m *Machine) Purpose(name string) Purpose {
	if c := m.cells[name]; c != nil {
		return c.purpose
	}
	return ""
}

// Quarantined returns the extensions in quarantine, sorted by id.
func (m *Machine) Quarantined() []extensions.ID {
	var out []extensions.ID
	for id := range m.parts {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// Lives returns how many trial lives the current search has used; 0 without a search.
func (m *Machine) Lives() int {
	if m.trial == nil {
		return 0
	}
	return m.trial.lives
}

// TrialUntil returns when the trial of an extension ends unless its cell, or the home,
// crashes before; the zero time if it is not on trial. The end is put off while one of
// those on trial was not activated.
func (m *Machine) TrialUntil(id extensions.ID) time.Time {
	if m.trial == nil || !slices.Contains(m.trial.cells, m.where[id]) {
		return time.Time{}
	}
	return m.trial.until
}

// Step applies one event and returns its effects.
func (m *Machine) Step(ev Event, now time.Time) []Effect {
	m.now, m.out = now, nil
	switch ev := ev.(type) {
	case LifeStarted:
		m.started(ev)
	case LifeEnded:
		if c, _ := m.find(ev.Cell, ev.Life); c != nil {
			m.lifeOver(c)
		}
	case Began:
		if _, l := m.find(ev.Cell, ev.Life); l != nil {
			l.began(ev.ID, now)
		}
	case Finished:
		if _, l := m.find(ev.Cell, ev.Life); l != nil {
			l.began(ev.ID, now)
			m.past.add(activation(ev.ID), now.Sub(l.activating[ev.ID]))
			delete(l.activating, ev.ID)
		}
	case CallBegan:
		if _, l := m.find(ev.Cell, ev.Life); l != nil {
			l.calls[ev.Call] = call{ev.ID, ev.Method, now.Add(-ev.Age)}
		}
	case CallEnded:
		if _, l := m.find(ev.Cell, ev.Life); l != nil {
			m.returned(l, ev.Call)
		}
	case Returned:
		m.ended(command{ev.ID, ev.Method}, ev.Count, ev.Spent)
	case Uncaught:
		if _, l := m.find(ev.Cell, ev.Life); l != nil {
			l.threw(ev.ID, ev.Error, now)
		}
	case Profile:
		if _, l := m.find(ev.Cell, ev.Life); l != nil && l.hung { // otherwise the measured hang is over
			clear(l.shares)
			for _, s := range ev.Shares {
				l.shares[s.ID] += s.Share
			}
		}
	case Trace:
		if _, l := m.find(ev.Cell, ev.Life); l != nil {
			l.traced(ev)
		}
	case Hung:
		if _, l := m.find(ev.Cell, ev.Life); l != nil {
			l.hung = true
			clear(l.shares)
		}
	case Alive:
		m.alive(ev)
	case Crashed:
		if c, l := m.find(ev.Cell, ev.Life); l != nil {
			m.crashed(c, l, ev)
		}
	case Isolate:
		m.quarantine([]extensions.ID{ev.ID}, nil, "requested by a person")
		m.parts[ev.ID].confirmed = true
		m.abandon()
	case Release:
		if m.where[ev.ID] != Home {
			m.record(Cleared, m.where[ev.ID], []extensions.ID{ev.ID}, "requested by a person", nil)
			m.sendHome(ev.ID)
			m.abandon()
		}
	case Forget:
		m.forget(ev.IDs)
	case Fired:
		m.trialsQuiet()
	}
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

func (m *Machine) record(v Verdict, cell string, ids []extensions.ID, why string, evidence []Evidence) {
	m.seq++
	m.emit(Record{Decision{m.seq, m.now, v, cell, slices.Clone(ids), why, evidence}})
}

// find returns a cell and its life, if number is the current one; nil otherwise.
func (m *Machine) find(name string, number uint64) (*cell, *life) {
	c := m.cells[name]
	if c == nil || c.life == nil || c.life.number != number {
		return nil, nil
	}
	return c, c.life
}

func (m *Machine) started(ev LifeStarted) {
	c := m.cells[ev.Cell]
	if c == nil {
		return // the cell was closed during the start
	}
	c.life = newLife(ev.Life, m.now)
	if c.purpose == Trial && m.trial != nil {
		m.trial.lives++
	}
}

// lifeOver handles the end of a life. A settled cell does not get another one.
func (m *Machine) lifeOver(c *cell) {
	if c.life != nil {
		m.past.over(c.life, m.now)
	}
	c.life = nil
	if c.purpose == Settled {
		for _, id := range m.members(c.name) {
			m.sendHome(id)
		}
	}
}

func (m *Machine) alive(ev Alive) {
	c, l := m.find(ev.Cell, ev.Life)
	if l == nil || !l.hung {
		return
	}
	e := l.evidence(Crashed{c.name, l.number, Hang, "unresponsive, and back"}, m.calls, &m.past, m.now)
	l.hung = false
	clear(l.shares)
	if !e.Vague {
		m.record(Spell, c.name, e.ids(), "the host hung and came back; that alone isolates no extension", []Evidence{e})
	}
}

// maxCommands bounds Machine.calls.
const maxCommands = 10_000

func (m *Machine) returned(l *life, number uint64) {
	c, ok := l.calls[number]
	if !ok {
		return
	}
	delete(l.calls, number)
	m.ended(command{c.id, c.method}, 1, m.now.Sub(c.since))
}

// ended counts calls that have ended.
func (m *Machine) ended(c command, n int, spent time.Duration) {
	m.past.add(callOf(c.id, c.method), spent)
	if _, known := m.calls[c]; known || len(m.calls) < maxCommands {
		m.calls[c] += n
	}
}

// members returns the extensions in a cell other than the home, sorted by id.
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

// open creates a cell.
func (m *Machine) open(name string, purpose Purpose) {
	if c := m.cells[name]; c != nil {
		m.setPurpose(c, purpose)
		return
	}
	m.cells[name] = &cell{name: name, purpose: purpose}
	m.emit(Open{name, purpose})
}

// move moves an extension to a cell, and closes the cell that is empty then.
func (m *Machine) move(id extensions.ID, to string) {
	from := m.where[id]
	if from == to {
		return
	}
	delete(m.where, id)
	if to != Home {
		m.where[id] = to
	}
	m.emit(Move{id, from, to})
	m.closeEmpty(from)
}

func (m *Machine) closeEmpty(name string) {
	if name != Home && m.cells[name] != nil && len(m.members(name)) == 0 {
		delete(m.cells, name)
		m.emit(Close{name})
	}
}

// sendHome moves an extension home.
func (m *Machine) sendHome(id extensions.ID) {
	m.move(id, Home)
	delete(m.parts, id)
}

func (m *Machine) setPurpose(c *cell, p Purpose) {
	if c.purpose != p {
		c.purpose = p
		m.emit(Turn{c.name, p})
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
	m.abandon()
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

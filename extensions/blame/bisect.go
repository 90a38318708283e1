package blame

import (
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/span"
)

// bisection is a search by trials.
type bisection struct {
	cells    []string        // the two halves
	order    []extensions.ID // the candidates, the strongest suspect first
	evidence []Evidence
	lives    int
	patience int // how often the trials waited for an extension that was not activated
}

// maxPatience bounds bisection.patience.
const maxPatience = 3

// bisect begins a search.
func (m *Machine) bisect(candidates []extensions.ID, why string) {
	m.trial = &bisection{order: candidates, evidence: m.evidence()}
	m.crash = nil
	m.split(Home, candidates, why)
	if m.trial != nil {
		m.emit(Forgive{Home})
	}
}

// split puts each half of the candidates into a cell.
func (m *Machine) split(from string, candidates []extensions.ID, why string) {
	t := m.trial
	if t.lives+2 > m.rules.MaxLives {
		evidence := t.evidence
		m.record(Exhausted, from, candidates, fmt.Sprintf("%s, and %d of %d lives for trials are spent: they are isolated together", why, t.lives, m.rules.MaxLives), nil)
		m.endTrial()
		m.isolate(candidates, evidence, "one of them is the culprit")
		return
	}
	half := len(candidates) / 2
	halves := [][]extensions.ID{candidates[:half], candidates[half:]}
	t.cells = nil
	m.record(Bisected, from, candidates, fmt.Sprintf("%s: %s against %s", why, join(halves[0]), join(halves[1])), t.evidence)
	for i, h := range halves {
		m.count++
		t.cells = append(t.cells, fmt.Sprintf("%s%d", m.rules.Prefix, m.count))
		m.open(t.cells[i], Trial)
		for _, id := range h {
			m.move(id, t.cells[i])
		}
	}
	m.emit(SetTimer{m.rules.Quiet})
}

// narrow handles a crash in a trial: it clears the other half.
func (m *Machine) narrow(c *cell, e Evidence) {
	t := m.trial
	members := m.members(c.name)
	t.evidence = append(t.evidence, e)
	culprits := slices.DeleteFunc(slices.Clone(t.order), func(id extensions.ID) bool {
		return !slices.Contains(members, id) || !slices.Contains(e.ids(), id)
	})
	if len(culprits) == 0 { // no evidence against them, but they crashed here
		culprits = slices.DeleteFunc(slices.Clone(t.order), func(id extensions.ID) bool { return !slices.Contains(members, id) })
	}
	for _, name := range t.cells {
		if other := m.cells[name]; other != nil && other != c {
			m.setPurpose(other, Settled)
			if other.life == nil {
				m.lifeOver(other)
			}
		}
	}
	var cleared []extensions.ID
	for _, id := range members {
		if !slices.Contains(culprits, id) {
			cleared = append(cleared, id)
		}
	}
	if len(cleared) > 0 {
		m.record(Cleared, c.name, cleared, e.Reason+": nothing speaks against them in this crash", []Evidence{e})
		for _, id := range cleared {
			m.move(id, Home)
		}
	}
	if len(culprits) == 1 {
		evidence, lives := t.evidence, t.lives
		m.endTrial()
		m.isolate(culprits, evidence, fmt.Sprintf("%s: it is the only one left after %d trial lives", e.Reason, lives))
		return
	}
	m.split(c.name, culprits, e.Reason)
}

// trialsQuiet handles trials without a crash for [Rules].Quiet.
func (m *Machine) trialsQuiet() {
	t := m.trial
	if t == nil {
		return
	}
	// A trial does not count for extensions that were not activated.
	t.patience++
	for _, name := range t.cells {
		c := m.cells[name]
		if c == nil {
			continue
		}
		for _, id := range m.members(name) {
			if t.patience <= maxPatience && (c.life == nil || !slices.Contains(c.life.begun, id)) {
				m.emit(SetTimer{m.rules.Quiet})
				return
			}
		}
	}
	// The culprit does not crash alone, nor do the others without it: take the
	// strongest suspect of those that are alone.
	var culprit extensions.ID
	for _, id := range t.order {
		if name := m.where[id]; slices.Contains(t.cells, name) && len(m.members(name)) == 1 {
			culprit = id
			break
		}
	}
	evidence, cells := t.evidence, t.cells
	var others []extensions.ID
	for _, id := range t.order {
		if name := m.where[id]; id != culprit && slices.Contains(cells, name) {
			others = append(others, id)
		}
	}
	if culprit == "" {
		m.unsolved(fmt.Sprintf("isolated they have not crashed for %s", span.Of(m.rules.Quiet)))
		return
	}
	m.endTrial()
	name := m.where[culprit]
	m.record(Isolated, name, []extensions.ID{culprit}, fmt.Sprintf("apart from %s it has not happened again for %s, and most speaks against it: it stays alone", join(others), span.Of(m.rules.Quiet)), evidence)
	m.setPurpose(m.cells[name], Quarantine)
	m.parts[culprit] = &apart{crashes: evidence, instead: others}
	if len(others) > 0 {
		m.record(Cleared, Home, others, "they go home; if it happens there again it was one of them", nil)
		for _, id := range others {
			m.move(id, Home)
		}
	}
}

// unsolved ends a search without a result.
func (m *Machine) unsolved(why string) {
	t := m.trial
	m.endTrial()
	var left []extensions.ID
	for _, id := range t.order {
		if slices.Contains(t.cells, m.where[id]) {
			left = append(left, id)
		}
	}
	m.record(Unsolved, Home, left, why+"; they stay apart until their hosts end", t.evidence)
	for _, name := range t.cells {
		if c := m.cells[name]; c != nil {
			m.setPurpose(c, Settled)
			if c.life == nil {
				m.lifeOver(c)
			}
		}
	}
}

func (m *Machine) endTrial() {
	m.trial = nil
	m.emit(CancelTimer{})
}

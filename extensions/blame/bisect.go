package blame

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/span"
)

// bisection is a search by trials.
type bisection struct {
	cells    []string        // the two halves, or the one suspect
	order    []extensions.ID // the candidates, the strongest suspect first
	evidence []Evidence
	without  []Evidence // crashes at home since it began
	lives    int
	until    time.Time
	patience int // how often the trials waited for an extension that was not activated
}

// maxPatience bounds bisection.patience.
const maxPatience = 3

// search begins a search among candidates.
func (m *Machine) search(candidates []extensions.ID, why string) {
	m.trial = &bisection{order: candidates, evidence: m.evidence()}
	if len(candidates) == 1 {
		id := candidates[0]
		m.record(Isolated, m.where[id], candidates, fmt.Sprintf("%s; it is on trial for %s", why, span.Of(m.duration(m.trial.evidence))), m.trial.evidence)
		m.try(string(id), candidates)
		m.wait()
	} else {
		m.split(m.where[candidates[0]], candidates, why)
	}
	if m.trial != nil {
		m.crash = nil
		m.emit(Forgive{Home})
	}
}

// try puts extensions into a trial cell.
func (m *Machine) try(cell string, ids []extensions.ID) {
	t := m.trial
	t.cells = append(t.cells, cell)
	m.open(cell, Trial)
	for _, id := range ids {
		m.move(id, cell)
	}
}

// rarity is how many times the mean time between the crashes a trial lasts at least: a
// culprit that is not on trial is quiet for that long in less than 1 % of trials.
const rarity = 5

// duration returns how long a trial without a crash lasts.
func (m *Machine) duration(crashes []Evidence) time.Duration {
	n := len(crashes) - 1
	if n < 1 {
		return m.rules.Quiet
	}
	return max(m.rules.Quiet, rarity*crashes[n].Time.Sub(crashes[0].Time)/time.Duration(n))
}

// wait starts the time of the trials.
func (m *Machine) wait() {
	d := m.duration(m.trial.evidence)
	m.trial.until = m.now.Add(d)
	m.emit(SetTimer{d})
}

// split puts each half of the candidates into a cell.
func (m *Machine) split(from string, candidates []extensions.ID, why string) {
	t := m.trial
	if t.lives+2 > m.rules.MaxLives {
		evidence := t.evidence
		m.record(Exhausted, from, candidates, fmt.Sprintf("%s, and %d of %d lives for trials are spent: they are isolated together", why, t.lives, m.rules.MaxLives), nil)
		m.endTrial()
		m.quarantine(candidates, evidence, "one of them is the culprit")
		return
	}
	half := len(candidates) / 2
	halves := [][]extensions.ID{candidates[:half], candidates[half:]}
	t.cells = nil
	m.record(Bisected, from, candidates, fmt.Sprintf("%s: %s against %s", why, join(halves[0]), join(halves[1])), t.evidence)
	for _, h := range halves {
		m.count++
		m.try(fmt.Sprintf("%s%d", m.rules.Prefix, m.count), h)
	}
	m.wait()
}

// narrow handles a crash in a trial: it clears those that were not there. What they were
// doing only decides who is tried first.
func (m *Machine) narrow(c *cell, e Evidence) {
	t := m.trial
	members := m.members(c.name)
	t.evidence = append(t.evidence, e)
	if len(members) == 1 && c.name == string(members[0]) {
		m.endTrial()
		m.setPurpose(c, Quarantine)
		m.parts[members[0]] = &apart{crashes: t.evidence, confirmed: true}
		m.record(Confirmed, c.name, members, e.Reason+": it also crashes alone", []Evidence{e})
		m.solved(members)
		return
	}
	var culprits, cleared []extensions.ID
	for _, id := range ranked(t.order, t.evidence) {
		switch {
		case !slices.Contains(members, id):
		case e.begun[id]:
			culprits = append(culprits, id)
		default:
			cleared = append(cleared, id)
		}
	}
	if len(culprits) == 0 { // it is not known which were there, but it happened here
		culprits, cleared = cleared, nil
	}
	for _, name := range t.cells {
		if other := m.cells[name]; other != nil && other != c {
			m.setPurpose(other, Settled)
			if other.life == nil {
				m.lifeOver(other)
			}
		}
	}
	if len(cleared) > 0 {
		m.record(Cleared, c.name, cleared, e.Reason+": they were not there in this crash", []Evidence{e})
		for _, id := range cleared {
			m.move(id, Home)
		}
	}
	if len(culprits) == 1 {
		evidence, lives := t.evidence, t.lives
		m.endTrial()
		m.quarantine(culprits, evidence, fmt.Sprintf("%s: it is the only one left after %d trial lives", e.Reason, lives))
		return
	}
	m.split(c.name, culprits, e.Reason)
}

// acquit ends trials because the crashes go on without those that are tried. If no
// extension at home was there in all crashes, there are several culprits, and the search
// begins again with the crashes since the trials began.
func (m *Machine) acquit(explained bool) {
	t := m.trial
	var tried []extensions.ID
	for _, id := range t.order {
		if slices.Contains(t.cells, m.where[id]) {
			tried = append(tried, id)
		}
	}
	m.endTrial()
	crashes := t.without
	if explained {
		crashes = slices.Concat(t.evidence, t.without)
	}
	m.clear(tried, crashes)
	if !explained {
		m.misled = 0
	}
}

// clear sends extensions home without which the crashes go on.
func (m *Machine) clear(ids []extensions.ID, crashes []Evidence) {
	e := crashes[len(crashes)-1]
	m.record(Cleared, m.where[ids[0]], ids, e.Reason+": it goes on without "+join(ids), []Evidence{e})
	for _, id := range ids {
		m.sendHome(id)
	}
	m.crash = slices.Clone(crashes)
	m.misled++
	m.rounds++
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
				m.wait()
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
		m.unsolved(fmt.Sprintf("isolated they have not crashed for %s", span.Of(m.duration(t.evidence))))
		return
	}
	m.endTrial()
	name := m.where[culprit]
	if awaited(evidence) && !m.freed[culprit] {
		all := append([]extensions.ID{culprit}, others...)
		m.record(Cleared, name, all, fmt.Sprintf("isolated they have not crashed for %s, but no profile speaks against them: they go home", span.Of(m.duration(evidence))), evidence)
		m.freed[culprit] = true
		for _, id := range all {
			m.sendHome(id)
		}
		return
	}
	apartFrom := join(others)
	if apartFrom == "" {
		apartFrom = "the others"
	}
	m.record(Isolated, name, []extensions.ID{culprit}, fmt.Sprintf("apart from %s it has not happened again for %s, and most speaks against it: it stays alone", apartFrom, span.Of(m.duration(evidence))), evidence)
	m.setPurpose(m.cells[name], Quarantine)
	m.parts[culprit] = &apart{crashes: evidence}
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

// abandon ends a search if those on trial were removed, released or isolated.
func (m *Machine) abandon() {
	if m.trial != nil && !slices.ContainsFunc(m.trial.cells, func(name string) bool { return m.Purpose(name) == Trial }) {
		m.endTrial()
	}
}

func (m *Machine) endTrial() {
	m.trial = nil
	m.emit(CancelTimer{})
}

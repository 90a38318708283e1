package blame

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/span"
)

// minCrashes is in how many crashes of a window the culprit must be a suspect.
const minCrashes = 2

// crashed decides the effects of a crash.
func (m *Machine) crashed(c *cell, l *life, ev Crashed) {
	e := l.evidence(ev, m.calls, m.now)
	switch {
	case ev.Kind != Exit && ev.Kind != Hang:
		if e.Vague || !ev.Kind.suspects() {
			e.Suspects, e.Vague = []Suspect{}, false
		}
		m.record(HostFault, c.name, nil, ev.Reason+": "+ev.Kind.hostFault(), []Evidence{e})
	case len(e.begun) == 0:
		m.record(HostFault, c.name, nil, ev.Reason+": none had begun to be activated", []Evidence{e})
	default:
		c.life = nil
		switch c.purpose {
		case Trial:
			if m.trial == nil {
				m.judge(c, e)
				break
			}
			m.narrow(c, e)
		case Quarantine:
			m.confirm(c, e)
		default:
			m.judge(c, e)
		}
	}
	m.lifeOver(c)
	if t := m.trial; t != nil && c.purpose == Trial && t.lives >= m.rules.MaxLives {
		m.unsolved(fmt.Sprintf("all %d lives for trials are spent", m.rules.MaxLives))
	}
}

// judge handles crashes at home and in settled cells.
func (m *Machine) judge(c *cell, e Evidence) {
	m.crash = slices.DeleteFunc(m.crash, func(old Evidence) bool { return e.Time.Sub(old.Time) >= m.rules.Window })
	m.crash = append(m.crash, e)
	if m.swap(c, e) {
		return
	}
	candidates, most := m.common()
	n := len(m.crash)
	switch {
	case n < minCrashes:
		m.record(Noted, c.name, e.ids(), e.Reason+": one crash isolates no extension", []Evidence{e})
	case most < minCrashes && (n <= minCrashes || len(candidates) < 2):
		m.record(Noted, c.name, e.ids(), fmt.Sprintf("%s: %d crashes within %s have no suspect in common", e.Reason, n, span.Of(m.rules.Window)), m.evidence())
	case len(candidates) == 1:
		m.isolate(candidates, m.evidence(), fmt.Sprintf("it alone is a suspect in %d of %s within %s", most, times(n), span.Of(m.rules.Window)))
	case m.trial != nil:
		m.record(Noted, c.name, candidates, e.Reason+": no single suspect, and a search is already running", m.evidence())
	default:
		m.bisect(candidates, fmt.Sprintf("%d suspects in %d of %s within %s", len(candidates), most, times(n), span.Of(m.rules.Window)))
	}
}

// common returns the extensions that are suspects in the most crashes, the strongest
// suspect first, without those that are already isolated.
func (m *Machine) common() ([]extensions.ID, int) {
	count, score, returned := map[extensions.ID]int{}, map[extensions.ID]int{}, map[extensions.ID]int{}
	for _, e := range m.crash {
		for _, s := range e.Suspects {
			if m.parts[s.ID] == nil && m.Purpose(m.where[s.ID]) != Trial {
				count[s.ID]++
				score[s.ID] += s.Score
				returned[s.ID] += s.Returned
			}
		}
	}
	most := 0
	for _, n := range count {
		most = max(most, n)
	}
	var out []extensions.ID
	for id, n := range count {
		if n == most {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b extensions.ID) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(returned[a], returned[b]), cmp.Compare(a, b))
	})
	return out, most
}

func (m *Machine) evidence() []Evidence { return slices.Clone(m.crash) }

// isolate moves extensions to a cell of their own and resets the crash window.
func (m *Machine) isolate(ids []extensions.ID, evidence []Evidence, why string) {
	name := string(ids[0])
	from := m.where[ids[0]]
	m.record(Isolated, from, ids, why, evidence)
	m.open(name, Quarantine)
	for _, id := range ids {
		m.parts[id] = &apart{crashes: evidence}
		m.move(id, name)
	}
	if len(evidence) > 0 {
		m.crash = nil
		m.emit(Forgive{Home})
		m.clearOthers(ids)
	}
}

// clearOthers sends extensions home that are isolated for crashes that the found
// culprits explain too, and that have not crashed since.
func (m *Machine) clearOthers(found []extensions.ID) {
	for _, id := range m.Quarantined() {
		p := m.parts[id]
		if slices.Contains(found, id) || p.confirmed || len(p.crashes) == 0 || m.cleared[id] {
			continue
		}
		there := func(e Evidence) bool {
			return slices.ContainsFunc(found, func(id extensions.ID) bool { return e.begun[id] })
		}
		if slices.ContainsFunc(p.crashes, func(e Evidence) bool { return !there(e) }) {
			continue
		}
		m.record(Cleared, m.where[id], []extensions.ID{id}, "it has not crashed alone, and "+join(found)+" was there whenever it was suspected", p.crashes)
		m.cleared[id] = true
		m.sendHome(id)
	}
}

// confirm handles crashes in quarantine.
func (m *Machine) confirm(c *cell, e Evidence) {
	members := m.members(c.name)
	fresh := slices.ContainsFunc(members, func(id extensions.ID) bool { return !m.parts[id].confirmed })
	for _, id := range members {
		m.parts[id].confirmed, m.parts[id].instead = true, nil
	}
	if fresh {
		m.record(Confirmed, c.name, members, e.Reason+": it also crashes alone", []Evidence{e})
	}
}

// swap handles a crash after trials without a result: one of the extensions that went
// home then may be the culprit.
func (m *Machine) swap(c *cell, e Evidence) bool {
	for _, id := range m.Quarantined() {
		p := m.parts[id]
		var found []extensions.ID
		for _, s := range e.Suspects {
			if slices.Contains(p.instead, s.ID) {
				found = append(found, s.ID)
			}
		}
		if p.confirmed || len(found) == 0 || e.Vague && len(found) > 1 {
			continue
		}
		was := p.crashes
		m.record(Cleared, m.where[id], []extensions.ID{id}, e.Reason+": it goes on without it", []Evidence{e})
		m.sendHome(id)
		if len(found) == 1 {
			m.isolate(found, append(slices.Clone(was), e), "the crashes went on when it was home again and "+string(id)+" was not")
		} else {
			m.crash = append(was, e)
			m.bisect(found, "the crashes went on without "+string(id))
		}
		return true
	}
	return false
}

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
	e := l.evidence(ev, m.calls, &m.past, m.now)
	m.past.over(l, m.now)
	c.life = nil
	switch {
	case ev.Kind.hostFault() != "":
		e.Suspects, e.Vague = []Suspect{}, false
		m.record(HostFault, c.name, nil, ev.Reason+": "+ev.Kind.hostFault(), []Evidence{e})
	case len(e.begun) == 0:
		m.record(HostFault, c.name, nil, ev.Reason+": none had begun to be activated", []Evidence{e})
	default:
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
	if n := len(m.crash); n > 0 && e.Time.Sub(m.crash[n-1].Time) >= m.rules.Window {
		m.crash, m.misled, m.rounds = nil, 0, 0
	}
	m.reconsider(e)
	if n := len(m.crash); n == 0 || m.crash[n-1].Time != e.Time {
		m.crash = append(m.crash, e)
	}
	m.crash = m.crash[max(0, len(m.crash)-maxCrashes):]
	candidates, most, sure := m.common()
	n := len(m.crash)
	switch {
	case n < minCrashes:
		m.record(Noted, c.name, e.ids(), e.Reason+": one crash isolates no extension", []Evidence{e})
	case most < minCrashes && (n <= minCrashes || len(candidates) < 2):
		m.record(Noted, c.name, e.ids(), fmt.Sprintf("%s: %d crashes within %s have no suspect in common", e.Reason, n, span.Of(m.rules.Window)), m.evidence())
	case m.trial != nil:
		m.record(Noted, c.name, candidates, e.Reason+": a search for another culprit is already running", m.evidence())
	case m.rounds >= 2*m.rules.MaxLives:
		m.record(Unsolved, c.name, nil, fmt.Sprintf("%s: it went on without the suspects of %d searches", e.Reason, m.rounds), m.evidence())
	case len(candidates) > 1 && n < maxAwaited && awaited(m.crash):
		m.record(Noted, c.name, candidates, e.Reason+": nothing tells them apart, and a profile may at the next crash", m.evidence())
		m.emit(Forgive{Home})
	case len(candidates) == 1 && sure < 1:
		m.search(candidates, fmt.Sprintf("it is the likeliest suspect, with %s, in %d of %s within %s", percent(sure), most, times(n), span.Of(m.rules.Window)))
	case len(candidates) == 1:
		m.search(candidates, fmt.Sprintf("it alone is a suspect in %d of %s within %s", most, times(n), span.Of(m.rules.Window)))
	default:
		m.search(candidates, fmt.Sprintf("%d suspects in %d of %s within %s", len(candidates), most, times(n), span.Of(m.rules.Window)))
	}
}

// maxCrashes bounds the crashes that are weighed together, and maxMisled how many searches
// among the strongest suspects may fail before all extensions that were there are tried.
const (
	maxCrashes = 20
	maxMisled  = 2
)

// common returns the candidates, the strongest suspect first, and in how many crashes they
// were there. Presence comes first: an extension that was not there has not caused the
// crash. What the extensions were doing decides who of them is tried: one, if it is likely
// enough, of which sure is the probability; 1 if there are traces of no other one as often.
// Extensions that are isolated already are no candidates.
func (m *Machine) common() (out []extensions.ID, most int, sure float64) {
	there := map[extensions.ID]int{}
	for _, e := range m.crash {
		for id := range e.begun {
			if p := m.Purpose(m.where[id]); m.parts[id] == nil && p != Trial {
				there[id]++
				most = max(most, there[id])
			}
		}
	}
	for id, n := range there {
		if n == most {
			out = append(out, id)
		}
	}
	out = ranked(out, m.crash)
	if m.misled >= maxMisled || len(out) == 0 {
		return out, most, 1
	}
	probability, strong := likely(out, m.crash)
	if probability < certain && len(strong) > 1 {
		return strong, most, probability
	}
	if top := traces(out[0], m.crash); top > 0 && !slices.ContainsFunc(out[1:], func(id extensions.ID) bool { return traces(id, m.crash) >= top }) {
		probability = 1
	}
	return out[:1], most, probability
}

// traces returns in how many crashes there is a trace of an extension.
func traces(id extensions.ID, crashes []Evidence) (n int) {
	for _, e := range crashes {
		if slices.ContainsFunc(e.Suspects, func(s Suspect) bool { return s.ID == id && s.Score > 0 }) {
			n++
		}
	}
	return n
}

// ranked returns extensions, the strongest suspect first: by their weights, by the number of
// crashes with a trace of them, and by the sum of their scores.
func ranked(ids []extensions.ID, crashes []Evidence) []extensions.ID {
	sums := map[extensions.ID]Suspect{}
	for _, e := range crashes {
		for _, s := range e.Suspects {
			sum := sums[s.ID]
			sums[s.ID] = Suspect{ID: s.ID, Score: sum.Score + s.Score, Returned: sum.Returned + s.Returned}
		}
	}
	return slices.SortedFunc(slices.Values(ids), func(a, b extensions.ID) int {
		return cmp.Or(cmp.Compare(weight(b, crashes), weight(a, crashes)), cmp.Compare(traces(b, crashes), traces(a, crashes)), compare(sums[a], sums[b]), cmp.Compare(a, b))
	})
}

func (m *Machine) evidence() []Evidence { return slices.Clone(m.crash) }

// reconsider handles a crash in which isolated suspects were not there: if one of those
// that were there was there in all crashes that they are isolated for, it goes on without
// them, and they go home.
func (m *Machine) reconsider(e Evidence) {
	explains := func(crashes []Evidence) bool {
		for id := range e.begun {
			if m.parts[id] == nil && m.Purpose(m.where[id]) != Trial && !slices.ContainsFunc(crashes, func(old Evidence) bool { return !old.begun[id] }) {
				return true
			}
		}
		return false
	}
	if t := m.trial; t != nil {
		// With two culprits one of them crashes the home while the other is on trial, so
		// that one crash clears no one.
		if t.without = append(t.without, e); len(t.without) >= minCrashes {
			m.acquit(explains(t.evidence))
		}
	}
	for _, id := range m.Quarantined() {
		if p := m.parts[id]; p != nil && !p.confirmed && len(p.crashes) > 0 && explains(p.crashes) {
			m.clear([]extensions.ID{id}, append(slices.Clone(p.crashes), e))
		}
	}
}

// quarantine moves extensions to a cell of their own and resets the crash window.
func (m *Machine) quarantine(ids []extensions.ID, evidence []Evidence, why string) {
	name := string(ids[0])
	m.record(Isolated, m.where[ids[0]], ids, why, evidence)
	m.open(name, Quarantine)
	for _, id := range ids {
		m.parts[id] = &apart{crashes: evidence}
		m.move(id, name)
	}
	if len(evidence) > 0 {
		m.emit(Forgive{Home})
		m.solved(ids)
	}
}

// solved follows the end of a search with culprits. It sends extensions home that are
// isolated for crashes that the culprits explain too, and that have not crashed since.
func (m *Machine) solved(found []extensions.ID) {
	m.crash, m.misled, m.rounds = nil, 0, 0
	for _, id := range m.Quarantined() {
		p := m.parts[id]
		if slices.Contains(found, id) || p.confirmed || len(p.crashes) == 0 {
			continue
		}
		there := func(e Evidence) bool {
			return slices.ContainsFunc(found, func(id extensions.ID) bool { return e.begun[id] })
		}
		if slices.ContainsFunc(p.crashes, func(e Evidence) bool { return !there(e) }) {
			continue
		}
		m.record(Cleared, m.where[id], []extensions.ID{id}, "it has not crashed alone, and "+join(found)+" was there whenever it was suspected", p.crashes)
		m.sendHome(id)
	}
}

// confirm handles crashes in quarantine. Of several one is the culprit: the search for it
// goes on with a budget of its own.
func (m *Machine) confirm(c *cell, e Evidence) {
	members := m.members(c.name)
	p := m.parts[members[0]]
	switch {
	case len(members) > 1 && m.trial == nil:
		m.crash = append(slices.Clone(p.crashes), e)
		for _, id := range members {
			delete(m.parts, id)
		}
		m.search(ranked(members, m.crash), e.Reason)
	case len(members) > 1:
		m.record(Noted, c.name, members, e.Reason+": one of them is the culprit", []Evidence{e})
	case !p.confirmed:
		p.confirmed = true
		m.record(Confirmed, c.name, members, e.Reason+": it also crashes alone", []Evidence{e})
	}
}

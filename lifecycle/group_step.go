package lifecycle

import (
	"fmt"
	"slices"
)

// Step takes one event and returns the next machine and what to do.
func (g Group) Step(ev GroupEvent) (Group, []GroupEffect, error) {
	s := groupStep{Group: g}
	switch ev := ev.(type) {
	case Boot:
		for i := range s.members {
			if !s.members[i].Lazy {
				s.want(i, ByTree, false)
			}
		}
	case Shutdown:
		s.shutdown = true
		for i := range s.members {
			// One that waits for a start learns that there will be none.
			if m := &s.members[i]; m.drains || m.wanted && (m.state.AtRest() || m.state == Stopping) {
				s.stop(m, ByTree, "supervisor stops", false)
			}
		}
	case Want:
		if i := s.find(ev.Name); i >= 0 {
			s.members[i].acked = ev.Number
			s.asked(i, ev.By)
		}
	case Unwant:
		if i := s.find(ev.Name); i >= 0 {
			m := &s.members[i]
			m.acked = ev.Number
			m.wanted, m.kept, m.asks, m.granted = false, true, false, false
			m.notice, m.refused = "", false
		}
	case Release:
		if i := s.find(ev.Name); i >= 0 {
			s.members[i].acked = ev.Number
			s.release(&s.members[i])
		}
	case Changed:
		s.changed(ev)
	case Join:
		if err := s.join(ev.Member); err != nil {
			return g, nil, err
		}
		if !ev.Member.Lazy {
			s.want(s.find(ev.Member.Name), ByTree, false)
		}
	case Rejoin:
		if err := s.join(ev.Member); err != nil {
			return g, nil, err
		}
	case Leave:
		if i := s.find(ev.Name); i >= 0 {
			s.drained(&s.members[i])
			s.members = slices.Delete(s.members, i, i+1)
			s.link()
		}
	}
	s.settle()
	return s.Group, s.out, nil
}

type groupStep struct {
	Group
	out []GroupEffect
}

func (s *groupStep) do(e GroupEffect) { s.out = append(s.out, e) }

// command sends a member what it answers.
func (s *groupStep) command(m *member, e Event) {
	m.inFlight++
	s.do(Command{m.Name, e})
}

func (s *groupStep) stop(m *member, by By, reason string, back bool) {
	s.command(m, Stop{by, reason, back, m.acked})
}

// find returns the index of a member, or -1.
func (s *groupStep) find(name string) int {
	if i, ok := s.index[name]; ok {
		return i
	}
	return -1
}

// goesDown tells that nothing is to start until a sharer is down.
func (s *groupStep) goesDown(m *member) {
	if !m.drains {
		m.drains = true
		s.draining++
	}
}

// drained tells that a sharer is down, or will not be.
func (s *groupStep) drained(m *member) {
	if m.drains {
		m.drains = false
		s.draining--
	}
}

// join adds a member, or gives one another configuration.
func (s *groupStep) join(m Member) error {
	all := make([]Member, 0, len(s.members)+1)
	for _, old := range s.members {
		all = append(all, old.Member)
	}
	if i := s.find(m.Name); i >= 0 {
		all[i] = m
	} else {
		all = append(all, m)
	}
	ordered, err := Order(all)
	if err != nil {
		return err
	}
	next := make([]member, 0, len(ordered))
	for _, o := range ordered {
		as := member{state: Stopped}
		if i := s.find(o.Name); i >= 0 {
			as = s.members[i]
		}
		as.Member = o
		next = append(next, as)
	}
	s.members = next
	s.link()
	return nil
}

// asked takes the wish of a member, or of somebody for it.
func (s *groupStep) asked(i int, by By) {
	m := &s.members[i]
	switch {
	case s.shutdown:
		s.stop(m, ByTree, "supervisor stops", false)
		return
	case by == ByRule && !m.wanted && m.state != Failed:
		// Its group has given up meanwhile, and it had asked before it knew.
		s.stop(m, ByGroup, m.notice, false)
		return
	}
	m.granted, m.asks = false, m.state == Restarting
	s.want(i, by, by == ByPerson)
}

// want marks a member and all that it needs and that does not run as to be
// running.
func (s *groupStep) want(i int, by By, person bool) {
	m := &s.members[i]
	m.wanted, m.kept, m.by = true, false, by
	m.notice, m.refused = "", false
	s.pull(i, person)
}

// idle is the reason why a host is stopped that no program needs.
const idle = "idle: no program needs it"

// release stops a member that no program needs, unless another member does.
func (s *groupStep) release(m *member) {
	needed := slices.ContainsFunc(m.neededBy, func(j int) bool { return s.members[j].wanted || !s.members[j].state.AtRest() })
	if needed || s.shutdown || m.drains { // the last two: it is stopped anyway
		s.do(Command{m.Name, StopRefused{m.acked}})
		return
	}
	m.wanted, m.notice = false, idle
	s.stop(m, ByProgram, idle, false)
}

// pull wants what a member needs. Only a person brings back what a person
// stopped, or what has given up.
func (s *groupStep) pull(i int, person bool) {
	for _, j := range s.members[i].needs {
		switch d := &s.members[j]; {
		case d.serves(), d.state.Up(), d.state == Starting:
		case !person && (d.kept || d.state == Failed):
		case d.wanted && d.state != Failed && !d.refused:
			s.pull(j, person) // on its way; what it needs may not be
		default:
			s.want(j, ByDependent, person)
		}
	}
}

func (s *groupStep) changed(ev Changed) {
	i := s.find(ev.Name)
	if i < 0 {
		return
	}
	m := &s.members[i]
	if ev.Answer {
		m.inFlight = max(0, m.inFlight-1)
		return
	}
	m.state, m.granted, m.asks = ev.To, false, false
	if ev.Lost {
		m.inFlight = 0
	}
	switch ev.To {
	case Stopped:
		s.drained(m)
		if m.done = ev.By == ByDone; m.done || ev.By == BySelf {
			m.wanted = false
		}
	case Starting:
		m.notice, m.refused, m.done = "", false, false
	case Restarting:
		s.drained(m)
		if m.wanted {
			m.by, m.notice, m.refused = ByRule, "", false
		}
		if s.Shares() && !s.shutdown {
			s.drain(i, fmt.Sprintf("group: %s crashed", m.Name), true)
		}
	case Failed:
		s.drained(m)
		if ev.By == ByDependency {
			return // it comes back with the dependency
		}
		wanted := m.wanted // else it could not even be stopped, which is nobody else's fate
		m.wanted = false
		if s.Shares() && wanted && !s.shutdown {
			s.drain(i, fmt.Sprintf("group: %s failed", m.Name), false)
		}
		s.do(Escalate{m.Name})
	}
}

// drain stops the hosts that share the fate of member i. With back those that
// are wanted come back.
func (s *groupStep) drain(i int, reason string, back bool) {
	// From the last to the first: dependents go before what they depend on.
	for j := len(s.members) - 1; j >= 0; j-- {
		m := &s.members[j]
		if j == i || s.strategy == RestForOne && j < i {
			continue
		}
		wanted := m.wanted
		m.wanted = wanted && back
		if !back {
			m.notice, m.refused = reason, true
		}
		switch m.state {
		case Starting, Running, Unresponsive:
			s.goesDown(m) // by itself, if it is not wanted: a person stops it
			if wanted {
				s.stop(m, ByGroup, reason, m.wanted)
				m.by = ByGroup
			}
		case Stopping:
			if m.wanted {
				s.goesDown(m)
			}
		}
		switch {
		case m.wanted && m.drains:
			s.pull(j, false) // what has ended meanwhile comes back for it
		case wanted && !back && !m.drains:
			// Down, or about to start: it learns that it stays down.
			s.stop(m, ByGroup, reason, false)
		}
	}
}

// settle does whatever has become possible.
func (s *groupStep) settle() {
	if s.shutdown {
		s.settleDown()
		return
	}
	for i := range s.members {
		m := &s.members[i]
		if m.wanted && !m.granted && (m.state.AtRest() || m.state == Restarting && m.asks) {
			s.settleUp(m)
		}
	}
}

// settleUp starts a member, or tells it why not.
func (s *groupStep) settleUp(m *member) {
	if s.draining > 0 {
		s.hold(m, "its group to stop")
		return
	}
	var waits string
	for _, j := range m.needs {
		switch d := &s.members[j]; {
		case d.serves():
		case d.state.AtRest() && (!d.wanted || d.refused):
			s.refuse(m, d)
			return
		case waits == "":
			waits = d.Name
		}
	}
	if waits != "" {
		s.hold(m, waits)
		return
	}
	m.granted, m.notice, m.refused = true, "", false
	s.command(m, Start{m.by, m.acked})
}

// hold tells a member, once, what its start waits for.
func (s *groupStep) hold(m *member, what string) {
	if m.notice != what || m.refused {
		m.notice, m.refused = what, false
		s.do(Command{m.Name, Waits{what, m.acked}})
	}
}

// refuse tells a member, once, that it is not started as a dependency is at rest
// and stays so. The member stays wanted: it comes back with the dependency.
func (s *groupStep) refuse(m, d *member) {
	why := string(d.state) + " " + d.Name
	if m.notice == why && m.refused {
		return
	}
	m.notice, m.refused, m.by = why, true, ByDependency
	if d.state == Failed {
		s.command(m, DependencyFailed{d.Name, m.acked})
		return
	}
	s.stop(m, ByGroup, fmt.Sprintf("needs %s, which is stopped", d.Name), false)
}

// settleDown stops every host all of whose dependents are at rest.
func (s *groupStep) settleDown() {
	rest := true
	for i := len(s.members) - 1; i >= 0; i-- {
		m := &s.members[i]
		if m.rests() {
			continue
		}
		rest = false
		// A start may be on its way to a host at rest: the stop behind it
		// makes sure that none is left running.
		if m.state != Stopping && (m.inFlight == 0 || m.granted) && s.dependentsRest(m) {
			m.granted = false
			s.stop(m, ByTree, "supervisor stops", false)
		}
	}
	if rest {
		s.do(AtRestAll{})
	}
}

// rests says whether a member is at rest and no command is on its way to it.
func (m *member) rests() bool { return m.state.AtRest() && !m.granted && m.inFlight == 0 }

func (s *groupStep) dependentsRest(m *member) bool {
	return !slices.ContainsFunc(m.neededBy, func(j int) bool { return !s.members[j].rests() })
}

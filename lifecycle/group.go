package lifecycle

import (
	"fmt"
	"slices"
)

// Member is one host of a group as the group's rules see it.
type Member struct {
	Name      string
	DependsOn []string // names of members
	Lazy      bool     // not started with the group
}

// Group is the machine of a group: start order and readiness gating by
// dependencies, shared fate by strategy, stop in reverse. Members are kept in
// topological order, ties by declaration; that order is what "rest" means.
//
// Unlike [Host] it is handed on, not copied: Step returns the next machine in
// the memory of the old one, which must not be used again. A group of a
// thousand hosts would copy a hundred megabytes to start them otherwise.
type Group struct {
	strategy Strategy
	members  []member
	index    map[string]int
	draining int // sharers on their way down; nothing starts meanwhile
	shutdown bool
}

type member struct {
	Member
	state    State
	by       By
	wanted   bool // to be running: started with the group, by a person, a call or a dependent
	asked    bool // a start was sent and the state has not changed since
	inFlight int  // commands sent and not yet answered
	depLost  bool // failed because a dependency did; comes back with it
	hopes    bool // failed, and wanted again: its dependencies are being tried
	drains   bool // a sharer on its way down
	held     bool // crashed, and waiting for the sharers

	needs    []int // members it depends on
	neededBy []int // members that depend on it
}

// OrderError tells that dependencies cannot be put in an order.
type OrderError struct {
	Host  string   // the host whose dependency is wrong
	Cycle []string // "a", "b", "a"; nil when the dependency does not exist
	Name  string   // the dependency that does not exist
}

// Error returns `host "a" depends on itself: a → b → a` or
// `host "a" depends on "x", which is not in its group`.
func (e *OrderError) Error() string {
	if e.Cycle == nil {
		return fmt.Sprintf("host %q depends on %q, which is not in its group", e.Host, e.Name)
	}
	text := e.Cycle[0]
	for _, n := range e.Cycle[1:] {
		text += " → " + n
	}
	return fmt.Sprintf("host %q depends on itself: %s", e.Host, text)
}

// Order sorts members topologically, ties by declaration. The error is an
// *OrderError.
func Order(in []Member) ([]Member, error) {
	index := make(map[string]int, len(in))
	for i, m := range in {
		index[m.Name] = i
	}
	const (
		unseen = iota
		open
		done
	)
	marks := make([]int, len(in))
	out := make([]Member, 0, len(in))
	var path []string
	var visit func(i int) error
	visit = func(i int) error {
		if marks[i] == done {
			return nil
		}
		path = append(path, in[i].Name)
		defer func() { path = path[:len(path)-1] }()
		if marks[i] == open {
			from := slices.Index(path, in[i].Name)
			return &OrderError{Host: in[i].Name, Cycle: slices.Clone(path[from:])}
		}
		marks[i] = open
		for _, d := range in[i].DependsOn {
			j, ok := index[d]
			if !ok {
				return &OrderError{Host: in[i].Name, Name: d}
			}
			if err := visit(j); err != nil {
				return err
			}
		}
		marks[i] = done
		out = append(out, in[i])
		return nil
	}
	for i := range in {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// NewGroup returns a group whose members are all stopped. The error is an
// *OrderError.
func NewGroup(strategy Strategy, in []Member) (Group, error) {
	ordered, err := Order(in)
	if err != nil {
		return Group{}, err
	}
	g := Group{strategy: strategy}
	for _, m := range ordered {
		g.members = append(g.members, member{Member: m, state: Stopped})
	}
	g.link()
	return g, nil
}

// link finds the members' places and who depends on whom.
func (g *Group) link() {
	g.index = make(map[string]int, len(g.members))
	for i := range g.members {
		m := &g.members[i]
		g.index[m.Name] = i
		m.needs, m.neededBy = nil, nil
		for _, d := range m.DependsOn {
			// Topological order: what it needs comes before it.
			j := g.index[d]
			m.needs = append(m.needs, j)
			g.members[j].neededBy = append(g.members[j].neededBy, i)
		}
	}
}

// Names returns the members in the group's order.
func (g Group) Names() []string {
	var out []string
	for _, m := range g.members {
		out = append(out, m.Name)
	}
	return out
}

// Strategy is the group's strategy.
func (g Group) Strategy() Strategy { return g.strategy }

// Shares says whether its members share fate.
func (g Group) Shares() bool { return g.strategy == OneForAll || g.strategy == RestForOne }

// Dependents returns the members that depend on the named one directly.
func (g Group) Dependents(name string) []string {
	var out []string
	for _, m := range g.members {
		if slices.Contains(m.DependsOn, name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// Step takes one event and returns the next machine and what to do.
func (g Group) Step(ev GroupEvent) (Group, []GroupEffect, error) {
	s := groupStep{Group: g}
	switch ev := ev.(type) {
	case Boot:
		for i := range s.members {
			if !s.members[i].Lazy {
				s.want(i, ByTree)
			}
		}
	case Shutdown:
		s.shutdown = true
	case Want:
		if i := s.find(ev.Name); i >= 0 {
			s.want(i, ev.By)
		}
	case Unwant:
		if i := s.find(ev.Name); i >= 0 {
			s.members[i].wanted, s.members[i].asked = false, false
		}
	case Changed:
		s.changed(ev)
	case Join:
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

// tell sends a command to a member.
func (s *groupStep) tell(m *member, e GroupEffect) {
	m.inFlight++
	s.do(e)
}

// find returns the place of a member, or -1.
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

func (s *groupStep) join(m Member) error {
	all := make([]Member, 0, len(s.members)+1)
	for _, old := range s.members {
		all = append(all, old.Member)
	}
	ordered, err := Order(append(all, m))
	if err != nil {
		return err
	}
	next := make([]member, 0, len(ordered))
	for _, o := range ordered {
		if i := s.find(o.Name); i >= 0 {
			next = append(next, s.members[i])
		} else {
			next = append(next, member{Member: o, state: Stopped})
		}
	}
	s.members = next
	s.link()
	return nil
}

// want marks a member and all it depends on as to be running.
func (s *groupStep) want(i int, by By) {
	m := &s.members[i]
	m.wanted = true
	switch m.state {
	case Starting, Running, Unresponsive:
		return // there already; its dependencies are its own affair now
	}
	m.by, m.asked, m.depLost, m.hopes = by, false, false, false
	if m.state == Failed || m.state == Restarting || m.state == Stopping {
		// The host itself knows what a start means there.
		if s.ready(m) && s.draining == 0 && !s.shutdown {
			m.asked = true
			s.tell(m, StartHost{m.Name, by})
		} else if m.state == Failed {
			m.depLost, m.hopes = true, true // as soon as its dependencies are there
		}
	}
	for _, j := range m.needs {
		if !s.members[j].state.Up() {
			s.want(j, depBy(by))
		}
	}
}

// depBy is who a dependency is started for: a person's or the tree's wish
// reaches what it needs, a call's need is told as such.
func depBy(by By) By {
	if by == ByTree {
		return by
	}
	return ByDependent
}

// ready says whether all that a member depends on is up.
func (s *groupStep) ready(m *member) bool {
	for _, j := range m.needs {
		if !s.members[j].state.Up() {
			return false
		}
	}
	return true
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
	m.state, m.asked, m.hopes = ev.To, false, false
	if ev.Lost {
		m.inFlight = 0
	}
	switch ev.To {
	case Stopped:
		s.drained(m)
		m.held = false
		if ev.By != ByGroup {
			m.wanted = false
		}
	case Starting, Running:
		m.wanted, m.depLost = true, false
		m.held = false
	case Stopping:
		m.held = false
	case Restarting:
		if s.Shares() {
			m.held = true
			s.drain(i, fmt.Sprintf("group: %s crashed", m.Name), true)
		}
	case Failed:
		s.drained(m)
		m.held = false
		m.wanted = false
		if ev.By == ByDependency {
			m.depLost = true // comes back with the dependency
			return
		}
		if s.Shares() {
			s.drain(i, fmt.Sprintf("group: %s failed", m.Name), false)
		}
		s.do(Escalate{m.Name})
	}
}

// drain stops the hosts that share the fate of member i. Those that are to
// come back stay wanted.
func (s *groupStep) drain(i int, reason string, back bool) {
	// From the last to the first: dependents go before what they depend on.
	for j := len(s.members) - 1; j >= 0; j-- {
		m := &s.members[j]
		if j == i || s.strategy == RestForOne && j < i {
			continue
		}
		wanted := m.wanted
		if !back {
			m.wanted = false
			m.held = false
		}
		switch m.state {
		case Starting, Running, Unresponsive, Restarting:
			if m.held {
				continue // crashed in the same storm; it waits like the other one
			}
			s.goesDown(m)
			s.tell(m, StopHost{m.Name, ByGroup, reason, back})
		case Stopped:
			if !back && wanted { // those who wait for it learn that it stays down
				s.tell(m, StopHost{m.Name, ByGroup, reason, false})
			}
		case Stopping:
			if back && m.wanted {
				s.goesDown(m)
			}
		}
	}
}

// settle does whatever has become possible.
func (s *groupStep) settle() {
	if s.shutdown {
		s.settleDown()
		return
	}
	if s.draining > 0 {
		return
	}
	for i := range s.members {
		m := &s.members[i]
		if m.held && s.ready(m) {
			m.held = false
			s.tell(m, ReleaseHost{m.Name})
		}
	}
	for i := range s.members {
		m := &s.members[i]
		switch {
		case m.state == Stopped && m.wanted:
			s.settleUp(m)
		case m.state == Failed && m.hopes && s.lost(m) != "":
			m.hopes = false
			s.tell(m, FailHost{m.Name, s.lost(m)})
		case m.state == Failed && m.depLost && !m.asked && s.ready(m):
			m.asked = true
			s.tell(m, StartHost{m.Name, ByDependent})
		}
	}
}

// settleUp starts a stopped host, or fails it when what it needs has failed.
func (s *groupStep) settleUp(m *member) {
	if m.asked {
		return
	}
	if d := s.lost(m); d != "" {
		m.asked = true
		s.tell(m, FailHost{m.Name, d})
		return
	}
	if s.ready(m) {
		m.asked = true
		s.tell(m, StartHost{m.Name, m.by})
	}
}

// lost names a dependency that has failed and is not being tried again, "" if
// there is none.
func (s *groupStep) lost(m *member) string {
	for _, j := range m.needs {
		if d := &s.members[j]; d.state == Failed && !d.asked && !d.hopes {
			return d.Name
		}
	}
	return ""
}

// settleDown stops every host all of whose dependents are at rest.
func (s *groupStep) settleDown() {
	rest := true
	for i := len(s.members) - 1; i >= 0; i-- {
		m := &s.members[i]
		if m.state.AtRest() && !m.asked && m.inFlight == 0 {
			continue
		}
		rest = false
		// A start may be on its way to a host at rest: the stop behind it
		// makes sure that none is left running.
		if m.state != Stopping && (m.inFlight == 0 || m.asked) && s.dependentsAtRest(m) {
			m.asked = false
			s.tell(m, StopHost{m.Name, ByTree, "supervisor stops", false})
		}
	}
	if rest {
		s.do(AtRestAll{})
	}
}

func (s *groupStep) dependentsAtRest(m *member) bool {
	for _, j := range m.neededBy {
		if !s.members[j].state.AtRest() {
			return false
		}
	}
	return true
}

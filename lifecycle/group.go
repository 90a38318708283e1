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
	Job       bool     // runs to its end: those that depend on it wait for its success
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
	state State
	by    By // whom it is to be started for

	// wanted is true from the wish that it runs until a person stops it, it ends
	// by itself or gives up, or its group gives up. It decides which hosts at
	// rest are started when that becomes possible.
	wanted   bool
	kept     bool // stopped by a person: only a person's start, also of a dependent, brings it back
	asks     bool // restarting, and ready for a start
	granted  bool // a start was sent, and the state has not changed since
	acked    int  // number of its last request
	inFlight int  // commands sent and not yet answered
	drains   bool // a sharer on its way down
	done     bool // a job: its last run has succeeded

	notice  string // why it is not started, as the host knows; "": it does not
	refused bool   // and that is not only a wait

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

// serves reports whether those that depend on a member can start.
func (m *member) serves() bool {
	if m.Job {
		return m.done && m.state == Stopped
	}
	return m.state.Up()
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

// Gated says whether a member of a group with this strategy asks the group before
// each restart: it depends on others, or shares their fate.
func Gated(strategy Strategy, m Member) bool {
	return strategy == OneForAll || strategy == RestForOne || len(m.DependsOn) > 0
}

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

package actors

import (
	"cmp"
	"math"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
)

// Arrange gives groups their strategies, and groups and hosts their order of declaration.
// It starts and stops no host. A group that does not exist is made unless it is
// one_for_one, which the first host of a group makes by itself. A group that is not listed
// and has no host ends. The answer is a *Done, after which orders see the new strategies.
//
// NOTE: Hosts of a group whose strategy changes must each get a [ReplaceHost]: whether
// their restarts ask the group is part of their rules.
type Arrange struct {
	ID     any
	Groups []Arrangement
}

// Arrangement is one group in an [Arrange].
type Arrangement struct {
	Name     string
	Strategy lifecycle.Strategy
	Hosts    []string
}

func (m *Arrange) id() any { return m.ID }

// carryOut is a method, and no case of [Supervisor.carryOut], so that programs that never
// arrange a tree do not link it.
func (m *Arrange) carryOut(s *Supervisor, ctx actor.Context, done func(error)) {
	if s.world.ending.Load() {
		done(ErrClosed)
		return
	}
	at := make(map[string]int, len(s.groups))
	for i, g := range s.groups {
		at[g.name] = i
	}
	groups, hosts := make(map[string]int, len(m.Groups)), make(map[string]int) // by rank, below that of what is not listed
	for _, a := range m.Groups {
		groups[a.Name] = math.MinInt + len(groups)
		for _, h := range a.Hosts {
			hosts[h] = math.MinInt + len(hosts)
		}
		i, exists := at[a.Name]
		switch {
		case !exists && a.Strategy != lifecycle.OneForOne:
			if err := s.addGroup(ctx, GroupSpec{Name: a.Name, Strategy: a.Strategy}, func() {}); err != nil {
				done(err)
				return
			}
		case exists && (len(a.Hosts) > 1 || s.groups[i].strategy != a.Strategy):
			s.groups[i].strategy = a.Strategy
			safeactor.Tell(ctx, s.groups[i].pid, &arrangeGroup{a})
		}
	}
	populated := make(map[string]bool, len(s.groups))
	for _, r := range s.world.Refs() {
		populated[r.group] = true
	}
	for _, g := range slices.Clone(s.groups) {
		if !populated[g.name] && (groups[g.name] == 0 || g.strategy == lifecycle.OneForOne) { // not listed, or made by its next host
			s.endEmpty(ctx, g.name)
		}
	}
	slices.SortStableFunc(s.groups, func(a, b groupEntry) int { return cmp.Compare(groups[a.name], groups[b.name]) })
	s.world.arrange(hosts)
	done(nil)
}

// arrangeGroup gives a group its strategy and its members their order.
type arrangeGroup struct{ Arrangement }

func (m *arrangeGroup) carryOut(g *Group) {
	g.machine = lifecycle.Arranged(g.machine, m.Strategy, m.Hosts)
}

// arrange gives hosts their order.
func (w *World) arrange(rank map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.order, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
}

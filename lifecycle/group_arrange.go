package lifecycle

import (
	"cmp"
	"slices"
)

// Arranged returns a group with another strategy, and with its members as if they had
// been declared in the order of names; members that names does not list come last. It
// starts and stops nothing. Whether members are [Gated] may be different afterwards. Like
// Step it takes the memory of g, which must not be used again. It is no method, so that
// programs that do not use it do not link it.
func Arranged(g Group, strategy Strategy, names []string) Group {
	rank := make(map[string]int, len(names))
	for i, n := range names {
		rank[n] = i - len(names)
	}
	declared := make([]Member, len(g.members))
	for i, m := range g.members {
		declared[i] = m.Member
	}
	slices.SortStableFunc(declared, func(a, b Member) int { return cmp.Compare(rank[a.Name], rank[b.Name]) })
	g.strategy = strategy
	ordered, err := Order(declared)
	if err != nil {
		return g // impossible: they had an order before
	}
	next := make([]member, len(ordered))
	for i, o := range ordered {
		next[i] = g.members[g.index[o.Name]]
	}
	g.members = next
	g.link()
	return g
}

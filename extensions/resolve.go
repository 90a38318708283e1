package extensions

import "slices"

// Resolve drops the extensions that no host would survive: those in a dependency
// loop, and those that need one of them. An extension is good if it needs only good
// ones; Resolve repeats this until nothing changes and drops the rest. Unknown
// dependencies count as good and are only reported (ErrMissing). The errors are
// *[Error], in the order of the list.
func Resolve(list []Extension) (kept []Extension, problems []error) {
	g := newGraph(list)
	good := g.peel()
	for i, e := range list {
		if !good[i] {
			problems = append(problems, &Error{e.ID, ErrLoop, g.loopOf(i, good)})
			continue
		}
		kept = append(kept, e)
		if missing := g.missing(i); len(missing) > 0 {
			problems = append(problems, &Error{e.ID, ErrMissing, missing})
		}
	}
	return kept, problems
}

// Groups orders a resolved list so that every extension comes after its
// dependencies: the first group needs nothing, the next only the first, and so on.
// Groups keep the order of the list. Extensions in a loop are left out.
func Groups(list []Extension) [][]Extension {
	g := newGraph(list)
	level := make([]int, len(list))
	var groups [][]Extension
	for _, i := range g.order() {
		for _, dep := range g.arcs[i] {
			level[i] = max(level[i], level[dep]+1)
		}
		for len(groups) <= level[i] {
			groups = append(groups, nil)
		}
	}
	for _, i := range slices.Sorted(slices.Values(g.order())) {
		groups[level[i]] = append(groups[level[i]], list[i])
	}
	return groups
}

// Families splits a list into sets connected by dependencies in either direction, in
// the order of their first members.
func Families(list []Extension) [][]Extension {
	g := newGraph(list)
	root := make([]int, len(list))
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for i, deps := range g.arcs {
		for _, dep := range deps {
			a, b := find(i), find(dep)
			root[max(a, b)] = min(a, b) // the first member represents the set
		}
	}
	var out [][]Extension
	at := map[int]int{}
	for i, e := range list {
		r := find(i)
		if _, ok := at[r]; !ok {
			at[r] = len(out)
			out = append(out, nil)
		}
		out[at[r]] = append(out[at[r]], e)
	}
	return out
}

// Dependents returns the extensions that need one of ids, directly or through
// others, in the order of the list, without ids themselves.
func Dependents(list []Extension, ids ...ID) []ID {
	g := newGraph(list)
	back := make([][]int, len(list))
	for i, deps := range g.arcs {
		for _, dep := range deps {
			back[dep] = append(back[dep], i)
		}
	}
	seen := make([]bool, len(list))
	var todo []int
	for _, id := range ids {
		if i, ok := g.index[id]; ok && !seen[i] {
			seen[i] = true
			todo = append(todo, i)
		}
	}
	given := len(todo)
	for at := 0; at < len(todo); at++ {
		for _, i := range back[todo[at]] {
			if !seen[i] {
				seen[i] = true
				todo = append(todo, i)
			}
		}
	}
	var out []ID
	for _, i := range slices.Sorted(slices.Values(todo[given:])) {
		out = append(out, list[i].ID)
	}
	return out
}

// graph is a list with its dependencies by position.
type graph struct {
	list  []Extension
	index map[ID]int
	arcs  [][]int // the known dependencies of each
}

func newGraph(list []Extension) graph {
	g := graph{list, make(map[ID]int, len(list)), make([][]int, len(list))}
	for i, e := range list {
		g.index[e.ID] = i
	}
	for i, e := range list {
		for _, dep := range e.Dependencies {
			if j, ok := g.index[dep]; ok {
				g.arcs[i] = append(g.arcs[i], j)
			}
		}
	}
	return g
}

func (g graph) missing(i int) []ID {
	var out []ID
	for _, dep := range g.list[i].Dependencies {
		if _, ok := g.index[dep]; !ok {
			out = append(out, dep)
		}
	}
	return out
}

// order returns the extensions outside of loops, dependencies first.
func (g graph) order() []int {
	open := make([]int, len(g.list)) // the number of dependencies that are not good yet
	back := make([][]int, len(g.list))
	var out []int
	for i, deps := range g.arcs {
		open[i] = len(deps)
		for _, dep := range deps {
			back[dep] = append(back[dep], i)
		}
		if len(deps) == 0 {
			out = append(out, i)
		}
	}
	for at := 0; at < len(out); at++ {
		for _, i := range back[out[at]] {
			if open[i]--; open[i] == 0 {
				out = append(out, i)
			}
		}
	}
	return out
}

func (g graph) peel() []bool {
	good := make([]bool, len(g.list))
	for _, i := range g.order() {
		good[i] = true
	}
	return good
}

// loopOf follows dependencies that are not good from i until one repeats. Every node
// that is not good has such a dependency.
func (g graph) loopOf(i int, good []bool) []ID {
	seen := map[int]bool{}
	var path []ID
	for {
		path = append(path, g.list[i].ID)
		if seen[i] {
			return path
		}
		seen[i] = true
		for _, dep := range g.arcs[i] {
			if !good[dep] {
				i = dep
				break
			}
		}
	}
}

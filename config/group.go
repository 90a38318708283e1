package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/budget"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// tree holds the group and host blocks of a file.
type tree struct {
	groups []*groupDecl
	hosts  map[string]*hostDecl // the first of each name
	names  map[string]taken
	count  int // of all hosts
}

type groupDecl struct {
	spec   supervisor.GroupSpec
	hosts  []*hostDecl
	budget budget.Rule
	places
}

// taken is a name in use; hosts and groups share one namespace.
type taken struct {
	kind string
	at   hcl.Range
}

var hostHeader = hcl.BlockHeaderSchema{Type: "host", LabelNames: []string{"name"}}

// tree reads the group and host blocks in their order.
func (r *reader) tree(blocks hcl.Blocks) *tree {
	t := &tree{hosts: map[string]*hostDecl{}, names: map[string]taken{}}
	for _, b := range blocks {
		r.enter(b)
		switch b.Type {
		case "group":
			r.group(t, b)
		case templateBlock:
			if r.room(t, b) {
				r.addTemplate(t, b)
			}
		case "host": // a group of its own name
			for which, b := range r.each(b) {
				if !r.room(t, b) {
					break
				}
				g := &groupDecl{spec: supervisor.GroupSpec{Name: b.Labels[0], Strategy: lifecycle.OneForOne}}
				if r.addHost(t, g, b, which) {
					t.groups = append(t.groups, g)
				}
			}
		}
	}
	for _, g := range t.groups {
		r.dependencies(t, g)
		r.forwarded(t, g)
		r.budgeted(g)
		r.numbered(t, g)
	}
	return t
}

func (r *reader) group(t *tree, b *hcl.Block) {
	r.checkName("group", b)
	g := &groupDecl{spec: supervisor.GroupSpec{Name: b.Labels[0], Strategy: lifecycle.OneForOne}}
	free := r.take(t, "group", b)
	g.places = r.section(b.Body, b.DefRange, groupSection(&g.spec, &g.budget), hostHeader)
	c, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{hostHeader}})
	for _, h := range c.Blocks {
		for which, h := range r.each(h) {
			if !r.room(t, h) {
				break
			}
			r.addHost(t, g, h, which)
		}
	}
	if len(g.hosts) == 0 {
		r.warn(b.DefRange, "group without hosts", "Group %q has no host block and does nothing.", b.Labels[0])
	}
	if free {
		t.groups = append(t.groups, g)
	}
}

// room counts a host, and reports the first one for which there is no room.
func (r *reader) room(t *tree, b *hcl.Block) bool {
	t.count++
	if t.count == MaxHosts+1 {
		r.fail(b.DefRange, "too many hosts", "A supervisor has at most %d hosts. Remove some, or start another supervisor for them.", MaxHosts)
	}
	return t.count <= MaxHosts
}

// addHost reads a host into g; it returns false if the name is taken.
func (r *reader) addHost(t *tree, g *groupDecl, b *hcl.Block, which replica) bool {
	r.checkName("host", b)
	free := r.take(t, "host", b) && r.takeInstances(t, b, which.of)
	d := r.host(b, g.spec.Name)
	d.key, d.spec.InstanceOf = which.key, which.of
	if which.of != "" && d.sharing.Instances != attach.Shared {
		r.fail(d.at["attach.instances"], "instances twice", "A host has a number of instances, or one for each program or folder. Remove one of the two.")
	}
	g.hosts = append(g.hosts, d)
	if free {
		t.hosts[d.spec.Name] = d
	}
	return free
}

// take reserves the name of a block, or reports its owner.
func (r *reader) take(t *tree, kind string, b *hcl.Block) bool {
	name := b.Labels[0]
	if by, ok := t.names[name]; ok {
		article := "a"
		if by.kind == execServerKind {
			article = "an"
		}
		detail := fmt.Sprintf("%s declares %s %s with this name.", upperFirst(line(by.at, b.LabelRanges[0])), article, by.kind)
		switch {
		case kind == by.kind && kind == execServerKind:
		case kind == by.kind:
			detail += fmt.Sprintf(" The names of %ss are unique in a file, also across groups.", kind)
			if kind == "group" {
				detail = detail[:strings.Index(detail, " The names")] + " Write its hosts into that one."
			}
		case kind == execServerKind || by.kind == execServerKind:
			detail += " Hosts, groups and exec servers share one space of names, so that a name says which of them is meant."
		default:
			detail += " Hosts and groups share one space of names, so that a name says which of them is meant."
		}
		r.fail(b.LabelRanges[0], fmt.Sprintf("name %q is taken", name), "%s", detail)
		return false
	}
	t.names[name] = taken{kind: kind, at: b.LabelRanges[0]}
	return true
}

// takeInstances reserves the name that is that of all instances of a block; "" is free.
func (r *reader) takeInstances(t *tree, b *hcl.Block, of string) bool {
	by, ok := t.names[of]
	switch {
	case of == "" || by.at == b.LabelRanges[0]:
		return true
	case !ok:
		t.names[of] = taken{kind: "host", at: b.LabelRanges[0]}
		return true
	}
	all := *b
	all.Labels = []string{of}
	return r.take(t, "host", &all)
}

// dependencies checks depends_on of all hosts of a group.
func (r *reader) dependencies(t *tree, g *groupDecl) {
	edges := map[string]map[string]given{}
	members := make([]lifecycle.Member, 0, len(g.hosts))
	names := make([]string, 0, len(g.hosts))
	for _, d := range g.hosts {
		names = append(names, d.spec.Name)
	}
	for _, d := range g.hosts {
		if t.hosts[d.spec.Name] != d {
			continue // its name is taken: no host can depend on it
		}
		m := lifecycle.Member{Name: d.spec.Name}
		edges[d.spec.Name] = map[string]given{}
		before := len(r.diags)
		for _, e := range d.deps {
			if r.dependency(t, d, e, names) {
				name := e.val.AsString()
				m.DependsOn = append(m.DependsOn, name)
				edges[d.spec.Name][name] = e
			}
		}
		r.mark(before, d.key)
		members = append(members, m)
	}
	r.cycles(members, edges)
}

// dependency checks one element of depends_on by itself; it returns false if the
// element is wrong.
func (r *reader) dependency(t *tree, d *hostDecl, e given, brothers []string) bool {
	name := e.val.AsString()
	other, ok := t.hosts[name]
	switch {
	case name == d.spec.Name:
		e.fail(e.rng, fmt.Sprintf("host %q depends on itself", name), "Remove it from depends_on.")
	case ok && other.group == d.group && other.kind == kindCron:
		e.fail(e.rng, fmt.Sprintf("host %q runs at the times of its schedule", name), "Hosts depend on hosts that run, or on jobs that are done. Remove it from depends_on, or make it a host with kind = %q.", kindJob)
	case ok && other.sharing.Instances != attach.Shared:
		e.fail(e.rng, fmt.Sprintf("host %q does not run itself", name), "Programs that attach get instances of it. Remove it from depends_on.")
	case ok && other.group == d.group:
		if other.spec.Start.Lazy && !d.spec.Start.Lazy {
			r.warn(e.rng, fmt.Sprintf("host %q will start with the supervisor", name),
				"It has eager = false, but %q is eager and needs it.", d.spec.Name)
		}
		return true
	case ok:
		where := fmt.Sprintf("in group %q", other.group)
		if other.group == name {
			where = "outside any group"
		}
		e.fail(e.rng, fmt.Sprintf("host %q is not in this group", name), "depends_on names hosts of the same group, and %q is %s.", name, where)
	case slices.Contains(brothers, name): // its name is taken: already reported
	case t.names[name].kind == "host":
		e.fail(e.rng, fmt.Sprintf("host %q has instances", name), "depends_on names hosts, one by one: %q.", name+"-1")
	case t.names[name].kind == "group":
		e.fail(e.rng, fmt.Sprintf("%q is a group", name), "depends_on names hosts, one by one.")
	default:
		detail := didYouMean(name, brothers)
		if detail == "" {
			detail = didYouMean(name, slices.Sorted(maps.Keys(t.hosts)))
		}
		e.fail(e.rng, fmt.Sprintf("no host %q is configured", name), "depends_on names hosts of the same group.%s", detail)
	}
	return false
}

// cycles reports circular dependencies, each once. After each it removes the edge
// that closes the circle and checks the rest again.
func (r *reader) cycles(members []lifecycle.Member, edges map[string]map[string]given) {
	for {
		_, err := lifecycle.Order(members)
		var oe *lifecycle.OrderError
		if !errors.As(err, &oe) || len(oe.Cycle) < 2 {
			return
		}
		from, to := oe.Cycle[len(oe.Cycle)-2], oe.Cycle[len(oe.Cycle)-1]
		r.fail(edges[from][to].rng, "hosts depend on each other", "No host of the circle can start first: %s.", strings.Join(oe.Cycle, " → "))
		for i := range members {
			if members[i].Name == from {
				members[i].DependsOn = slices.DeleteFunc(members[i].DependsOn, func(n string) bool { return n == to })
			}
		}
	}
}

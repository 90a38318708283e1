package supervisor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Plan says how a tree differs from a Spec, and so what [Apply] does.
type Plan struct {
	// Hosts has every host of the tree and of the Spec: those of the Spec in its order,
	// then those that are to be removed.
	Hosts []HostChange `json:"hosts"`
	// Groups has the groups whose strategy changes. No process ends for that.
	Groups []GroupChange `json:"groups"`
	// Settings are those of the supervisor that change at once, as a configuration names
	// them.
	Settings []string `json:"settings"`
	// NeedsStart are settings and parts that Apply leaves as they are: another supervisor
	// has to be started for them.
	NeedsStart []string `json:"needs_start"`
}

// HostChange says what becomes of one host.
type HostChange struct {
	Host   string `json:"host"`
	Group  string `json:"group"`
	From   string `json:"from,omitempty"` // ActionMove: the group that it leaves
	Action Action `json:"action"`
	// Fields are the settings that differ, as a configuration names them. Prepare,
	// Healthy and handlers that were set in Go are "prepare", "healthy" and "handlers".
	Fields []string `json:"fields,omitempty"`
}

// Action is what becomes of a host.
type Action string

// The actions.
const (
	ActionNone    Action = "none"    // it is equal and keeps its process
	ActionAdd     Action = "add"     // it is new, and starts unless it is lazy
	ActionRemove  Action = "remove"  // it is stopped and taken out
	ActionRestart Action = "restart" // its next life has the new configuration; the one that runs is stopped
	ActionUpdate  Action = "update"  // it keeps its process: only the supervisor has to know what changed, or its limits change while it runs
	ActionMove    Action = "move"    // it is removed from a group and added to another
)

// GroupChange is another strategy of a group.
type GroupChange struct {
	Group string             `json:"group"`
	From  lifecycle.Strategy `json:"from"`
	To    lifecycle.Strategy `json:"to"`
}

// Changes reports whether the plan has anything to do, by Apply or by a new start.
func (p Plan) Changes() bool {
	return len(p.Groups)+len(p.Settings)+len(p.NeedsStart) > 0 ||
		slices.ContainsFunc(p.Hosts, func(c HostChange) bool { return c.Action != ActionNone })
}

// Count returns how many hosts have one of the actions.
func (p Plan) Count(actions ...Action) int {
	n := 0
	for _, c := range p.Hosts {
		if slices.Contains(actions, c.Action) {
			n++
		}
	}
	return n
}

// Compare returns the plan that leads from one Spec to another. It looks at nothing but
// the two values, which need not have their defaults.
func Compare(from, to Spec) Plan {
	from, to = from.shared(), to.shared()
	p := Plan{Hosts: []HostChange{}, Groups: []GroupChange{}, Settings: []string{}, NeedsStart: []string{}}
	type present struct {
		group string
		spec  *HostSpec
	}
	old, left := map[string]present{}, map[string]bool{}
	strategies := map[string]lifecycle.Strategy{}
	for i, g := range from.Groups {
		strategies[g.Name] = g.Strategy
		for j := range g.Hosts {
			h := &from.Groups[i].Hosts[j]
			old[h.Name], left[h.Name] = present{g.Name, h}, true
		}
	}
	for i, g := range to.Groups {
		if was, ok := strategies[g.Name]; ok && was != g.Strategy {
			p.Groups = append(p.Groups, GroupChange{g.Name, was, g.Strategy})
		}
		for j := range g.Hosts {
			h := &to.Groups[i].Hosts[j]
			c := HostChange{Host: h.Name, Group: g.Name, Action: ActionAdd}
			if was, ok := old[h.Name]; ok {
				delete(left, h.Name)
				c.Fields = differences(*was.spec, *h)
				switch {
				case was.group != g.Name:
					c.Action, c.From = ActionMove, was.group
				case len(c.Fields) == 0:
					c.Action = ActionNone
				case was.spec.restarts(*h):
					c.Action = ActionRestart
				default:
					c.Action = ActionUpdate
				}
			}
			p.Hosts = append(p.Hosts, c)
		}
	}
	for _, g := range from.Groups {
		for _, h := range g.Hosts {
			if left[h.Name] {
				p.Hosts = append(p.Hosts, HostChange{Host: h.Name, Group: g.Name, Action: ActionRemove})
			}
		}
	}
	if from.OnFailed != to.OnFailed {
		p.Settings = append(p.Settings, "supervisor.on_failed")
	}
	p.NeedsStart = append(p.NeedsStart, from.needsStart(to)...)
	return p
}

// needsStart names what a running supervisor cannot change.
func (s Spec) needsStart(next Spec) []string {
	var out []string
	for _, x := range []struct {
		name string
		same bool
	}{
		{"supervisor.socket", s.Socket == next.Socket},
		{"supervisor.state_dir", s.StateDir == next.StateDir},
		{"supervisor.max_starting", s.MaxStarting == next.MaxStarting},
		{"supervisor.users", s.Users == next.Users},
		{"secrets", same(s.Secrets, next.Secrets)},
		{"secrets.cache", s.SecretCache == next.SecretCache},
	} {
		if !x.same {
			out = append(out, x.name)
		}
	}
	old, now := partsByName(s.Parts), partsByName(next.Parts)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if p, ok := now[name]; !ok || !samePart(old[name], p) {
			out = append(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := old[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}

// partsByName returns parts by `KIND "NAME"`, or by their kind alone.
func partsByName(parts []Part) map[string]Part {
	out := map[string]Part{}
	for _, p := range parts {
		kind, name := p.Identity()
		if name != "" {
			kind += ` "` + name + `"`
		}
		out[kind] = p
	}
	return out
}

// samePart compares parts by a method Same, if they have one.
func samePart(a, b Part) bool {
	if x, ok := a.(interface{ Same(Part) bool }); ok {
		return x.Same(b)
	}
	return same(a, b)
}

// shared is WithDefaults, with hosts as the tree runs them.
func (s Spec) shared() Spec {
	s = s.WithDefaults()
	for i, g := range s.Groups {
		for j := range g.Hosts {
			g.Hosts[j] = sharing(g.Hosts[j])
		}
		if len(g.Hosts) == 1 && g.Hosts[0].Name == g.Name {
			s.Groups[i].Strategy = lifecycle.OneForOne // there is nobody to share its fate
		}
	}
	return s
}

// Present returns the Spec of what a tree is now: the hosts that it has, also those that were added or
// replaced since it was started, but for those that were added for isolated extensions, and spares of instances.
func Present(ctx context.Context, s *Supervisor) (Spec, error) {
	groups := make(chan []record.GroupStatus, 1)
	err := s.ask(ctx, func(done func(error)) any {
		return actors.AskGroups(func(g []record.GroupStatus) {
			groups <- g
			done(nil)
		})
	})
	if err != nil {
		return Spec{}, err
	}
	s.mu.Lock()
	out := s.spec
	s.mu.Unlock()
	for _, p := range s.parts {
		out.Parts = append(out.Parts, p.spec)
	}
	of := map[string][]HostSpec{}
	for _, h := range s.Hosts() {
		if !s.isApart(h.Name()) && !IsSpare(h.Name()) {
			of[h.Group()] = append(of[h.Group()], h.Spec())
		}
	}
	for _, g := range <-groups {
		out.Groups = append(out.Groups, GroupSpec{Name: g.Name, Strategy: cmp.Or(g.Strategy, lifecycle.OneForOne), Hosts: of[g.Name]})
	}
	return out, nil
}

// PlanFor returns what [Apply] would do, and does nothing. Errors: those of next,
// ErrClosed, ctx's.
func PlanFor(ctx context.Context, s *Supervisor, next Spec) (Plan, error) {
	next = next.WithDefaults()
	if err := next.Validate(); err != nil {
		return Plan{}, err
	}
	now, err := Present(ctx, s)
	if err != nil {
		return Plan{}, err
	}
	return compare(s, now, next), nil
}

// compare is Compare for a tree, whose hosts may be given other limits while they run.
func compare(s *Supervisor, now, next Spec) Plan {
	p := Compare(now, next)
	specs := map[string]HostSpec{}
	for _, g := range next.Groups {
		for _, h := range g.Hosts {
			specs[h.Name] = h
		}
	}
	for i, c := range p.Hosts {
		if c.Action != ActionRestart || !slices.ContainsFunc(c.Fields, isLimit) {
			continue
		}
		if host, err := s.Host(c.Host); err == nil && host.relimits(host.Spec(), sharing(specs[c.Host])) {
			p.Hosts[i].Action = ActionUpdate
		}
	}
	return p
}

func isLimit(field string) bool { return strings.HasPrefix(field, "limits.") }

// Live reports whether the change is one of limits of the process that runs.
func (c HostChange) Live() bool {
	return c.Action == ActionUpdate && slices.ContainsFunc(c.Fields, isLimit)
}

package config

import (
	"github.com/hostsup/hostsup/budget"
	"github.com/hostsup/hostsup/intercept/recycle"
)

// Bounds of how many and of how large.
const (
	maxCalls  = 1 << 40
	maxMemory = 1 << 50
)

// recycleDecl holds the settings of a block recycle.
type recycleDecl struct {
	rule  recycle.Rule
	noAge bool // max_age is "never"
}

func newRecycleDecl() recycleDecl {
	return recycleDecl{rule: recycle.Rule{Jitter: 0.1, Drain: recycle.DefaultDrain}, noAge: true}
}

func recycleSection(d *recycleDecl) section {
	return section{
		name: "recycle", doc: "When its process is replaced by a new one though nothing is wrong: calls under way end first, new ones wait.",
		settings: []setting{
			named("max_age", "of a process", duration(&d.rule.MaxAge, &d.noAge)),
			named("jitter", "random share of max_age that is left out", fraction(&d.rule.Jitter, 0, 1)),
			speaking(named("max_requests", "calls that a process is sent", unlimited(whole(&d.rule.MaxRequests, 1, maxCalls), &d.rule.MaxRequests))),
			named("max_memory", "of its process tree, looked at every 10s; limits.memory kills it", unlimited(size(&d.rule.MaxMemory, 1<<20, maxMemory), &d.rule.MaxMemory)),
			named("drain", "for calls under way; what has not ended then ends with the process", duration(&d.rule.Drain, nil)),
		},
	}
}

// recycled adds what a block recycle says.
func (r *reader) recycled(d *hostDecl) {
	at, set := d.at["recycle"]
	if !set {
		return
	}
	rule := d.recycle.rule
	switch {
	case d.kind != kindService:
		r.fail(at, "recycle has no meaning here", "A host with kind = %q runs to its end. Remove it.", d.kind)
		return
	case rule.MaxAge == 0 && rule.MaxRequests == 0 && rule.MaxMemory == 0:
		if d.sound("recycle.max_age", "recycle.max_requests", "recycle.max_memory") {
			r.fail(at, "recycle without a bound", "Write max_age, max_requests or max_memory.")
		}
		return
	}
	d.spec.Features = append(d.spec.Features, rule)
}

// budgeted has the budget of a group hold for its hosts.
func (r *reader) budgeted(g *groupDecl) {
	if g.budget == (budget.Rule{}) {
		return
	}
	eager := 0
	for _, d := range g.hosts {
		d.spec.Features = append(d.spec.Features, g.budget)
		if !d.spec.Start.Lazy && d.template == nil {
			eager++
		}
	}
	if most := g.budget.Running; most > 0 && eager > most {
		r.fail(g.at["max_running"], "invalid value for max_running", "%d hosts of group %q start with the supervisor, and are not stopped to make room for others. Set max_running to at least %d, or start { eager = false } in some of them.", eager, g.spec.Name, eager)
	}
}

package config

import (
	"github.com/hostsup/hostsup/intercept/schedule"
	"github.com/hostsup/hostsup/lifecycle"
)

// The kinds of hosts.
const (
	kindService = "service" // kept alive
	kindJob     = "job"     // runs to its end
	kindCron    = "cron"    // runs to its end at the times of its schedule
)

// scheduleDecl holds the settings of a schedule.
type scheduleDecl struct{ schedule.Rule }

// cron completes a host that runs at the times of a schedule, and refuses its settings for
// others.
func (r *reader) cron(d *hostDecl) {
	if d.kind != kindCron {
		for _, name := range []string{"schedule", "timezone", "overlap"} {
			if at, set := d.at[name]; set && d.sound("kind") && !(name == "overlap" && d.schedule.Overlap == schedule.Skip) {
				r.fail(at, name+" has no meaning here", "Only a host with kind = %q has a schedule. Remove it, or set kind = %q.", kindCron, kindCron)
			}
		}
		return
	}
	h := &d.spec
	if _, set := d.at["schedule"]; !set && d.sound("schedule") {
		r.fail(d.at["kind"], "no schedule", "A host with kind = %q needs one: schedule = %q.", kindCron, "0 2 * * *")
	}
	if at, set := d.at["start.eager"]; set {
		r.fail(at, "eager has no meaning here", "A host with kind = %q starts at the times of its schedule. Remove it.", kindCron)
	}
	h.Start.Lazy = true
	h.Features = append(h.Features, d.schedule.Rule)
}

// kind completes a host that is to end by itself, and refuses what has no meaning for it.
func (r *reader) kind(d *hostDecl) {
	r.cron(d)
	if d.kind == kindService {
		return
	}
	h := &d.spec
	h.Job = true
	if _, set := d.at["protocol"]; !set {
		d.protocol = noProtocol
	}
	if at, set := d.at["restart.policy"]; set && h.Restart.Policy == lifecycle.Always {
		r.fail(at, "policy has no meaning here", "A host with kind = %q runs to its end. Use %q or %q.", d.kind, lifecycle.OnCrash, lifecycle.Never)
	}
	for _, name := range []string{"healthy", "attach", "extensions"} {
		if at, set := d.at[name]; set {
			r.fail(at, name+" has no meaning here", "A host with kind = %q runs to its end. Remove it.", d.kind)
		}
	}
}

package config

import "github.com/hostsup/hostsup/lifecycle"

// The kinds of hosts.
const (
	kindService = "service" // kept alive
	kindJob     = "job"     // runs to its end
)

// kind completes a host that is to end by itself, and refuses what has no meaning for it.
func (r *reader) kind(d *hostDecl) {
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

package denial

import (
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// field returns the policy field that allows a kind; "" if it depends.
func (k Kind) field() string {
	switch k {
	case Stat, Read:
		return "read"
	case Write:
		return "write"
	case Exec:
		return "exec"
	case Device:
		return "devices"
	}
	return ""
}

// pathDenial returns the denial of a path, which a grant of the path would avoid.
func pathDenial(kind Kind, path string) Denial { return Denial{Kind: kind, Path: path} }

// complete fills in the fields that follow from the others.
func (d *Denial) complete(now time.Time) {
	if d.Count == 0 {
		d.Count = 1
	}
	if d.First.IsZero() {
		d.First = now
	}
	if d.Last.IsZero() {
		d.Last = now
	}
	if d.Field == "" {
		d.Field = d.Kind.field()
	}
	if d.Suggest == "" {
		g := []string{d.granted()}
		var p policy.Policy
		switch d.Field {
		case "read":
			p.Read = g
		case "write":
			p.Write = g
		case "exec":
			p.Exec = g
		case "devices":
			p.Devices = g
		case "allow":
			p.Network, p.Allow = policy.NetworkAllow, g
		default:
			return
		}
		if valid(p) {
			d.Suggest = policy.Line(d.Field, g[0])
		} else {
			d.Field = "" // no policy may grant it
		}
	}
}

// granted returns the path or entry that a policy would have to contain.
func (d *Denial) granted() string {
	if d.Grant != "" {
		return d.Grant
	}
	return d.Path
}

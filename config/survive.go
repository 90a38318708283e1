package config

import (
	"errors"

	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/survive"
)

// survives has a host outlive its supervisor, if it can.
func (r *reader) survives(d *hostDecl) {
	if !d.survive {
		return
	}
	h := &d.spec
	if _, set := d.at["transport"]; !set && h.Protocol != nil && h.Transport == hostspec.TransportFD {
		h.Transport = hostspec.TransportStdio // what the supervisor has opened ends with it
	}
	setting, err := survive.Fit(&hostspec.Spec{Protocol: h.Protocol, Transport: h.Transport, Sandbox: h.Sandbox, Resources: h.Resources, Job: h.Job})
	switch {
	case err != nil:
	case h.Extensions != nil:
		setting, err = "extensions", errors.New("extensions end with the supervisor")
	case h.Attach:
		setting, err = "attach", errors.New("a host that programs share with attach is not in this version")
	}
	if err != nil {
		at, set := d.at[setting]
		if !set {
			at = d.at["survive"]
		}
		r.fail(at, "survive = true is not possible", "Host %q: %v. Change that, or remove survive.", h.Name, err)
		return
	}
	h.Features = append(h.Features, survive.Rule{})
}

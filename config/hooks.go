package config

import (
	"time"

	"github.com/hostsup/hostsup/intercept/hook"
)

// hooksDecl holds the commands around the lives of a host.
type hooksDecl struct {
	preStart, postStop []string
	timeout            time.Duration
}

// hooks completes the commands around the lives of a host.
func (r *reader) hooks(d *hostDecl) {
	if args := r.beside(d, d.hooks.preStart); len(args) > 0 {
		d.spec.Features = append(d.spec.Features, hook.PreStart{Command: args, Timeout: d.hooks.timeout})
	}
	if args := r.beside(d, d.hooks.postStop); len(args) > 0 {
		d.spec.Features = append(d.spec.Features, hook.PostStop{Command: args, Timeout: d.hooks.timeout})
	}
	_, pre := d.at["pre_start"]
	_, post := d.at["post_stop"]
	if at, set := d.at["hook_timeout"]; set && !pre && !post && d.hooks.timeout != hook.DefaultTimeout {
		r.fail(at, "hook_timeout has no meaning here", "The host has neither pre_start nor post_stop. Remove it.")
	}
}

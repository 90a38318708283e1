// Package budget bounds how many hosts of a group run at once, and the memory that they take
// together. When there are too many, the one stops that has not been used for the longest time
// and that a call starts again; the next call to it does.
package budget

import (
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Rule is the budget of a host's group. It is a feature of each host of the group, see
// supervisor.Live, and only counts in a tree with a [Part]. The rules of a group should be equal;
// else the one holds that was set last.
//
// Hosts that are Lazy stop to make room, while no call is under way and no program is attached.
// All others count and are never stopped, so that there should be fewer of them than Running.
type Rule struct {
	Running int   // processes of hosts of the group, those that start and end included; 0: any number
	Memory  int64 // bytes that the process trees of the group take together, looked at every 5 s; 0: any
}

// Setting implements supervisor.Feature.
func (Rule) Setting() string { return "budget" }

// Validate returns what is wrong with the rule.
func (r Rule) Validate(codec.Protocol) error {
	var errs []error
	if r.Running < 0 {
		errs = append(errs, fmt.Errorf("max_running: %d is negative", r.Running))
	}
	if r.Memory < 0 {
		errs = append(errs, fmt.Errorf("memory_budget: %d is negative", r.Memory))
	}
	return errors.Join(errs...)
}

// Interceptor implements supervisor.Feature.
func (r Rule) Interceptor(host *actors.Ref) *actors.Interceptor {
	m := memberOf(host)
	if m == nil {
		m = &member{host: host}
	}
	m.set(r)
	return m.interceptor()
}

// Change implements supervisor.Live.
func (r Rule) Change(host *actors.Ref) {
	if m := memberOf(host); m != nil {
		m.set(r)
	}
}

func memberOf(host *actors.Ref) *member {
	m, _ := host.Interceptor(name).(*member)
	return m
}

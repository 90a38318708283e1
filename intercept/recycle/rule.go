// Package recycle gives a host a new process when the present one is old, has answered many calls,
// or uses much memory: what leaks does not grow for ever. Calls under way end first, and new
// ones wait.
package recycle

import (
	"errors"
	"fmt"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// DefaultDrain is the Drain of a [Rule] that has none.
const DefaultDrain = 30 * time.Second

// Rule says how long a process of a host is kept. It is a feature of a host, see
// supervisor.Live. At least one of the bounds is set.
type Rule struct {
	MaxAge      time.Duration // of a process, from ready; 0: any
	Jitter      float64       // 0 to 1: the random share of MaxAge up to which is left out, so that hosts that started together do not end together
	MaxRequests int           // calls that a process is sent; 0: any number
	MaxMemory   int64         // bytes that its process tree may take, looked at every 10 s; 0: any
	Drain       time.Duration // for calls under way; what has not ended then ends with the process; default 30 s
}

// Setting implements supervisor.Feature.
func (Rule) Setting() string { return "recycle" }

// Validate returns what is wrong with the rule for a host that speaks p.
func (r Rule) Validate(p codec.Protocol) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.MaxAge < 0 {
		bad("max_age: %s is negative", r.MaxAge)
	}
	if r.MaxRequests < 0 {
		bad("max_requests: %d is negative", r.MaxRequests)
	}
	if r.MaxMemory < 0 {
		bad("max_memory: %d is negative", r.MaxMemory)
	}
	if r.Drain < 0 {
		bad("drain: %s is negative", r.Drain)
	}
	if r.Jitter < 0 || r.Jitter > 1 {
		bad("jitter: %g is not from 0 to 1", r.Jitter)
	}
	if r.MaxRequests > 0 && p == nil {
		bad("max_requests: the host speaks no protocol, so that it has no calls")
	}
	if r.MaxAge == 0 && r.MaxRequests == 0 && r.MaxMemory == 0 {
		bad("expected max_age, max_requests or max_memory")
	}
	return errors.Join(errs...)
}

// age returns how long a process is kept, for a random number from 0 to 1.
func (r Rule) age(random float64) time.Duration {
	return r.MaxAge - time.Duration(r.Jitter*random*float64(r.MaxAge))
}

// Interceptor implements supervisor.Feature.
func (r Rule) Interceptor(host *actors.Ref) *actors.Interceptor {
	k, ok := host.Interceptor(name).(*keeper)
	if !ok {
		k = newKeeper(host)
	}
	k.set(r)
	return k.interceptor()
}

// Change implements supervisor.Live.
func (r Rule) Change(host *actors.Ref) {
	if k, ok := host.Interceptor(name).(*keeper); ok {
		k.set(r)
	}
}

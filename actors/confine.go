package actors

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// maxDeniedEvents is how many different denials of one life become events; all
// of them are in the host's status.
const maxDeniedEvents = 16

// bounded reports whether the host's processes are confined or limited.
func (s *HostSpec) bounded() bool { return s.Sandbox != nil || s.Resources.Any() }

// observed reports whether a life of the host is to be watched.
func (s *HostSpec) observed() bool {
	switch {
	case s.Sandbox == nil, s.Observe == hostspec.ObserveNever:
		return false
	case s.Observe == hostspec.ObserveAlways:
		return true
	}
	records, _ := sandbox.Probe().Feature(sandbox.FeatureRecords)
	observing, _ := sandbox.Probe().Feature(sandbox.FeatureObserving)
	return observing.Have && !records.Have
}

// sandboxStatus is what is enforced on the life that was started last, and
// what it was denied.
func (r *Ref) sandboxStatus() record.SandboxStatus {
	out := record.SandboxStatus{Level: string(policy.None), Missing: []string{}}
	c := r.child.Load()
	if c == nil {
		if r.spec().bounded() {
			out.Missing = append(out.Missing, "it has not been started")
		}
		return out
	}
	in := c.Confinement()
	out.Level = string(in.Level)
	out.Missing = append(out.Missing, in.Missing...)
	for _, s := range in.Weaker {
		out.Weaker = append(out.Weaker, s.Limit)
	}
	out.Denials = c.Denials()
	return out
}

// confined tells what is enforced on a new life, and from then on what it is
// denied.
func (r *Ref) confined(log hclog.Logger, life uint64, c *sandbox.Child) {
	if !r.spec().bounded() {
		return
	}
	r.child.Store(c)
	in := c.Confinement()
	what := "confined"
	if r.spec().Sandbox == nil {
		what = "limited"
	}
	log.Info(what, "life", life, "level", string(in.Level), "missing", in.Missing)
	told := &denial.Once{Max: maxDeniedEvents}
	c.Denied(func(d denial.Denial) {
		if !told.First(d) {
			return
		}
		log.Warn("denied", "life", life, "what", d.String())
		Record(r, record.Event{Kind: record.KindDenied, Life: &life, Reason: d.String()})
	})
}

// limited says of an exit that a limit is the reason of it: "out of memory
// (limit 512 MiB, peak 512 MiB)"; "" when none is.
func limited(e *sandbox.Exit, l policy.Limits) string {
	status, reached := exitStatus(e), e.Reached(l)
	if reached == "" || e.OutOfMemory {
		return reached
	}
	if status == (lifecycle.ExitStatus{}) {
		return "" // it ended well, whatever it met on the way
	}
	return fmt.Sprintf("%s (%s)", status, reached)
}

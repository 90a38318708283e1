package actors

import (
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/lifecycle"
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
	case s.Sandbox == nil, s.Observe == ObserveNever:
		return false
	case s.Observe == ObserveAlways:
		return true
	}
	records, _ := sandbox.Probe().Feature(sandbox.FeatureRecords)
	observing, _ := sandbox.Probe().Feature(sandbox.FeatureObserving)
	return observing.Have && !records.Have
}

// sandboxStatus is what is enforced on the life that was started last, and
// what it was denied.
func (r *Ref) sandboxStatus() SandboxStatus {
	out := SandboxStatus{Level: string(policy.None), Missing: []string{}}
	c := r.child.Load()
	if c == nil {
		if r.spec.bounded() {
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
	if !r.spec.bounded() {
		return
	}
	r.child.Store(c)
	in := c.Confinement()
	what := "confined"
	if r.spec.Sandbox == nil {
		what = "limited"
	}
	log.Info(what, "life", life, "level", string(in.Level), "missing", in.Missing)
	told := &deniedOnce{seen: map[string]bool{}}
	name, group := r.spec.Name, r.group
	c.Denied(func(d denial.Denial) {
		if !told.first(d) {
			return
		}
		log.Warn("denied", "life", life, "what", d.String())
		r.world.Journal.Write(Event{Kind: KindDenied, Host: &name, Group: &group, Life: &life, Reason: d.String()})
	})
}

// deniedOnce picks what has not been told yet.
type deniedOnce struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (o *deniedOnce) first(d denial.Denial) bool {
	key := string(d.Kind) + " " + d.Path
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[key] || len(o.seen) >= maxDeniedEvents {
		return false
	}
	o.seen[key] = true
	return true
}

// limited says of an exit that a limit is the reason of it: "out of memory
// (limit 512 MiB, peak 512 MiB)"; "" when none is.
func limited(e *sandbox.Exit, l policy.Limits) string {
	status := lifecycle.ExitStatus{Code: e.Code, Signal: e.Signal}
	var bound string
	switch {
	case e.OutOfMemory:
		bound = "limit " + showBytes(l.Memory)
		if e.MemoryPeak > 0 {
			bound += ", peak " + showBytes(e.MemoryPeak)
		}
		return fmt.Sprintf("out of memory (%s)", bound)
	case status == lifecycle.ExitStatus{}:
		return "" // it ended well, whatever it met on the way
	case e.Limit == "memory":
		bound = showBytes(l.Memory)
	case e.Limit == "tasks":
		bound = fmt.Sprint(l.Tasks)
	case e.Limit == "files":
		bound = fmt.Sprint(l.Files)
	case e.Limit == "file_size":
		bound = showBytes(l.FileSize)
	case e.Limit != "":
		return fmt.Sprintf("%s (limit of %s reached)", status, e.Limit)
	default:
		return ""
	}
	return fmt.Sprintf("%s (limit of %s reached: %s)", status, e.Limit, bound)
}

// showBytes is a size for a person: "512 MiB", "1.5 GiB".
func showBytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return fmt.Sprintf("%.4g %s", v, units[i])
}

package sandbox

import "github.com/hostsup/hostsup/sandbox/denial"

// The features of a Machine by which denials are found.
const (
	FeatureRecords   = "records of denials" // the kernel's own
	FeatureObserving = "observing"          // Command.Observe
)

// Denied has f called for every denial of c from now on, with its count so
// far, and before that for each that there was already. f must not wait; it
// may be called by several goroutines at once, and twice for a denial that
// comes at the same time as the call. It is never called for a child of which
// no denials are recorded.
func (c *Child) Denied(f func(denial.Denial)) {
	if c.held == nil || c.held.denials == nil {
		return
	}
	c.held.denials.Follow(f)
	for _, d := range c.held.denials.List() {
		f(d)
	}
}

package sandbox

import "github.com/hostsup/hostsup/sandbox/denial"

// The features of a Machine that detect denials.
const (
	FeatureRecords   = "records of denials" // the kernel's audit records
	FeatureObserving = "observing"          // Command.Observe
)

// Denied calls f for each past denial of c, and then for every new one, with its count
// so far. f must not block. It may be called on several goroutines at once, and twice
// for a denial that occurs during the call of Denied. It is never called for a child
// without a record of denials.
func (c *Child) Denied(f func(denial.Denial)) {
	if c.held == nil || c.held.denials == nil {
		return
	}
	c.held.denials.Follow(f)
	for _, d := range c.held.denials.List() {
		f(d)
	}
}

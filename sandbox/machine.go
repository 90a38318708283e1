package sandbox

import (
	"slices"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Machine describes what a Launcher of this user can enforce on this kernel.
type Machine struct {
	Level    policy.Level `json:"level"` // the strongest that works here
	Features []Feature    `json:"features"`
}

// Feature is one component of confinement.
type Feature struct {
	Name   string         `json:"name"` // "user namespaces", "landlock", "memory limit", …
	Have   bool           `json:"have"`
	Detail string         `json:"detail"` // the version, or why it is missing; may be empty
	Advice string         `json:"advice"` // how to get a missing feature; may be empty
	For    []policy.Level `json:"for"`    // the levels that need it; nil if it is optional
}

// Feature returns the feature with a name.
func (m *Machine) Feature(name string) (Feature, bool) {
	i := slices.IndexFunc(m.Features, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		return Feature{}, false
	}
	return m.Features[i], true
}

// Probe tests what can be enforced on this machine by trying it, which takes some ten
// milliseconds the first time; later calls return the first result. The result is
// shared and must not be changed.
func Probe() *Machine { return machineHere() }

// RememberProbe makes [Probe] reuse the successful tests of earlier processes of this
// boot and store its own, in a folder that only the caller can write: hostsup in
// $XDG_RUNTIME_DIR, for root in /run. Without such a folder it has no effect. It must
// be called before the first Probe, and is for programs that start one command and
// end.
//
// Stored results never make confinement weaker. Failures are tested again each time;
// if a stored feature no longer works, the start fails with [StepConfine] or
// [StepTree], and the results are removed. The Machine is without [FeatureRecords],
// which no level needs, because the kernel takes long to answer.
func RememberProbe() { rememberProbe() }

// Machine returns the result of [Probe], with Level bounded by Options.Strongest.
func (l *Launcher) Machine() *Machine {
	m := machineHere()
	if l.strongest == "" || l.strongest.AtLeast(m.Level) {
		return m
	}
	return &Machine{Level: l.strongest, Features: m.Features}
}

// Confinement describes what is enforced on a child.
type Confinement struct {
	Level   policy.Level `json:"level"`
	Missing []string     `json:"missing"` // texts for people: what a stronger level, or the requested limits, would enforce in addition
	Weaker  []Shortfall  `json:"weaker"`  // the limits that no cgroup enforces; they are in Missing too
}

// Confinement returns what is enforced on c: level none if it was started without a
// Policy.
func (c *Child) Confinement() Confinement {
	if c.held == nil {
		return Confinement{Level: policy.None}
	}
	return c.held.confinement
}

// Denials returns a copy of the denials of c so far, from the sources that could be
// opened for it; see package denial.
func (c *Child) Denials() []denial.Denial {
	if c.held == nil || c.held.denials == nil {
		return nil
	}
	return c.held.denials.List()
}

// held is the state of a child that was started with a Policy or with Limits.
type held struct {
	confinement Confinement
	denials     *denial.Log // nil: denials are not recorded

	heldParts
}

// EnterDelegated prepares limits if systemd has delegated a cgroup to this process
// alone (a scope or a service with Delegate=yes): it moves the process to a child
// cgroup named supervisor, as DelegateSubgroup=supervisor does, because the children
// of a cgroup with processes cannot have limits. Otherwise it does nothing. Call it in
// main before the first [Probe] and [NewLauncher], which never move the process.
func EnterDelegated() error { return enterDelegated() }

// Range is a range of user and group ids. Every confined process of a Launcher run by
// root has one of them to itself while it lives.
type Range struct {
	First int // 0 is 2,000,000,000, which no distribution assigns
	Count int // 0 is 65,536
}

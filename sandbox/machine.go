package sandbox

import (
	"slices"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Machine is what this kernel, as this user, lets a Launcher enforce.
type Machine struct {
	Level    policy.Level `json:"level"` // the strongest that works here
	Features []Feature    `json:"features"`
}

// Feature is one thing that confinement is made of.
type Feature struct {
	Name   string         `json:"name"` // "user namespaces", "landlock", "memory limit", …
	Have   bool           `json:"have"`
	Detail string         `json:"detail"` // which version, or why not; may be empty
	Advice string         `json:"advice"` // what a person can do about a missing one; may be empty
	For    []policy.Level `json:"for"`    // the levels that need it; nil for one that only adds to them
}

// Feature is the one of that name.
func (m *Machine) Feature(name string) (Feature, bool) {
	i := slices.IndexFunc(m.Features, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		return Feature{}, false
	}
	return m.Features[i], true
}

// Probe finds out what can be enforced here by trying it, which takes some
// ten milliseconds the first time; later calls return what the first one found.
// The result is shared and must not be changed.
func Probe() *Machine { return machineHere() }

// RememberProbe has [Probe] take over what an earlier process of this boot tried
// with success, and keep what it tries itself, in a folder that only the caller
// can write: hostsup in $XDG_RUNTIME_DIR, for root in /run. Where there is none,
// nothing is remembered. It must be called before the first Probe, and is for
// programs that start one command and end.
//
// What is remembered never makes confinement weaker. Failures are tried again
// each time, and what worked once and does not work any more fails the start,
// which is then an error of [StepConfine] or [StepTree], and is forgotten. The
// Machine is without [FeatureRecords], which no level needs: the kernel takes long
// to answer.
func RememberProbe() { rememberProbe() }

// Machine is [Probe]'s, with no level stronger than Options.Strongest.
func (l *Launcher) Machine() *Machine {
	m := machineHere()
	if l.strongest == "" || l.strongest.AtLeast(m.Level) {
		return m
	}
	return &Machine{Level: l.strongest, Features: m.Features}
}

// Confinement says what is enforced on a child.
type Confinement struct {
	Level   policy.Level `json:"level"`
	Missing []string     `json:"missing"` // what a stronger level, or the limits asked for, would have on top, in words for a person
	Weaker  []Shortfall  `json:"weaker"`  // the limits that no cgroup holds; they are in Missing too
}

// Confinement is what is enforced on c: level none for one that was started
// without a Policy.
func (c *Child) Confinement() Confinement {
	if c.held == nil {
		return Confinement{Level: policy.None}
	}
	return c.held.confinement
}

// Denials lists what c was refused so far, as far as the sources that could be
// opened for it tell: see package denial. It is a copy.
func (c *Child) Denials() []denial.Denial {
	if c.held == nil || c.held.denials == nil {
		return nil
	}
	return c.held.denials.List()
}

// held is what is known of a child that was started with a Policy or with
// Limits.
type held struct {
	confinement Confinement
	denials     *denial.Log // nil: none are recorded

	heldParts
}

// EnterDelegated makes room for limits where systemd has delegated a cgroup to
// this process alone (a scope or a service with Delegate=yes): it moves the
// process to a cgroup named supervisor below, as DelegateSubgroup=supervisor
// does, because a cgroup that has processes cannot hand limits down. Anywhere
// else it does nothing. It is for a program's main function, before the first
// [Probe] and [NewLauncher], which never move the process themselves.
func EnterDelegated() error { return enterDelegated() }

// Range is a range of user and group ids, of which every confined process of a
// Launcher run by root gets one of its own for as long as it lives.
type Range struct {
	First int // 0 is 2,000,000,000, which no distribution gives to anybody
	Count int // 0 is 65,536
}

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

// Main may be called at the beginning of a program's main function by those
// who like to see that this package starts the program once more for its
// helpers. It does nothing: a helper never gets as far as main.
func Main() {}

// Range is a range of user and group ids, of which every confined process of a
// Launcher run by root gets one of its own for as long as it lives.
type Range struct {
	First int // 0 is 2,000,000,000, which no distribution gives to anybody
	Count int // 0 is 65,536
}

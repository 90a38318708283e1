//go:build !hostsup_posix

package sandbox

import (
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// machine is a Machine with what only this package asks.
type machine struct {
	Machine
	landlock int  // version
	mdwe     bool // memory can be kept from becoming executable
	memfd    bool // executable memory files can be switched off
}

var theMachine = sync.OnceValue(look)

func probe() *machine { return theMachine() }

func look() *machine {
	m := &machine{landlock: sys.LandlockVersion(), mdwe: true, memfd: true}
	m.Level = policy.Full
	return m
}

// lacks are the features that a level needs and this machine does not have.
func (m *machine) lacks(level policy.Level) []Feature { return nil }

// missing says in words what a level stronger than this one would have.
func (m *machine) missing(level policy.Level) []string { return nil }

func machineHere() *Machine { return &probe().Machine }

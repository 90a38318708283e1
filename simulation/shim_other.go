//go:build !linux || hostsup_posix

package simulation

import "github.com/hostsup/hostsup/supervisor"

// keeper is a simulated shim; without those of Linux no host survives.
type keeper struct{}

func (t *tenant) survive() (supervisor.Feature, supervisor.Part) { return nil, nil }

//go:build !linux || hostsup_posix

package sandbox

import (
	"runtime"

	"github.com/hostsup/hostsup/sandbox/policy"
)

func machineHere() *Machine {
	return &Machine{Level: policy.None, Features: []Feature{{
		Name: "confinement", Detail: "not available in this build (" + runtime.GOOS + ", portable)", Advice: "run it on Linux",
		For: []policy.Level{policy.Full, policy.NoCgroup, policy.Landlock},
	}}}
}

func rememberProbe() {} // nothing is tested in this build

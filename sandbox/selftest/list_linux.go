//go:build !hostsup_posix

package selftest

import "slices"

// attempts are all tries to get out, by class.
func attempts() []*attempt {
	return slices.Concat(
		fileReads(), fileWrites(), fileDenied(), handedOver(),
		ownCode(), devices(), groups(), others(), terminals(), leaks(),
	)
}

// work is what a confined process must be able to do, in the form of attempts
// that are to succeed.
func work() []*attempt { return nil }

func partSupervisor([]string) int { return 0 }

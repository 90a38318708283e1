package policy

import "runtime"

// SyscallName returns the name of the system call of Linux that has a number
// on this processor; false for a number that has none.
func SyscallName(number int) (string, bool) {
	for _, e := range syscallTable {
		n := int16(-1)
		switch runtime.GOARCH {
		case "amd64":
			n = e.amd64
		case "arm64":
			n = e.arm64
		}
		if n >= 0 && int(n) == number {
			return e.name, true
		}
	}
	return "", false
}

//go:build unix && !linux

package capture

// enlarge does nothing: the size of a pipe cannot be set here.
func enlarge(int) {}

// capacity returns more than a pipe holds.
func capacity(int) int { return 1 << 20 }

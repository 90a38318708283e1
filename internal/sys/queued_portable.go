//go:build unix && !linux

package sys

// Queued is not supported on this system.
func Queued(fd uintptr) (int, error) { return 0, ErrUnsupported }

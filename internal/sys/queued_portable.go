//go:build unix && !linux

package sys

// Queued is not known here.
func Queued(fd uintptr) (int, error) { return 0, ErrUnsupported }

//go:build !linux

package sys

// MountRoom returns 0: it is unknown on this system.
func MountRoom() (room int, mounted []string) { return 0, nil }

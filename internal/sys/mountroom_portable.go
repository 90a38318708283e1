//go:build !linux

package sys

// MountRoom is not known here.
func MountRoom() (room int, mounted []string) { return 0, nil }

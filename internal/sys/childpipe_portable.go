//go:build !linux || hostsup_posix

package sys

import "os"

// ChildPipe makes a pipe between us and a host: our end can be polled.
// childWrites says in which direction. Both ends are close-on-exec.
func ChildPipe(childWrites bool) (ours, childs *os.File, err error) {
	r, w, err := os.Pipe()
	if childWrites {
		return r, w, err
	}
	return w, r, err
}

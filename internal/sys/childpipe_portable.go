//go:build !linux || hostsup_posix

package sys

import "os"

// ChildPipe makes a pipe to a host: the end of this process can be polled. childWrites
// sets the direction. Both ends are close-on-exec.
func ChildPipe(childWrites bool) (ours, childs *os.File, err error) {
	r, w, err := os.Pipe()
	if childWrites {
		return r, w, err
	}
	return w, r, err
}

//go:build !unix

package sys

import "syscall"

// WaitReadable returns at once on this system: the following read waits.
func WaitReadable(syscall.Conn) error { return nil }

//go:build !unix

package sys

import "syscall"

// WaitReadable does not wait here: the read that follows does.
func WaitReadable(syscall.Conn) error { return nil }

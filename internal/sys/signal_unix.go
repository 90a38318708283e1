//go:build unix

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func nameOf(n int) string { return unix.SignalName(syscall.Signal(n)) }
func numberOf(s string) int {
	return int(unix.SignalNum(s))
}

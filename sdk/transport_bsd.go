//go:build unix && !linux

package sdk

import (
	"os"
	"syscall"
)

// dupOnto makes to a copy of from.
func dupOnto(from, to int) error {
	return os.NewSyscallError("dup2", syscall.Dup2(from, to))
}

package sdk

import (
	"os"
	"syscall"
)

// dupOnto makes to a copy of from. Some architectures lack dup2.
func dupOnto(from, to int) error {
	return os.NewSyscallError("dup3", syscall.Dup3(from, to, 0))
}

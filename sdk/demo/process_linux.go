package demo

import (
	"os"
	"syscall"
	"unsafe"
)

// resetAction undoes what Go's runtime does with sig, which for most signals is
// an exit with a trace and not a death by the signal.
func resetAction(sig syscall.Signal) error {
	if sig == syscall.SIGKILL || sig == syscall.SIGSTOP {
		return nil
	}
	// The kernel's struct sigaction; all zero is the default action.
	var action struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	if errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}

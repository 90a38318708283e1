package capture

import "syscall"

// fcntl commands of Linux that package syscall has no name for.
const (
	setPipeSize = 1031
	getPipeSize = 1032
)

// busyPipe is the size of a pipe whose writer is faster than its reader. By default
// an unprivileged user may have that much.
const busyPipe = 1 << 20

// enlarge gives a busy pipe more room, so that its writer waits less. The kernel may
// refuse.
func enlarge(fd int) {
	if capacity(fd) < busyPipe {
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), setPipeSize, busyPipe)
	}
}

// capacity returns how many bytes a pipe can hold, or a guess for a file that is not
// a pipe.
func capacity(fd int) int {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), getPipeSize, 0)
	if errno != 0 {
		return busyPipe
	}
	return int(n)
}

//go:build linux && !amd64

package sys

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:norace
//go:nosplit
//go:nocheckptr
func (s *nursing) fork(sp *spawning) (uintptr, syscall.Errno) {
	var pid uintptr
	var errno syscall.Errno
	if sp.args.cgroup == 0 { // an older call, which more filters permit
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(sp.args.flags|sp.args.exitSignal), 0, uintptr(unsafe.Pointer(&sp.pidfd)), 0, 0, 0)
	} else {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&sp.args)), unsafe.Sizeof(sp.args), 0, 0, 0, 0)
	}
	if errno == 0 && pid == 0 {
		s.live()
	}
	return pid, errno
}

// copying must be held while a process is made a copy of this one, and while a
// descriptor is open that another copy must not have.
var copying sync.Mutex

// withoutHeap does nothing on this processor: the process runs on a stack that is in
// the heap, or keeps all memory.
func withoutHeap() func() {
	copying.Lock()
	return copying.Unlock
}

//go:build linux && !amd64 && !arm64

package sys

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HaveSpawn reports whether Spawn works on this processor.
const HaveSpawn = false

// Spawn is not supported on this processor.
func (s *Script) Spawn(int) (pid, pidfd int, err error) { return 0, -1, ErrUnsupported }

// runEnded runs a script that ends with Exit in a copy of this process, in the given
// new namespaces. It calls use after the process has ended and before it is reaped.
func (s *Script) runEnded(namespaces uint64, use func(pid int) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f, err := s.Fork(uintptr(namespaces), 0)
	if err != nil {
		return err
	}
	defer f.Kill() // which reaps it
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Waitid(unix.P_PIDFD, f.Pidfd, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		return err
	}
	return use(f.Pid)
}

// spawn makes the command's process a copy of this one, and waits until its execve
// has succeeded.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *nursing) spawn() (pid, errno uintptr) {
	const least = 512 // above the descriptors of a command
	var p [2]int32
	if _, _, e := syscall.RawSyscall6(unix.SYS_PIPE2, uintptr(unsafe.Pointer(&p)), unix.O_CLOEXEC, 0, 0, 0, 0); e != 0 {
		return 0, uintptr(e)
	}
	w, _, e := syscall.RawSyscall6(unix.SYS_FCNTL, uintptr(p[1]), unix.F_DUPFD_CLOEXEC, least, 0, 0, 0)
	if e != 0 {
		return 0, uintptr(e)
	}
	sp := &s.birth
	flags := uintptr(sp.args.flags|sp.args.exitSignal) &^ (unix.CLONE_VM | unix.CLONE_VFORK)
	pid, _, e = syscall.RawSyscall6(unix.SYS_CLONE, flags, 0, uintptr(unsafe.Pointer(&sp.pidfd)), 0, 0, 0)
	if e != 0 {
		return 0, uintptr(e)
	}
	var fail [2]int32
	if pid == 0 {
		step, e := runCalls(s.inner.first, s.inner.n)
		fail[0], fail[1] = step, int32(e)
		_, _, _ = syscall.RawSyscall6(unix.SYS_WRITE, w, uintptr(unsafe.Pointer(&fail)), 8, 0, 0, 0)
		for {
			_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 127, 0, 0, 0, 0, 0)
		}
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(p[1]), 0, 0, 0, 0, 0)
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOSE, w, 0, 0, 0, 0, 0)
	n, _, _ := syscall.RawSyscall6(unix.SYS_READ, uintptr(p[0]), uintptr(unsafe.Pointer(&fail)), 8, 0, 0, 0)
	sp.failed, sp.step, sp.errno = n == 8, fail[0], syscall.Errno(fail[1])
	return pid, 0
}

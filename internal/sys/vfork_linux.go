//go:build amd64 || arm64

package sys

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HaveSpawn reports whether Spawn works on this processor.
const HaveSpawn = true

// vfork makes a system call that returns twice: first in a child that shares all
// memory including the stack, and after the child has continued elsewhere in the
// parent.
//
//go:noescape
func vfork(nr, a1, a2, a3 uintptr) (pid, errno uintptr)

// Spawn runs the script in a new process, born in the v2 cgroup whose folder is open
// at cgroup (0: its own), and returns after its execve has succeeded. It copies
// nothing of this process, which makes it fast; so nothing in the script may change
// memory or its attributes: no NoWrittenCode. If a step failed, the error is a
// *ScriptError and the process is reaped.
func (s *Script) Spawn(cgroup int) (pid, pidfd int, err error) {
	return s.vfork(newSpawning(unix.CLONE_VM|unix.CLONE_VFORK, cgroup))
}

// runEnded runs a script that ends with Exit in a new process, in the given new
// namespaces, as Spawn does. It calls use after the process has ended and before it
// is reaped. The new process waits for nothing, so it ends even if this one is
// killed meanwhile.
func (s *Script) runEnded(namespaces uint64, use func(pid int) error) error {
	sp := newSpawning(unix.CLONE_VM|unix.CLONE_VFORK|namespaces, 0)
	sp.args.exitSignal = 0 // no signal at its end, and a wait for any child does not reap it
	pid, pidfd, err := s.vfork(sp)
	if err != nil {
		return err
	}
	unix.Close(pidfd)
	defer reapAny(pid)
	return use(pid)
}

func (s *Script) vfork(sp *spawning) (pid, pidfd int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old uint64
	if err := blockSignals(&old); err != nil {
		return 0, -1, err
	}
	borrowed.begin()
	n, errno := s.spawn(sp)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	runtime.KeepAlive(s)
	borrowed.end()
	if errno != 0 {
		return 0, -1, syscall.Errno(errno)
	}
	if sp.failed {
		reapAny(int(n))
		unix.Close(int(sp.pidfd))
		return 0, -1, s.err(sp.step, sp.errno)
	}
	return int(n), int(sp.pidfd), nil
}

// borrowed counts the children that share this process's memory. A change of user in
// one of them closes that memory to others, as it should meanwhile; after the last
// child the attribute is restored.
var borrowed loan

type loan struct {
	mu       sync.Mutex
	children int
	dumpable bool
}

func (l *loan) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.children == 0 {
		l.dumpable = isDumpable()
	}
	l.children++
}

func (l *loan) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.children--
	if l.children == 0 && l.dumpable && !isDumpable() {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}
}

func isDumpable() bool {
	v, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err == nil && v == 1
}

// spawn returns at once in the parent, because the child has used its frame.
//
//go:norace
//go:nosplit
//go:noinline
func (s *Script) spawn(sp *spawning) (pid, errno uintptr) {
	if sp.args.cgroup == 0 { // an older call, which more filters permit
		pid, errno = vfork(unix.SYS_CLONE, uintptr(sp.args.flags|sp.args.exitSignal), 0, uintptr(unsafe.Pointer(&sp.pidfd)))
	} else {
		pid, errno = vfork(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&sp.args)), unsafe.Sizeof(sp.args), 0)
	}
	if errno != 0 || pid != 0 {
		return
	}
	sp.step, sp.errno = s.run()
	sp.failed = true
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 127, 0, 0, 0, 0, 0)
	}
}

// spawn returns at once in the parent, because the child has used its frame.
//
//go:norace
//go:nosplit
//go:noinline
func (s *nursing) spawn() (pid, errno uintptr) {
	sp := &s.birth
	pid, errno = vfork(unix.SYS_CLONE, uintptr(sp.args.flags|sp.args.exitSignal), 0, uintptr(unsafe.Pointer(&sp.pidfd)))
	if errno != 0 || pid != 0 {
		return
	}
	sp.step, sp.errno = runCalls(s.inner.first, s.inner.n)
	sp.failed = true
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 127, 0, 0, 0, 0, 0)
	}
}

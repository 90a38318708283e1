package sys

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Namespaces for Fork and Unshare.
const (
	NewUser   = unix.CLONE_NEWUSER
	NewMount  = unix.CLONE_NEWNS
	NewNet    = unix.CLONE_NEWNET
	NewIPC    = unix.CLONE_NEWIPC
	NewUTS    = unix.CLONE_NEWUTS
	NewCgroup = unix.CLONE_NEWCGROUP
	NewPID    = unix.CLONE_NEWPID
)

// Forked is a process that runs a Script.
type Forked struct {
	Pid   int
	Pidfd int // close-on-exec; the caller must close it

	script *Script
	errs   int
}

// Fork makes a copy of this process, in the given new namespaces and in the v2
// cgroup whose folder is open at cgroup (0: its own), that runs the script on a copy
// of the calling thread. The caller must be locked to its thread, and must Await or
// Kill the process.
func (s *Script) Fork(namespaces uintptr, cgroup int) (*Forked, error) {
	if len(s.calls) == 0 {
		return nil, unix.EINVAL
	}
	copying.Lock() // also so that only this copy gets the pipe
	defer copying.Unlock()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	// Above all descriptors that the script makes.
	errw, err := HighFD(p[1], s.above)
	unix.Close(p[1])
	if err != nil {
		unix.Close(p[0])
		return nil, err
	}
	var old uint64
	if err := blockSignals(&old); err != nil {
		unix.Close(p[0])
		unix.Close(errw)
		return nil, err
	}
	sp := newSpawning(uint64(namespaces), cgroup)
	pid, errno := s.fork(sp, uintptr(errw))
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	runtime.KeepAlive(s)
	unix.Close(errw)
	if errno != 0 {
		unix.Close(p[0])
		return nil, errno
	}
	return &Forked{Pid: int(pid), Pidfd: int(sp.pidfd), script: s, errs: p[0]}, nil
}

// Await returns nil once the script's execve has succeeded. If Await returns an
// error, the process is reaped.
func (f *Forked) Await() error {
	var b [8]byte
	n := 0
	for n < len(b) {
		// The Go runtime must know of this call: the process may wait for a goroutine of
		// this program, which would wait for the runtime.
		m, err := unix.Read(f.errs, b[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 {
			break
		}
		n += m
	}
	unix.Close(f.errs)
	if n < len(b) {
		return nil // closed by execve, or by an end that the parent will see
	}
	Reap(f.Pid)
	unix.Close(f.Pidfd)
	return f.script.err(int32(binary.NativeEndian.Uint32(b[:])), syscall.Errno(binary.NativeEndian.Uint32(b[4:])))
}

// Kill ends a process instead of Await.
func (f *Forked) Kill() {
	_ = unix.Kill(f.Pid, unix.SIGKILL)
	Reap(f.Pid)
	unix.Close(f.Pidfd)
	unix.Close(f.errs)
}

// spawning is a process that is being made.
type spawning struct {
	args  cloneArgs
	pidfd int32

	// The results of a child that shares this process's memory.
	failed bool
	step   int32
	errno  syscall.Errno
}

// cloneArgs is the kernel's struct clone_args.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal  uint64
	stack, stackSize, tls, setTID, setTIDs, cgroup uint64
}

func newSpawning(flags uint64, cgroup int) *spawning {
	sp := &spawning{pidfd: -1}
	sp.args = cloneArgs{
		flags: flags | unix.CLONE_PIDFD,
		pidfd: uint64(uintptr(unsafe.Pointer(&sp.pidfd))), exitSignal: uint64(unix.SIGCHLD),
	}
	if cgroup > 0 {
		sp.args.flags |= unix.CLONE_INTO_CGROUP
		sp.args.cgroup = uint64(cgroup)
	}
	return sp
}

// reapAny is Reap for children with any exit signal.
func reapAny(pid int) {
	for err := error(unix.EINTR); err == unix.EINTR; {
		_, err = unix.Wait4(pid, nil, unix.WALL, nil)
	}
}

// HighFD copies a descriptor to a number of at least least. The copy is close-on-exec.
func HighFD(fd, least int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, least)
}

func blockSignals(old *uint64) error {
	all := ^uint64(0)
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return fmt.Errorf("rt_sigprocmask: %w", errno)
	}
	return nil
}

// fork and run are all that the copy executes: no allocation, no growing of the stack,
// nothing of the Go runtime.
//
//go:norace
//go:nosplit
func (s *Script) fork(sp *spawning, errs uintptr) (uintptr, syscall.Errno) {
	var pid uintptr
	var errno syscall.Errno
	if sp.args.cgroup == 0 { // an older call, which more filters permit
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(sp.args.flags|sp.args.exitSignal), 0, uintptr(unsafe.Pointer(&sp.pidfd)), 0, 0, 0)
	} else {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&sp.args)), unsafe.Sizeof(sp.args), 0, 0, 0, 0)
	}
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	var fail [2]uint32
	step, errno := s.run()
	fail[0], fail[1] = uint32(step), uint32(errno)
	_, _, _ = syscall.RawSyscall6(unix.SYS_WRITE, errs, uintptr(unsafe.Pointer(&fail)), 8, 0, 0, 0)
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 127, 0, 0, 0, 0, 0)
	}
}

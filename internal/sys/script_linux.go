package sys

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Script is a list of raw system calls that are made one after the other on
// one thread, in a forked copy of this process or in this process itself. It
// is for the few steps before execve that hold for a thread or that the Go
// runtime would not survive. The zero value is empty.
type Script struct {
	calls []call
	steps []string
	keep  []any
	above int // the descriptors below are the program's
}

type call struct {
	nr     uintptr
	args   [6]uintptr
	step   int32
	least  uintptr // a smaller result is an error
	ignore bool    // an error is none
	out    *int32  // where the result goes
}

// ScriptError says which step of a Script failed.
type ScriptError struct {
	Step string
	Err  syscall.Errno
}

// Error reads "landlock: operation not permitted".
func (e *ScriptError) Error() string { return e.Step + ": " + e.Err.Error() }

// Unwrap is the errno.
func (e *ScriptError) Unwrap() error { return e.Err }

// Step names what the calls that follow are for, in errors.
func (s *Script) Step(name string) { s.steps = append(s.steps, name) }

func (s *Script) add(nr uintptr, args ...uintptr) *call {
	c := call{nr: nr, step: int32(len(s.steps)) - 1}
	copy(c.args[:], args)
	s.calls = append(s.calls, c)
	return &s.calls[len(s.calls)-1]
}

// hold keeps what p points to alive, and in its place, as long as s lives.
func hold[T any](s *Script, p *T) uintptr {
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(p))
}

func (s *Script) bytes(b []byte) uintptr {
	if len(b) == 0 {
		return 0
	}
	s.keep = append(s.keep, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

func (s *Script) str(v string) (uintptr, error) {
	b, err := unix.ByteSliceFromString(v)
	if err != nil {
		return 0, err
	}
	return s.bytes(b), nil
}

func (s *Script) strs(list []string) (uintptr, error) {
	ptrs := make([]uintptr, len(list)+1)
	for i, v := range list {
		p, err := s.str(v)
		if err != nil {
			return 0, err
		}
		ptrs[i] = p
	}
	s.keep = append(s.keep, ptrs)
	return uintptr(unsafe.Pointer(&ptrs[0])), nil
}

// AwaitByte waits for a byte from the descriptor fd.
func (s *Script) AwaitByte(fd int) {
	s.add(unix.SYS_READ, uintptr(fd), hold(s, new(byte)), 1).least = 1
}

// Write writes text to the open file fd.
func (s *Script) Write(fd int, text string) {
	b := []byte(text)
	s.add(unix.SYS_WRITE, uintptr(fd), s.bytes(b), uintptr(len(b)))
}

// JoinUser enters an open user namespace.
func (s *Script) JoinUser(ns int) { s.add(unix.SYS_SETNS, uintptr(ns), unix.CLONE_NEWUSER) }

// Session makes the process the leader of a session.
func (s *Script) Session() { s.add(unix.SYS_SETSID) }

// ParentDeath has the process killed when the thread that started it ends.
func (s *Script) ParentDeath() {
	s.add(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL))
}

// Descriptors makes fds the descriptors 0, 1, 2 … and has all others closed by
// execve. Until then those in others keep their numbers.
func (s *Script) Descriptors(fds []int, others ...int) {
	free := len(fds)
	for _, fd := range append(others, fds...) {
		free = max(free, fd+1)
	}
	s.above = free + len(fds)
	for i, fd := range fds { // out of each other's way
		s.add(unix.SYS_DUP3, uintptr(fd), uintptr(free+i), unix.O_CLOEXEC)
	}
	for i := range fds {
		s.add(unix.SYS_DUP3, uintptr(free+i), uintptr(i), 0)
	}
	s.add(unix.SYS_CLOSE_RANGE, uintptr(len(fds)), uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
}

// Chdir changes the working folder.
func (s *Script) Chdir(dir string) error {
	p, err := s.str(dir)
	s.add(unix.SYS_CHDIR, p)
	return err
}

// Umask sets the mask of new files.
func (s *Script) Umask(mask int) { s.add(unix.SYS_UMASK, uintptr(mask)) }

// Groups makes the list of supplementary groups empty.
func (s *Script) Groups() { s.add(unix.SYS_SETGROUPS, 0, 0) }

// IDs changes user and group.
func (s *Script) IDs(uid, gid int) {
	s.add(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
	s.add(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
}

// NoBounding empties the set of capabilities that programs could bring, as far
// as that is allowed.
func (s *Script) NoBounding() {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		s.add(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c).ignore = true
	}
}

// NoBounding is Script.NoBounding for the calling thread, which is to be locked
// and to end locked: nothing gives the set back.
func NoBounding() {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
	}
}

// NoCapabilities gives up all of them.
func (s *Script) NoCapabilities() {
	s.add(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	h := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	s.add(unix.SYS_CAPSET, hold(s, h), hold(s, new([2]unix.CapUserData)))
}

// NoNewPrivileges keeps every later execve from giving rights.
func (s *Script) NoNewPrivileges() { s.add(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1) }

// NoWrittenCode has memory that is or was writable never be executable.
func (s *Script) NoWrittenCode() {
	s.add(unix.SYS_PRCTL, unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN)
}

// Landlock puts the thread under an open ruleset.
func (s *Script) Landlock(ruleset int, flags uint32) {
	s.add(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), uintptr(flags))
}

// Filter installs a system call filter.
func (s *Script) Filter(f Filter) {
	if len(f) == 0 {
		return
	}
	s.add(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, s.program(f))
}

// Observe installs a filter that tells of calls, and sends the descriptor on
// which it tells to the other end of the socket sock, with text.
func (s *Script) Observe(f Filter, sock int, text []byte) {
	const fdSize = 4
	oob := make([]byte, unix.CmsgSpace(fdSize))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&oob[0]))
	h.Level, h.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	h.SetLen(unix.CmsgLen(fdSize))
	iov := &unix.Iovec{Base: &text[0]}
	iov.SetLen(len(text))
	msg := &unix.Msghdr{Iov: iov, Control: &oob[0]}
	msg.SetIovlen(1)
	msg.SetControllen(len(oob))
	s.keep = append(s.keep, oob, iov, text)

	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	s.add(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, s.program(f)).out = (*int32)(unsafe.Pointer(&oob[unix.CmsgLen(0)]))
	s.add(unix.SYS_SENDMSG, uintptr(sock), hold(s, msg), unix.MSG_NOSIGNAL)
}

func (s *Script) program(f Filter) uintptr {
	s.keep = append(s.keep, f)
	return hold(s, &unix.SockFprog{Len: uint16(len(f)), Filter: (*unix.SockFilter)(unsafe.Pointer(&f[0]))})
}

// Limit lowers a limit of the process, hard and soft.
func (s *Script) Limit(resource int, value uint64) {
	s.add(unix.SYS_PRLIMIT64, 0, uintptr(resource), hold(s, &unix.Rlimit{Cur: value, Max: value}), 0)
}

// Exec runs a program. It is the last step.
func (s *Script) Exec(path string, args, env []string) error {
	p, err := s.str(path)
	if err != nil {
		return err
	}
	argv, err := s.strs(args)
	if err != nil {
		return err
	}
	envv, err := s.strs(env)
	if err != nil {
		return err
	}
	s.unmask()
	s.add(unix.SYS_EXECVE, p, argv, envv)
	return nil
}

// Exit ends the process; for a script that makes nothing but a process.
func (s *Script) Exit() { s.add(unix.SYS_EXIT_GROUP, 0) }

// unmask gives all signals their default action and lets them through. They
// are blocked until here, so that none finds a handler of the Go runtime's.
func (s *Script) unmask() {
	s.Step("signals")
	action := hold(s, new([8]uint64))
	for sig := uintptr(1); sig <= 64; sig++ {
		if sig != uintptr(unix.SIGKILL) && sig != uintptr(unix.SIGSTOP) {
			s.add(unix.SYS_RT_SIGACTION, sig, action, 0, 8).ignore = true
		}
	}
	s.add(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, hold(s, new(uint64)), 0, 8)
	s.Step("exec")
}

// Run makes the calls in this process, on the calling thread. It returns only
// when one failed, and leaves the process unfit for anything but telling so.
func (s *Script) Run() error {
	runtime.LockOSThread()
	_ = blockSignals(nil)
	step, errno := s.run()
	if step < 0 {
		return nil
	}
	return s.err(step, errno)
}

func (s *Script) err(step int32, errno syscall.Errno) error {
	if errno == 0 {
		errno = unix.EPIPE // fewer bytes than were awaited
	}
	return &ScriptError{s.steps[step], errno}
}

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
	Pidfd int // close-on-exec, the caller's to close

	script *Script
	errs   int
}

// Fork makes a copy of this process, in the given new namespaces and in the v2
// cgroup whose folder is open at cgroup (0: our own), that runs the script on a
// copy of the calling thread. The caller must be locked to its thread, and
// Await or kill the process.
func (s *Script) Fork(namespaces uintptr, cgroup int) (*Forked, error) {
	if len(s.calls) == 0 {
		return nil, unix.EINVAL
	}
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	// Above everything that the script makes of its descriptors.
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

// Await returns nil once the script's execve has succeeded. After an error
// the process is reaped.
func (f *Forked) Await() error {
	var b [8]byte
	n := 0
	for n < len(b) {
		// Not to be held up by the Go runtime: nothing else is to do.
		m, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(f.errs), uintptr(unsafe.Pointer(&b[n])), uintptr(len(b)-n))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || m == 0 {
			break
		}
		n += int(m)
	}
	unix.Close(f.errs)
	if n < len(b) {
		return nil // closed by execve, or by an end that its parent will see
	}
	Reap(f.Pid)
	unix.Close(f.Pidfd)
	return f.script.err(int32(binary.NativeEndian.Uint32(b[:])), syscall.Errno(binary.NativeEndian.Uint32(b[4:])))
}

// Kill ends a process that is not awaited any more.
func (f *Forked) Kill() {
	_ = unix.Kill(f.Pid, unix.SIGKILL)
	Reap(f.Pid)
	unix.Close(f.Pidfd)
	unix.Close(f.errs)
}

// spawning is a process in the making.
type spawning struct {
	args  cloneArgs
	pidfd int32

	// What a child that shares our memory leaves for us.
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

// HighFD copies a descriptor to a number not below least. It is close-on-exec.
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

// fork and run are all that the copy executes: no allocation, no growing of
// the stack, nothing of the Go runtime.
//
//go:norace
//go:nosplit
func (s *Script) fork(sp *spawning, errs uintptr) (uintptr, syscall.Errno) {
	var pid uintptr
	var errno syscall.Errno
	if sp.args.cgroup == 0 { // known longer, and to more filters
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

// run returns the step that failed, or -1.
//
//go:norace
//go:nosplit
func (s *Script) run() (int32, syscall.Errno) {
	for i := range s.calls {
		c := &s.calls[i]
		r, _, errno := syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if errno != 0 && !c.ignore || errno == 0 && r < c.least {
			return c.step, errno
		}
		if c.out != nil {
			*c.out = int32(r)
		}
	}
	return -1, 0
}

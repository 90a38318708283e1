package sys

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Script is a list of raw system calls that are made one after the other on one
// thread, in a forked copy of this process or in this process itself. It is for the
// few steps before execve that affect a thread or that the Go runtime would not
// survive. The zero value is empty.
type Script struct {
	calls []call
	steps []string
	mem   *scriptMemory // memory that the calls point to; nil: on the heap, held by keep
	keep  []any
	above int // the descriptors below are the program's
}

type call struct {
	nr     uintptr
	args   [8]uintptr // the last two are not passed
	in     [2]*int32  // results of earlier calls that become the arguments numbered at
	at     [2]uint8
	out    *int32 // receives the result
	from   *int32 // copied to to before the call, when not nil
	to     *int32
	same   *sameFile // if not nil, what the call must have found
	least  uintptr   // a smaller result is an error
	is     *int32    // if not nil, any other result is an error
	step   int32
	ignore bool          // an error of the call is ignored
	pass   syscall.Errno // this error is accepted too
	skip   uint32        // how many calls a success skips
	missed uint32        // how many of the next calls an ignored error skips
}

// Opened is a descriptor that a call of a Script returns, for use in later calls.
type Opened struct{ fd *int32 }

// given makes argument i a descriptor that an earlier call returns.
func (c *call) given(i uint8, o Opened) *call {
	k := 0
	if c.in[0] != nil {
		k = 1
	}
	c.in[k], c.at[k] = o.fd, i
	return c
}

// opens keeps the result for later calls.
func (s *Script) opens(c *call) Opened {
	c.out = place[int32](s)
	return Opened{c.out}
}

// sameFile is the file that statx must find.
type sameFile struct {
	found        unix.Statx_t
	major, minor uint32
	inode        uint64
}

//go:norace
//go:nosplit
func (f *sameFile) holds() bool {
	return f.found.Ino == f.inode && f.found.Dev_major == f.major && f.found.Dev_minor == f.minor
}

// OpenPlain opens path as O_PATH. No folder on the way may be a symbolic link, and a
// link at the end is opened itself. Unless id is zero, path must lead to the file
// that id identifies: another one is ESTALE.
func (s *Script) OpenPlain(path string, id FileID) (Opened, error) {
	p, err := s.str(path)
	if err != nil {
		return Opened{}, err
	}
	const flags = unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	open := s.add(unix.SYS_OPENAT2, atCWD, p, hold(s, how), unix.SizeofOpenHow)
	fd := s.opens(open)
	if id == (FileID{}) {
		return fd, nil
	}
	// In a confined process: its filter cannot examine the arguments of openat2. The
	// identity of the file decides.
	open.pass, open.skip = unix.ENOSYS, 1
	s.add(unix.SYS_OPENAT, atCWD, p, flags).out = fd.fd
	s.Same(fd, id)
	return fd, nil
}

// Same ends the script with ESTALE unless the open file is the one that id identifies.
func (s *Script) Same(at Opened, id FileID) {
	same := place[sameFile](s)
	same.major, same.minor, same.inode = unix.Major(id.Device), unix.Minor(id.Device), id.Inode
	s.add(unix.SYS_STATX, 0, s.text(""), unix.AT_EMPTY_PATH, unix.STATX_INO, uintptr(unsafe.Pointer(&same.found))).given(0, at).same = same
}

// ScriptError reports which step of a Script failed.
type ScriptError struct {
	Step string
	Err  syscall.Errno
}

// Error returns, for example, "landlock: operation not permitted".
func (e *ScriptError) Error() string { return e.Step + ": " + e.Err.Error() }

// Unwrap returns the errno.
func (e *ScriptError) Unwrap() error { return e.Err }

// Step sets the name of the following calls in errors.
func (s *Script) Step(name string) { s.steps = append(s.steps, name) }

func (s *Script) add(nr uintptr, args ...uintptr) *call {
	c := call{nr: nr, step: int32(len(s.steps)) - 1}
	copy(c.args[:], args)
	s.calls = append(s.calls, c)
	return &s.calls[len(s.calls)-1]
}

// alloc returns memory that does not move as long as s lives. The garbage collector
// does not scan it: what it points to must be from alloc, too.
func (s *Script) alloc(size uintptr) unsafe.Pointer {
	if s.mem != nil {
		return s.mem.alloc(size)
	}
	words := make([]uint64, size/8+1)
	s.keep = append(s.keep, words)
	return unsafe.Pointer(&words[0])
}

// place returns a zero T in memory of s.
func place[T any](s *Script) *T {
	var t T
	return (*T)(s.alloc(unsafe.Sizeof(t)))
}

// hold returns the address of a copy of v.
func hold[T any](s *Script, v T) uintptr {
	p := place[T](s)
	*p = v
	return uintptr(unsafe.Pointer(p))
}

// list copies a list into memory of s.
func list[T any](s *Script, v []T) *T {
	var t T
	p := (*T)(s.alloc(unsafe.Sizeof(t) * uintptr(max(len(v), 1))))
	copy(unsafe.Slice(p, len(v)), v)
	return p
}

func (s *Script) bytes(b []byte) uintptr {
	if len(b) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(list(s, b)))
}

func (s *Script) str(v string) (uintptr, error) {
	b, err := unix.ByteSliceFromString(v)
	if err != nil {
		return 0, err
	}
	return s.bytes(b), nil
}

func (s *Script) strs(all []string) (uintptr, error) {
	ptrs := make([]uintptr, len(all)+1)
	for i, v := range all {
		p, err := s.str(v)
		if err != nil {
			return 0, err
		}
		ptrs[i] = p
	}
	return uintptr(unsafe.Pointer(list(s, ptrs))), nil
}

// AwaitByte waits for a byte from the descriptor fd.
func (s *Script) AwaitByte(fd int) {
	s.add(unix.SYS_READ, uintptr(fd), hold(s, byte(0)), 1).least = 1
}

// Write writes text to the open file fd.
func (s *Script) Write(fd int, text string) {
	b := []byte(text)
	s.add(unix.SYS_WRITE, uintptr(fd), s.bytes(b), uintptr(len(b)))
}

// Replace makes fds the descriptors 0, 1, 2 … and closes all others.
func (s *Script) Replace(fds []int) {
	s.move(fds)
	s.CloseFrom(len(fds))
}

// CloseFrom closes all descriptors from first on.
func (s *Script) CloseFrom(first int) {
	s.add(unix.SYS_CLOSE_RANGE, uintptr(first), uintptr(^uint32(0)), 0)
}

// Move gives fd the number to, with close-on-exec. A descriptor that had that number
// is closed.
func (s *Script) Move(fd Opened, to int) {
	c := s.add(unix.SYS_DUP3, 0, uintptr(to), unix.O_CLOEXEC).given(0, fd)
	c.pass, c.missed = unix.EINVAL, 1 // fd already has that number
	s.Close(fd)
}

// Copy copies the descriptor fd to the number to, with close-on-exec. A descriptor
// that had that number is closed.
func (s *Script) Copy(fd, to int) {
	s.add(unix.SYS_DUP3, uintptr(fd), uintptr(to), unix.O_CLOEXEC)
}

// Close closes a descriptor.
func (s *Script) Close(fd Opened) { s.add(unix.SYS_CLOSE).given(0, fd).ignore = true }

// Known returns a descriptor that is open when the script begins.
func (s *Script) Known(fd int) Opened {
	p := place[int32](s)
	*p = int32(fd)
	return Opened{p}
}

// JoinUser enters an open user namespace.
func (s *Script) JoinUser(ns int) { s.add(unix.SYS_SETNS, uintptr(ns), unix.CLONE_NEWUSER) }

// Session makes the process the leader of a session.
func (s *Script) Session() { s.add(unix.SYS_SETSID) }

// Terminal makes the terminal that is open as fd the controlling one of the session
// that the process leads.
func (s *Script) Terminal(fd int) { s.add(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSCTTY, 0) }

// Subreaper makes the process the new parent of every descendant whose own
// parent ends.
func (s *Script) Subreaper() { s.add(unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1) }

// Unless makes errno not be a failure of the call.
func (c *call) Unless(errno syscall.Errno) { c.pass = errno }

// Attempt makes the calls that f adds not affect the others when they fail.
func (s *Script) Attempt(f func()) {
	from := len(s.calls)
	f()
	for i := from; i < len(s.calls); i++ {
		s.calls[i].ignore = true
	}
}

// Name sets the name that ps and top show for the thread; the kernel keeps 15 bytes.
// On the main thread it is the process's name.
func (s *Script) Name(name string) error {
	p, err := s.str(name)
	s.add(unix.SYS_PRCTL, unix.PR_SET_NAME, p)
	return err
}

// ParentDeath makes the kernel kill the process when the thread that started it ends.
func (s *Script) ParentDeath() {
	s.add(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL))
}

// ParentIs fails unless the process is a child of the process with that number: its
// parent may have ended before ParentDeath, which is not reported otherwise. Both
// processes must be in one pid namespace.
func (s *Script) ParentIs(pid Number) { s.add(unix.SYS_GETPPID).is = pid.at }

// Self returns the number of the process, for ParentIs in a process that it starts.
func (s *Script) Self() Number {
	c := s.add(unix.SYS_GETPID)
	c.out = place[int32](s)
	return Number{c.out}
}

// This returns the number of this process, which makes the script.
func (s *Script) This() Number {
	p := place[int32](s)
	*p = int32(unix.Getpid())
	return Number{p}
}

// Number is the number of a process. The zero value names no process.
type Number struct{ at *int32 }

// None reports whether n names no process.
func (n Number) None() bool { return n.at == nil }

// OtherEnd fails if the other end of the socket fd is closed.
func (s *Script) OtherEnd(fd int) {
	c := s.add(unix.SYS_RECVFROM, uintptr(fd), hold(s, byte(0)), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT)
	c.least, c.pass = 1, unix.EAGAIN // nothing is sent yet
}

// Descriptors gives fds the numbers 0, 1, 2 … and makes execve close all others.
// Until then those in others keep their numbers.
func (s *Script) Descriptors(fds []int, others ...int) {
	s.move(fds, others...)
	s.add(unix.SYS_CLOSE_RANGE, uintptr(len(fds)), uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
}

func (s *Script) move(fds []int, others ...int) {
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
}

// Exec runs a program. It must be the last step.
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

// Exit ends the process; it is for a script that only makes a process.
func (s *Script) Exit() { s.add(unix.SYS_EXIT_GROUP, 0) }

// unmask gives all signals their default action and unblocks them. They are blocked
// until here, so that no signal reaches a handler of the Go runtime.
func (s *Script) unmask() {
	s.Step("signals")
	action := hold(s, [8]uint64{})
	for sig := uintptr(1); sig <= 64; sig++ {
		if sig != uintptr(unix.SIGKILL) && sig != uintptr(unix.SIGSTOP) {
			s.add(unix.SYS_RT_SIGACTION, sig, action, 0, 8).ignore = true
		}
	}
	s.add(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, hold(s, uint64(0)), 0, 8)
	s.Step("exec")
}

// Run makes the calls in this process, on the calling thread. It returns only if one
// failed; the process can then only report the error and end.
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
		errno = unix.EPIPE // fewer bytes than awaited
	}
	return &ScriptError{s.steps[step], errno}
}

// run returns the failed step, or -1.
//
//go:norace
//go:nosplit
func (s *Script) run() (int32, syscall.Errno) {
	if len(s.calls) == 0 {
		return -1, 0
	}
	return runCalls(&s.calls[0], uintptr(len(s.calls)))
}

// runCalls makes the n calls that start at c.
//
//go:norace
//go:nosplit
//go:nocheckptr
func runCalls(c *call, n uintptr) (int32, syscall.Errno) {
	for i := uintptr(0); i < n; i++ {
		c := (*call)(unsafe.Add(unsafe.Pointer(c), i*unsafe.Sizeof(call{})))
		for k := range c.in {
			if c.in[k] != nil {
				c.args[c.at[k]&7] = uintptr(*c.in[k])
			}
		}
		if c.from != nil {
			*c.to = *c.from
		}
		r, _, errno := syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if errno == 0 && c.same != nil && !c.same.holds() {
			return c.step, unix.ESTALE
		}
		if errno == 0 && c.is != nil && int32(r) != *c.is {
			return c.step, unix.ESRCH
		}
		switch {
		case errno == 0 && r >= c.least:
			i += uintptr(c.skip)
		case !c.ignore && (errno == 0 || errno != c.pass):
			return c.step, errno
		default:
			i += uintptr(c.missed)
		}
		if c.out != nil {
			*c.out = int32(r)
		}
	}
	return -1, 0
}

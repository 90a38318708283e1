package sys

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Nurse is a process that runs a command, reaps what becomes its child, and
// tells of the command's end. It is a copy of this process that goes on without
// the Go runtime, so that it starts fast and takes next to no memory: the first
// thing it does is to let go of all memory of this process but for what its
// scripts need. (With a C library in the process it keeps that memory, which
// the kernel writes to.)
//
// The process makes the calls of First, then starts the command's process with
// the calls of Command, then makes those of Then. It reports to the socket that
// has the number Sock from the end of First on. What comes next is as with
// [Rest].
//
// A Nurse must be made by NewNurse and be freed by Free.
type Nurse struct {
	First   *Script
	Command *Script
	Then    *Script

	Sock   int
	Failed byte // kind of the report of a call that has failed; see Failure
	Ended  byte // kind of the report of the command's end

	mem     scriptMemory
	lasting scriptMemory // for as long as the process is there
	state   *nursing
}

// nursing is what the process needs. It is in the memory of its scripts, and
// has no pointer that Go knows but to there.
type nursing struct {
	rest   waiting
	birth  spawning
	first  calls
	then   calls
	inner  calls
	failed ExitRecord
	number *[digits]byte // where the number of the command goes; nil: nowhere

	forgets bool
	spare   [][2]uintptr // ranges of addresses that are let go of
	data    [][2]uintptr // what is the program's there, and goes back to what its file says
	below   uintptr      // the first address that no process has
	waste   [][2]uintptr // of the scripts, when all of them have been run
	page    uintptr

	stack [nurseStack]byte // where it is not on a copy of that of the thread
}

const nurseStack = 16 << 10

// calls are those of a script.
type calls struct {
	first *call
	n     uintptr
}

// NewNurse returns one whose scripts are empty.
func NewNurse() *Nurse {
	n := &Nurse{}
	n.state = (*nursing)(n.lasting.alloc(unsafe.Sizeof(nursing{})))
	n.First, n.Command, n.Then = &Script{mem: &n.mem}, &Script{mem: &n.mem}, &Script{mem: &n.mem}
	return n
}

// Pidfd is the command's, for Then.
func (n *Nurse) Pidfd() Opened { return Opened{&n.state.birth.pidfd} }

// Free gives back what only this process needs. The other one has its own.
func (n *Nurse) Free() {
	n.mem.release()
	n.lasting.release()
}

// Wake has the process run this program with the arguments args and the
// environment env when something comes on Sock; else it ends then. To the
// environment the number of the command is added as the variable name.
func (n *Nurse) Wake(args, env []string, name string) (err error) {
	r, s := &n.state.rest, &Script{mem: &n.lasting}
	number := s.text(name + "=" + strings.Repeat("0", digits))
	n.state.number = (*[digits]byte)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&number)), len(name)+1))
	if r.path, err = s.str(Program); err != nil {
		return err
	}
	if r.argv, err = s.strs(args); err != nil {
		return err
	}
	vars := make([]uintptr, len(env)+2)
	for i, v := range env {
		if vars[i], err = s.str(v); err != nil {
			return err
		}
	}
	vars[len(env)] = number
	r.envv = uintptr(unsafe.Pointer(list(s, vars)))
	return nil
}

// digits of the number of a process.
const digits = 10

// Show has ps and top show the process by a name and, where the kernel lets it, a
// note.
func (n *Nurse) Show(name, note string) error {
	if err := n.First.Name(name); err != nil {
		return err
	}
	s := &Script{mem: &n.lasting}
	at := uint64(s.text(name + "\x00" + note))
	end := at + uint64(len(name)+1+len(note)+1)
	// All of it has to be said; what it means to the kernel beyond the arguments is
	// of no use to a process that has no heap.
	m := struct {
		code, data, brk       [2]uint64
		stack                 uint64
		args, env             [2]uint64
		auxv                  uint64
		auxvSize, programFile uint32
	}{
		code: [2]uint64{at, end}, data: [2]uint64{at, end}, brk: [2]uint64{end, end}, stack: at,
		args: [2]uint64{at, end}, env: [2]uint64{end, end}, programFile: ^uint32(0),
	}
	n.First.add(unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_MAP, hold(n.First, m), unsafe.Sizeof(m), 0).ignore = true
	return nil
}

// Scripts of a Nurse, as a Failure names them.
const (
	nurseFirst = iota
	nurseCommand
	nurseThen
)

// Failure is the error of a report of the kind Failed.
func (n *Nurse) Failure(errno int32, e Exit) error {
	s := n.First
	switch e.Signal {
	case nurseCommand:
		s = n.Command
	case nurseThen:
		s = n.Then
	}
	if e.Code < 0 || e.Code >= len(s.steps) { // no step, but the making of the process
		return syscall.Errno(errno)
	}
	return s.err(int32(e.Code), syscall.Errno(errno))
}

// Start starts the process, in the given new namespaces and in the v2 cgroup
// whose folder is open at cgroup (0: our own). The calling thread must be
// locked; the process has no other parent than that thread.
func (n *Nurse) Start(namespaces uintptr, cgroup int) (pid, pidfd int, err error) {
	s := n.state
	n.attend()
	s.page = uintptr(unix.Getpagesize())
	s.failed[0] = n.Failed
	s.rest.record[0] = n.Ended
	s.rest.polls[0] = unix.PollFd{Fd: int32(n.Sock), Events: unix.POLLIN}
	s.rest.polls[1].Events = unix.POLLIN
	s.birth = *newSpawning(unix.CLONE_VM|unix.CLONE_VFORK, 0)
	s.birth.args.pidfd = uint64(uintptr(unsafe.Pointer(&s.birth.pidfd)))
	s.first, s.inner, s.then = n.First.sealed(), n.Command.sealed(), n.Then.sealed()
	if CanRest {
		n.plan()
	}
	if err := errors.Join(n.mem.err, n.lasting.err); err != nil {
		return 0, -1, err
	}
	sp := newSpawning(uint64(namespaces), cgroup)
	if s.forgets {
		// No other process may be made a copy of this one meanwhile.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		defer withoutHeap(s.page)()
	} else {
		copying.Lock()
		defer copying.Unlock()
	}
	var old uint64
	if err := blockSignals(&old); err != nil {
		return 0, -1, err
	}
	child, errno := s.fork(sp)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	runtime.KeepAlive(n)
	if errno != 0 {
		return 0, -1, errno
	}
	return int(child), int(sp.pidfd), nil
}

// attend has the process be ready to wait.
func (n *Nurse) attend() {
	if len(n.Command.calls) == 0 {
		return
	}
	n.Then.Step("wait")
	chld := uint64(1) << (unix.SIGCHLD - 1)
	n.Then.add(unix.SYS_SIGNALFD4, ^uintptr(0), hold(n.Then, chld), 8, unix.SFD_CLOEXEC|unix.SFD_NONBLOCK).out = &n.state.rest.polls[1].Fd
}

// sealed moves the calls to where the process finds them.
func (s *Script) sealed() calls {
	if len(s.calls) == 0 {
		return calls{}
	}
	return calls{list(s, s.calls), uintptr(len(s.calls))}
}

// plan finds out which memory the process keeps. It comes last.
func (n *Nurse) plan() {
	keep, data, ok := program()
	if !ok {
		return
	}
	s, script := n.state, &Script{mem: &n.lasting}
	span := func(piece []byte) [2]uintptr {
		at := uintptr(unsafe.Pointer(&piece[0]))
		return [2]uintptr{at, at + uintptr(len(piece))}
	}
	var waste [][2]uintptr
	for _, p := range n.mem.pieces {
		waste = append(waste, span(p))
	}
	keep = append(keep, waste...)
	for _, p := range n.lasting.pieces {
		keep = append(keep, span(p))
	}
	slices.SortFunc(keep, func(a, b [2]uintptr) int { return cmp.Compare(a[0], b[0]) })
	var spare [][2]uintptr
	for _, k := range keep {
		if s.below < k[0] {
			spare = append(spare, [2]uintptr{s.below, k[0]})
		}
		s.below = max(s.below, k[1])
	}
	held := func(v [][2]uintptr) [][2]uintptr { return unsafe.Slice(list(script, v), len(v)) }
	pieces := len(n.lasting.pieces)
	s.spare, s.data, s.waste = held(spare), held(data), held(waste)
	s.forgets = len(n.lasting.pieces) == pieces // else what is planned is not in what is kept
}

// From here on nothing is of the Go runtime: no allocation, no growing of the
// stack, no pointer that is written.

//go:norace
//go:nosplit
//go:nocheckptr
func nurseLives(s *nursing) { s.live() }

//go:norace
//go:nosplit
//go:nocheckptr
func (s *nursing) live() {
	s.forget()
	s.make(&s.first, nurseFirst)
	if s.inner.n == 0 {
		s.rest.exit()
	}
	s.start()
	s.make(&s.then, nurseThen)
	for i := range s.waste {
		_, _, _ = syscall.RawSyscall6(unix.SYS_MUNMAP, s.waste[i][0], s.waste[i][1]-s.waste[i][0], 0, 0, 0, 0)
	}
	s.rest.wait()
}

//go:norace
//go:nosplit
func (s *nursing) make(c *calls, which int32) {
	if c.n == 0 {
		return
	}
	if step, errno := runCalls(c.first, c.n); step >= 0 {
		s.fail(which, step, errno)
	}
}

// fail reports the step that failed, and ends the process and with it all that
// it has made.
//
//go:norace
//go:nosplit
func (s *nursing) fail(which, step int32, errno syscall.Errno) {
	s.failed.put32(recordErrno, int32(errno))
	s.failed.put32(recordCode, step)
	s.failed.put32(recordSignal, which)
	_, _, _ = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.rest.polls[0].Fd), uintptr(unsafe.Pointer(&s.failed)), unsafe.Sizeof(s.failed), unix.MSG_NOSIGNAL, 0, 0)
	s.rest.exit()
}

// start starts the command's process, and returns when its execve has succeeded.
//
//go:norace
//go:nosplit
func (s *nursing) start() {
	pid, errno := s.spawn()
	if errno != 0 {
		s.fail(nurseCommand, -1, syscall.Errno(errno))
	}
	if s.birth.failed {
		s.fail(nurseCommand, s.birth.step, s.birth.errno)
	}
	s.rest.child = pid
	if s.number != nil {
		for i := digits - 1; i >= 0; i-- {
			s.number[i] = '0' + byte(pid%10)
			pid /= 10
		}
	}
}

// forget lets go of the memory of the process that this one is a copy of. Where
// the kernel does not let it, others are kept from looking at it.
//
//go:norace
//go:nosplit
func (s *nursing) forget() {
	ok := s.forgets
	if ok {
		var here byte
		low := uintptr(unsafe.Pointer(&here))&^(s.page-1) - s.page
		high := low + 3*s.page // frames above are never returned to
		for i := range s.spare {
			ok = unmap(s.spare[i][0], s.spare[i][1], low, high) && ok
		}
		// How far addresses go depends on the machine, which refuses what is beyond.
		const most, least = 57, 38
		end := uint(most)
		for ; end > least && !unmap(s.below, 1<<end-s.page, low, high); end-- {
		}
		ok = ok && end > least
		for i := range s.data {
			_, _, errno := syscall.RawSyscall6(unix.SYS_MADVISE, s.data[i][0], s.data[i][1]-s.data[i][0], unix.MADV_DONTNEED, 0, 0, 0)
			ok = ok && errno == 0
		}
	}
	if !ok {
		_, _, _ = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0, 0)
	}
}

// unmap unmaps what is from start to end but not from low to high.
//
//go:norace
//go:nosplit
func unmap(start, end, low, high uintptr) bool {
	if start < low && high < end {
		return unmap1(high, end) && unmap1(start, low)
	}
	if low <= start && start < high {
		start = high
	}
	if low < end && end <= high {
		end = low
	}
	return unmap1(start, end)
}

//go:norace
//go:nosplit
func unmap1(start, end uintptr) bool {
	if start >= end {
		return true
	}
	_, _, errno := syscall.RawSyscall6(unix.SYS_MUNMAP, start, end-start, 0, 0, 0, 0)
	return errno == 0
}

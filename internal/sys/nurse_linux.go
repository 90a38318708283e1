package sys

import (
	"errors"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Nurse is a process that runs a command, reaps it and its orphans, and reports the
// command's end. It is a copy of this process that continues without the Go runtime,
// so that it starts fast and takes almost no memory: first it unmaps all memory of
// this process except what its scripts need. (With a C library in the process it
// keeps that memory, which the kernel writes to.)
//
// The process makes the calls of First, then starts the command's process with the
// calls of Command, then makes those of Then. From the end of First on it reports to
// the socket with the number Sock. What comes next is as with [Rest].
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
	lasting scriptMemory // kept for the whole life of the process
	state   *nursing
}

// nursing is the state of the process. It is in the memory of its scripts, and its
// pointers that Go knows point only there.
type nursing struct {
	rest   waiting
	birth  spawning
	first  calls
	then   calls
	inner  calls
	failed ExitRecord
	number *[digits]byte // where the number of the command goes; nil: nowhere

	forgets bool
	spare   [][2]uintptr // ranges of addresses to unmap
	data    [][2]uintptr // the program's data, reset to the content of its file
	below   uintptr      // the first address beyond all processes
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

// NewNurse returns a Nurse whose scripts are empty.
func NewNurse() *Nurse {
	n := &Nurse{}
	n.state = (*nursing)(n.lasting.alloc(unsafe.Sizeof(nursing{})))
	n.First, n.Command, n.Then = &Script{mem: &n.mem}, &Script{mem: &n.mem}, &Script{mem: &n.mem}
	return n
}

// Pidfd returns the command's pidfd, for Then.
func (n *Nurse) Pidfd() Opened { return Opened{&n.state.birth.pidfd} }

// Free releases what only this process needs. The nurse has its own copy.
func (n *Nurse) Free() {
	n.mem.release()
	n.lasting.release()
}

// Wake makes the process run this program with the arguments args and the
// environment env when something comes on Sock; without Wake the process ends then.
// The number of the command is added to the environment as the variable name.
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

// Show makes ps and top show the process by a name and, where the kernel permits it,
// a note.
func (n *Nurse) Show(name, note string) error {
	if err := n.First.Name(name); err != nil {
		return err
	}
	s := &Script{mem: &n.lasting}
	at := uint64(s.text(name + "\x00" + note))
	end := at + uint64(len(name)+1+len(note)+1)
	// The kernel requires all fields; those beyond the arguments do not matter to a
	// process without a heap.
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
	if e.Code < 0 || e.Code >= len(s.steps) { // not a step: the process could not be made
		return syscall.Errno(errno)
	}
	return s.err(int32(e.Code), syscall.Errno(errno))
}

// Start starts the process, in the given new namespaces and in the v2 cgroup whose
// folder is open at cgroup (0: its own). The caller must be locked to its thread,
// and that thread is the parent of the process.
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
	// No other copy of this process may be made meanwhile.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	defer withoutHeap()()
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

// attend prepares the process to wait.
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

// plan computes which memory the process keeps. It must be called last.
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
	sort.Slice(keep, func(i, j int) bool { return keep[i][0] < keep[j][0] })
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
	s.forgets = len(n.lasting.pieces) == pieces // else the plan itself would not be kept
}

// From here on nothing of the Go runtime is used: no allocation, no growing of the
// stack, no writing of pointers.

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

// fail reports the failed step, and ends the process and all that it has made.
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

// start starts the command's process, and returns after its execve has succeeded.
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

// forget unmaps the memory of the process that this one is a copy of. Where the
// kernel does not permit that, other processes are kept from reading it.
//
//go:norace
//go:nosplit
func (s *nursing) forget() {
	ok := s.forgets
	if ok {
		var here byte
		low := uintptr(unsafe.Pointer(&here))&^(s.page-1) - s.page
		high := low + 3*s.page // the process never returns to frames above
		for i := range s.spare {
			ok = unmap(s.spare[i][0], s.spare[i][1], low, high) && ok
		}
		// The highest address depends on the machine, which refuses higher ones.
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

// unmap unmaps the range from start to end except low to high.
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

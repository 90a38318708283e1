package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waiting is the loop of a process that waits for the end of its children and for an
// order, without the Go runtime: it only makes system calls.
type waiting struct {
	child            uintptr // the command
	path, argv, envv uintptr // of the program to run on wake-up; path 0: none

	polls  [2]unix.PollFd // the socket for orders and reports, and the signals of children
	record ExitRecord
	ended  bool // record is that of child, and not reported
	usage  unix.Rusage
	status uint32
	signal unix.SignalfdSiginfo
}

//go:norace
//go:nosplit
//go:nocheckptr
func (s *waiting) wait() {
	for {
		s.turn(0)
	}
}

// turn handles what has come, and waits for more, at most until the time that is at
// timeout; 0: for ever.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *waiting) turn(timeout uintptr) {
	if s.reap() {
		s.exit()
	}
	if s.polls[0].Revents != 0 {
		s.wake()
	}
	s.polls[0].Revents, s.polls[1].Revents = 0, 0
	_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&s.polls[0])), 2, timeout, 0, 0, 0)
	if s.polls[1].Revents != 0 {
		_, _, _ = syscall.RawSyscall6(unix.SYS_READ, uintptr(s.polls[1].Fd), uintptr(unsafe.Pointer(&s.signal)), unsafe.Sizeof(s.signal), 0, 0, 0)
	}
}

//go:norace
//go:nosplit
//go:nocheckptr
func (s *waiting) exit() {
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
}

// reap reaps the ended children, reports the end of child, and reports whether no
// child is left.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *waiting) reap() bool {
	last := s.collect()
	if s.ended {
		_, _, _ = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.polls[0].Fd), uintptr(unsafe.Pointer(&s.record)), unsafe.Sizeof(s.record), unix.MSG_NOSIGNAL, 0, 0)
		s.ended = false
	}
	return last
}

// collect reaps the ended children, and reports whether no child is left.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *waiting) collect() bool {
	for {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.status)), unix.WNOHANG, uintptr(unsafe.Pointer(&s.usage)), 0, 0)
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return true
		case pid == 0:
			return false
		case pid == s.child:
			s.record.end(s.status, &s.usage)
			_, _, errno = syscall.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, 0, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
			if errno == unix.ECHILD {
				s.record.SetAlone()
			}
			s.child, s.ended = 0, true
		}
	}
}

// wake runs the wake-up program, and never returns.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *waiting) wake() {
	if s.path == 0 {
		s.exit()
	}
	pause := unix.Timespec{Nsec: 10_000_000}
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_FCNTL, uintptr(s.polls[0].Fd), unix.F_SETFD, 0, 0, 0, 0)
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXECVE, s.path, s.argv, s.envv, 0, 0, 0)
		// There is no memory for it, or no file: until there is, the children are reaped.
		if s.reap() {
			s.exit()
		}
		_, _, _ = syscall.RawSyscall6(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0, 0, 0, 0)
	}
}

// wakeup stores in a what wake is to run; without args it ends the process.
func (s *waiting) wakeup(a arena, args, env []string) error {
	if len(args) == 0 {
		return nil
	}
	var ok [3]bool
	s.path, ok[0] = a.str("/proc/self/exe")
	s.argv, ok[1] = a.strs(args)
	s.envv, ok[2] = a.strs(env)
	if ok != [3]bool{true, true, true} {
		return unix.E2BIG
	}
	return nil
}

// arena allocates memory that does not move.
type arena []byte

func (a *arena) str(v string) (uintptr, bool) {
	if len(v) >= len(*a) {
		return 0, false
	}
	at := &(*a)[0]
	copy(*a, v)
	*a = (*a)[(len(v)+1+7)&^7:]
	return uintptr(unsafe.Pointer(at)), true
}

func (a *arena) strs(list []string) (uintptr, bool) {
	size := 8 * (len(list) + 1)
	if size >= len(*a) {
		return 0, false
	}
	table := (*a)[:size]
	*a = (*a)[size:]
	for i, v := range list {
		p, ok := a.str(v)
		if !ok {
			return 0, false
		}
		*(*uintptr)(unsafe.Pointer(&table[8*i])) = p
	}
	return uintptr(unsafe.Pointer(&table[0])), true
}

// childSignals blocks all signals of this thread, and returns a descriptor that is
// readable when a child has ended.
func childSignals() (int, error) {
	if err := blockSignals(nil); err != nil {
		return -1, err
	}
	var chld unix.Sigset_t
	chld.Val[0] = 1 << (unix.SIGCHLD - 1)
	return unix.Signalfd(-1, &chld, unix.SFD_CLOEXEC|unix.SFD_NONBLOCK)
}

// ownPages returns new memory between two pages that cannot be used, so that the kernel
// does not make one mapping of it and a neighbour.
func ownPages(size int) ([]byte, error) {
	page := unix.Getpagesize()
	size = (size + page - 1) &^ (page - 1)
	all, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	pages := all[page : page+size : page+size]
	if err := unix.Mprotect(pages, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		_ = unix.Munmap(all)
		return nil, err
	}
	return pages, nil
}
